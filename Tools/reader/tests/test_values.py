from __future__ import annotations

import random
import unittest

from magicreader.clock import (HIGHEST_STAMP, HOUR, TICKS, ClockError, is_too_early,
                               next_stamp)
from magicreader.cursor import FormatError, varint_bytes
from magicreader.values import Birth, Kind, Value, read_only_value

from .fixtures import random_value

ASSET = "0123456789abcdef" * 4
BORN = Birth(0x1234, b"\xca\xfe\0\1", 5)
BORN_BYTES = "070000000000001234cafe000100000005"
UUID = "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"
REFUSED = [
    "", "07", "0d", "ff", "0000", "01", "0180", "018000", "01" + "ff" * 9 + "02", "01" + "80" * 10 + "01",
    "0200", "03", "0302c3", "0302c328", "0303eda080", "0302c080", "0324" + UUID.encode().hex(),
    "04" + "00" * 15, "0501", "0681808010", "0581808010" + "00",
    "08", "0800", "0802" + "00" * 8, "0805" + "00", "0808" + "0102", "0807" + "00" * 16, "0807" + "ff" * 16,
    "0807" + "00" * 7 + "01" + "00" * 4 + "00400000", "09", "0901", "09ffffffffffffffffff01", "098000",
    "0a00", "0a010102", "0a01010202", "0a02010201010201", "0a02010401010201", "0b00", "0b010131",
    "0b020131000131" + "00", "0b020132000131" + "00", "0b020132000231" + "3000", "0b01013105" + "00",
    "0c00", "0c01" + "61", "0c41" + (ASSET + ".").encode().hex(), "0c40" + ASSET.upper().encode().hex(),
    "0c43" + (ASSET + ".a\n").encode().hex(), "0c62" + (ASSET + "." + "x" * 33).encode().hex(),
]


class ValueTests(unittest.TestCase):
    def test_known_encodings(self) -> None:
        for value, encoding in [
            (Value(Kind.NULL, None), "00"),
            (Value(Kind.INTEGER, -1), "0101"),
            (Value(Kind.INTEGER, -(2**63)), "01ffffffffffffffffff01"),
            (Value(Kind.TEXT, "é"), "0302c3a9"),
            (Value(Kind.TEXT, UUID), "04" + UUID.replace("-", "").lower()),
            (Value(Kind.TEXT, UUID.lower()), "0324" + UUID.lower().encode().hex()),
            (Value(Kind.CODED, b"[]"), "06025b5d"),
            (Value(Kind.REFERENCE, Value(Kind.INTEGER, 1)), "080102"),
            (Value(Kind.REFERENCE, BORN), "08" + BORN_BYTES),
            (Value(Kind.LIST, ()), "0900"),
            (Value(Kind.LIST, (Value(Kind.TEXT, "a"), BORN)), "0902030161" + BORN_BYTES),
            (Value(Kind.SET, ((Value(Kind.TEXT, "a"), False), (BORN, True))),
             "0a0203016100" + BORN_BYTES + "01"),
            (Value(Kind.DICTIONARY, ((b"10", None), (b"9", BORN))), "0b02023130000139" + BORN_BYTES),
            (Value(Kind.ASSET, ASSET + ".x"), "0c42" + (ASSET + ".x").encode().hex()),
        ]:
            self.assertEqual(value.encoding().hex(), encoding)
            self.assertEqual(read_only_value(bytes.fromhex(encoding)), value)

    def test_refused(self) -> None:
        for encoding in REFUSED:
            with self.subTest(encoding), self.assertRaises(FormatError):
                read_only_value(bytes.fromhex(encoding))

    def test_length_limit_is_checked_before_the_bytes(self) -> None:
        largest = b"\x05" + varint_bytes(1 << 25) + bytes(1 << 25)
        self.assertEqual(len(read_only_value(largest).content), 1 << 25)
        with self.assertRaisesRegex(FormatError, "over the limit"):
            read_only_value(b"\x05" + varint_bytes((1 << 25) + 1) + bytes((1 << 25) + 1))

    def test_the_limits_of_a_relation_are_checked_before_its_elements(self) -> None:
        with self.assertRaisesRegex(FormatError, "elements are over the limit"):
            read_only_value(b"\x09" + varint_bytes((1 << 22) + 1) + bytes(1 << 24))
        long = b"\x03" + varint_bytes(1 << 24) + b"a" * (1 << 24)
        with self.assertRaisesRegex(FormatError, "relation is over the limit"):
            read_only_value(b"\x09\x02" + long + long)

    def test_random_values_round_trip(self) -> None:
        generator = random.Random(1)
        for _ in range(3000):
            value = random_value(generator)
            self.assertEqual(read_only_value(value.encoding()), value)

    def test_whatever_decodes_encodes_to_the_same_bytes(self) -> None:
        generator = random.Random(2)
        for _ in range(20000):
            data = bytes([generator.randrange(13)]) + generator.randbytes(generator.randrange(12))
            try:
                value = read_only_value(data)
            except FormatError:
                continue
            self.assertEqual(value.encoding(), data)

    def test_an_error_tells_the_offset(self) -> None:
        with self.assertRaises(FormatError) as caught:
            read_only_value(bytes.fromhex("0000"))
        self.assertEqual(caught.exception.offset, 1)


class ClockTests(unittest.TestCase):
    def test_next_stamp(self) -> None:
        self.assertEqual(next_stamp(0, 1000), 1000 * TICKS)
        self.assertEqual(next_stamp(5 * TICKS, 1), 5 * TICKS + 1)
        self.assertEqual(next_stamp(5 * TICKS + 65_535, 5), 6 * TICKS)
        self.assertEqual(next_stamp(0, -1), 1)
        self.assertEqual(next_stamp(0, 1 << 62), HIGHEST_STAMP - 65_535)
        self.assertEqual(next_stamp(HIGHEST_STAMP - 1, 0), HIGHEST_STAMP)
        with self.assertRaises(ClockError):
            next_stamp(HIGHEST_STAMP, 0)

    def test_an_hour_ahead(self) -> None:
        self.assertFalse(is_too_early((5 + HOUR) * TICKS, 5))
        self.assertTrue(is_too_early((6 + HOUR) * TICKS, 5))
