"""Segments for what the vectors that Swift writes leave out (segment.md)."""
from __future__ import annotations

import gzip
import zlib
from typing import Any, Dict, Tuple

from magicreader.clock import HIGHEST_STAMP
from magicreader.cursor import varint_bytes
from magicreader.folder import name_of
from magicreader.journal import Name
from magicreader.notation import segment_json
from magicreader.segment import read_segment

from .raw import REPLICA, Body, Head, Vectors, block, deflated, invalid, segment, string

GOOD = Body()
BODY = GOOD.encoding()
TWO = GOOD.with_(stamps=b"\x09\1", tags=bytes(8), places=b"\0\0", counts=b"\1\1", entries=b"\0\0",
                 columns=(b"\3\1x\3\1x", b"\1\2\1\4"))
KEYLESS = GOOD.with_(types=(string("T") + b"\0\1" + string("a") + b"\1",), columns=(b"\1\0\0\0\0\0", b"\1\2"))
COUNTED = GOOD.with_(types=(string("T") + b"\1" + string("id") + b"\1" + string("a") + b"\1",), columns=(b"\1\2", b"\1\2"))
HIGHEST = Name(HIGHEST_STAMP, bytes(4))


def names(count: int) -> list:
    """Different ones of three letters."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    return [letters[number // 676] + letters[number // 26 % 26] + letters[number % 26] for number in range(count)]


def typed(fields: bytes) -> Tuple[bytes, ...]:
    return (string("T") + b"\3" + string("id") + fields,)


def wide(*counts: int) -> Body:
    """Types with so many integer fields, of which the first is set."""
    types = tuple(string(f"T{index}") + b"\3" + string("id") + varint_bytes(count)
                  + b"".join(string(each) + b"\1" for each in names(count)) for index, count in enumerate(counts))
    columns = [each for count in counts for each in [b""] * (count + 1)]
    columns[0], columns[1] = b"\3\1x", b"\1\2"
    return GOOD.with_(types=types, columns=tuple(columns))


def said(name: str, file: bytes) -> Dict[str, Any]:
    """A valid one, and what it says."""
    read = read_segment(file)
    notation = segment_json(read)
    return {"name": name, "fileName": name_of(read).file_name, "file": file.hex(),
            **{key: notation[key] for key in ("dataSet", "writer", "previous", "transactions")}}


def valid() -> Vectors:
    more = GOOD.with_(
        types=(string("T") + b"\3" + string("id") + b"\4" + string("a") + b"\1" + string("a") + b"\3"
               + string("later") + b"\x08\1" + string("own") + b"\x09\0",
               string("E") + b"\0\0", string("E") + b"\1" + string("id") + b"\0"),
        roots=(REPLICA, bytes(16), REPLICA), places=b"\2",
        shapes=(b"\0\1\1\1", b"\0\1\1\0", b"\1\3\0", b"\0\1\1\0"), entries=b"\3",
        columns=(b"\3\1x", b"\1\2", b"", b"", b"", b"", b""))
    nulls = GOOD.with_(
        types=typed(b"\4" + string("a") + b"\1" + string("b") + b"\x08\0" + string("c") + b"\x09\0" + string("d") + b"\x0c"),
        shapes=(b"\0\1\4\0\1\2\3",), columns=(b"\3\1x", b"\0", b"\0", b"\0", b"\0"))
    spellings = GOOD.with_(
        types=(string("\u00e9") + b"\3" + string("id") + b"\1" + string("a") + b"\1",
               string("e\u0301") + b"\3" + string("id") + b"\1" + string("a") + b"\1"),
        counts=b"\2", entries=b"\0\1", shapes=(b"\0\1\1\0", b"\1\1\1\0"), columns=(b"\3\1x", b"\1\2", b"\3\1x", b"\1\4"))
    own = KEYLESS.with_(shapes=(b"\0\3\0", b"\0\0"), counts=b"\2", entries=b"\0\1", columns=(b"\0\0\0\0\0\1", b""))
    counted = COUNTED.with_(
        shapes=(b"\0\4\0", b"\0\5", b"\0\2\0", b"\0\1\0"), counts=b"\4", entries=b"\0\1\2\3", bases=b"\1",
        columns=(varint_bytes((1 << 61) - 1) + b"\1" + b"\x07\1" + bytes(4) + varint_bytes((1 << 22) - 1) + b"\1\2", b""))
    name = "\u00e9" * 127 + "n"  # 255 bytes
    return [
        said("S-3: two transactions, packed", segment(TWO.encoding(), Head(last=2, last_name=Name(10, bytes(4))),
                                                      zlib.compress(TWO.encoding(), 9))),
        said("S-3: the same under the same name, not compressed",
             segment(TWO.encoding(), Head(last=2, last_name=Name(10, bytes(4))))),
        said("S-3: the second alone", segment(
            GOOD.with_(stamps=b"\x0a", columns=(b"\3\1x", b"\1\4")).encoding(),
            Head(first=2, last=2, previous=Name(9, bytes(4)), last_name=Name(10, bytes(4))))),
        said("S-7: more of a schema, of roots and of shapes than it needs", segment(more.encoding())),
        said("S-7: null for a number, a reference, a list and an asset", segment(nulls.encoding())),
        said("S-7: two types whose names differ by bytes alone", segment(spellings.encoding())),
        said("S-5: an object made, and another made and removed", segment(own.encoding())),
        said("S-10: the highest number, a withdrawal, the highest ordinal, a number that was set", segment(counted.encoding())),
        said("S-5: a base before all stamps", segment(GOOD.with_(shapes=(b"\0\2\1\0",), bases=b"\x09").encoding())),
        said("S-1: a name at stamp 0 before the first", segment(BODY, Head(first=2, last=2, previous=Name(0, b"tag!")))),
        said("S-1: the highest sequence", segment(BODY, Head(first=(1 << 62) - 1, last=(1 << 62) - 1))),
        said("C-4: the highest stamp", segment(
            GOOD.with_(stamps=varint_bytes(HIGHEST_STAMP)).encoding(), Head(last_name=HIGHEST))),
        said("J-15: names of 255 bytes", segment(GOOD.with_(
            types=(string(name) + b"\3" + string(name) + b"\1" + string(name) + b"\1",)).encoding())),
        said("J-15: a type with 1,000 fields", segment(
            wide(1_000).encoding(), stored=zlib.compress(wide(1_000).encoding(), 9))),
    ]


def broken_files() -> Vectors:
    beyond = Name(HIGHEST_STAMP + 1, bytes(4))
    packed = deflated(BODY)
    dictionary = zlib.compressobj(zdict=BODY)
    other = segment(BODY, Head(format=2))
    return [
        invalid("another format", other, "S-2: format 2 is not known", "incompatible"),
        invalid("another format, cut", other[:10], "S-2: nothing is made of what follows the format", "incompatible"),
        invalid("half a format", other[:9], "S-1: the header ends too early", "damaged"),
        invalid("a higher format", segment(BODY, Head(format=256)), "S-2: format 256 is not known", "incompatible"),
        invalid("format changed", segment(BODY)[:8] + b"\1\1" + segment(BODY)[10:],
                "S-2: the checksum is that of format 1", "damaged"),
        invalid("reserved bytes", segment(BODY, Head(reserved=1)), "S-2: reserved bytes are 0", "incompatible"),
        invalid("sequence 2^62", segment(BODY, Head(first=1 << 62, last=1 << 62)), "S-1: sequences are below 2^62"),
        invalid("run of 2^20 + 1", segment(BODY, Head(last=(1 << 20) + 1)), "S-8: more transactions than a segment may have"),
        invalid("previous beyond time", segment(BODY, Head(first=2, last=2, previous=beyond)), "S-1: after the year 9999"),
        invalid("last beyond time", segment(BODY, Head(last_name=beyond)), "S-1: after the year 9999"),
        invalid("longer stream", segment(BODY, stored=packed + b"\0"), "S-1: a byte behind the zlib stream"),
        invalid("two streams", segment(BODY, stored=packed + packed), "S-1: the body is one zlib stream"),
        invalid("stream cut", segment(BODY, stored=packed[:-1]), "S-1: the zlib stream ends too early"),
        invalid("stream's checksum", segment(BODY, stored=packed[:-1] + bytes([packed[-1] ^ 1])), "S-1: zlib's own checksum"),
        invalid("no zlib stream", segment(BODY, stored=packed[2:-4]), "S-1: deflate's blocks alone (RFC 1951)"),
        invalid("gzip", segment(BODY, stored=gzip.compress(BODY, mtime=0)), "S-1: gzip (RFC 1952)"),
        invalid("dictionary", segment(BODY, stored=dictionary.compress(BODY) + dictionary.flush()),
                "S-1: a zlib stream that needs a dictionary"),
        invalid("huge file", segment(BODY, Head(more={"stored": (1 << 27) + 1})),
                "S-8: the body in the file is above the limit"),
        invalid("before it", segment(BODY, Head(first=2, last=2, previous=Name(9, bytes(4)))),
                "S-6: the transaction before the first has the same stamp"),
        invalid("other tag", segment(BODY, Head(last_name=Name(9, b"\0\0\0\1"))), "S-6: the last name has another tag"),
    ]


def broken_bodies() -> Vectors:
    related = typed(b"\1" + string("a") + b"\x08\0")
    numbered = (string("T") + b"\3" + string("id") + b"\1" + string("a") + b"\x0b\1",
                string("E") + b"\1" + string("id") + b"\0")
    birth = b"\x07" + (5).to_bytes(8, "big") + bytes(8)
    dictionary = b"\x0b\1" + block(b'"k"') + b"\3\1x"
    run = Head(last=2, last_name=Name(10, bytes(4)))
    cases = [
        ("stamps left over", GOOD.with_(stamps=b"\x09\1"), "S-6: a stamp that no transaction has"),
        ("tags left over", GOOD.with_(tags=bytes(8)), "S-6: a tag that no transaction has"),
        ("roots left over", GOOD.with_(places=b"\0\0"), "S-6: a root that no transaction has"),
        ("counts left over", GOOD.with_(counts=b"\1\1"), "S-6: a count that no transaction has"),
        ("shapes left over", GOOD.with_(entries=b"\0\0"), "S-6: a shape that no entry has"),
        ("bases left over", GOOD.with_(bases=b"\1"), "S-6: a base that no entry has"),
        ("objects left over", GOOD.with_(columns=(b"\3\1x\3\1y", b"\1\2")), "S-6: an object that no entry has"),
        ("identity of a birth", KEYLESS.with_(shapes=(b"\0\3\1\0",)), "S-5: a birth has no bytes among the objects"),
        ("no object", GOOD.with_(columns=(b"", b"\1\2")), "S-5: an identity is missing"),
        ("no value", GOOD.with_(columns=(b"\3\1x", b"")), "S-4: a value is missing"),
        ("null object", GOOD.with_(columns=(b"\0", b"\1\2")), "S-5: null names no object"),
        ("remove with another tag", KEYLESS.with_(shapes=(b"\0\0",), columns=(b"\0\0\0\0\1\0", b"")),
         "S-5: a remove of what another transaction of its stamp made"),
        ("revival of its own birth", KEYLESS.with_(shapes=(b"\0\2\1\0",), bases=b"\1", columns=(bytes(6), b"\1\2")),
         "S-5: an object born with its own revival"),
        ("counted birth at 0", COUNTED.with_(columns=(b"\x07\x09" + bytes(5), b"\1\2")), "S-10: an object born at stamp 0"),
        ("counted revival of its own time",
         COUNTED.with_(shapes=(b"\0\2\1\0",), bases=b"\1", columns=(b"\x07" + bytes(6), b"\1\2")),
         "S-10: an object born with its own revival"),
        ("counted ordinal", COUNTED.with_(columns=(b"\x07\1" + bytes(4) + varint_bytes(1 << 22), b"\1\2")),
         "S-8: an ordinal that no transaction has"),
        ("withdrawal of 0", COUNTED.with_(shapes=(b"\0\5",), columns=(b"\0", b"")), "S-10: 0 is not withdrawn"),
        ("long number", GOOD.with_(counts=b"\x81\0"), "V-2: a count longer than it need be"),
        ("name of 256 bytes", GOOD.with_(types=(string("n" * 256) + GOOD.types[0][2:],)), "J-15: names have at most 255 bytes"),
        ("control character", GOOD.with_(types=(string("T\u0085") + GOOD.types[0][2:],)),
         "J-15: U+0085 is a control character"),
        ("deleted", GOOD.with_(types=(string("T\u007f") + GOOD.types[0][2:],)), "J-15: U+007F is a control character"),
        ("not UTF-8", GOOD.with_(types=(b"\1\xff" + GOOD.types[0][2:],)), "J-15: a name is UTF-8"),
        ("empty primary name", GOOD.with_(types=(string("T") + b"\3\0\1" + string("a") + b"\1",)),
         "J-15: a name has a byte at least"),
        ("empty field name", GOOD.with_(types=typed(b"\1\0\1")), "J-15: a name has a byte at least"),
        ("type twice, otherwise", GOOD.with_(
            types=GOOD.types + (string("T") + b"\3" + string("other") + b"\0",), columns=GOOD.columns + (b"",)),
         "S-7: what its primary value is called makes no other type (J-5)"),
        ("birth for a text", GOOD.with_(types=related, columns=(b"\3\1x", b"\x08" + birth)),
         "S-7: a birth names no object of a type named by text"),
        ("text for a number", GOOD.with_(types=numbered, columns=(b"\3\1x", dictionary, b"")),
         "S-7: a text in a dictionary of objects named by numbers"),
        ("null for elements", GOOD.with_(types=typed(b"\1" + string("a") + b"\x0a\0"), columns=(b"\3\1x", b"\0")),
         "S-7: a set is never null"),
        ("1,001 fields", wide(1_001), "J-15: a type has at most 1,000 fields"),
        ("8,193 fields", wide(*[911] * 8, 905), "J-15: a schema has at most 8,192 fields"),
        ("4,097 types", GOOD.with_(
            types=GOOD.types + tuple(string(each) + b"\0\0" for each in names(4_096)), columns=GOOD.columns + (b"",) * 4_096),
         "J-15: a schema has at most 4,096 types"),
    ]
    bodies = [invalid(name, segment(body.encoding(), stored=zlib.compress(body.encoding(), 9)), why)
              for name, body, why in cases]
    return bodies + [
        invalid("one stamp twice", segment(TWO.with_(stamps=b"\x09\0").encoding(), run), "S-6: stamps rise"),
        invalid("stamps turn over", segment(TWO.with_(stamps=b"\x09" + varint_bytes((1 << 64) - 1)).encoding(), run),
                "S-6: a stamp of more than 64 bits"),
        invalid("stamp beyond time", segment(
            TWO.with_(stamps=b"\x09" + varint_bytes(HIGHEST_STAMP)).encoding(), run), "C-4: after the year 9999"),
    ]


def segment_rules() -> Dict[str, Vectors]:
    return {"valid": valid(), "invalid": broken_files() + broken_bodies()}
