from __future__ import annotations

import hashlib
import random
import unittest
from typing import Optional
from unittest import mock

from magicreader.journal import (CLAIM_END, Birth, Entry, ForkError, Journal, ObjectName, Operation,
                                 Transaction)
from magicreader.merge import alive, digest, fold, numbers
from magicreader.values import Kind, Target, Value

from .fixtures import History

A, B = b"a" * 16, b"b" * 16
OBJECT = ObjectName("Note", Kind.INTEGER, Value(Kind.INTEGER, 5))


def text(content: str) -> Value:
    return Value(Kind.TEXT, content)


def written(stamp: int, operation: Operation, root: bytes = A, base: Optional[int] = None,
            sequence: int = 1, **fields: str) -> Transaction:
    values = {name: text(content) for name, content in fields.items()}
    entry = Entry(OBJECT, operation, values, base)
    return Transaction(root, sequence, stamp, b"tag!", root, (entry,))


class MergeTests(unittest.TestCase):
    def check(self, *transactions: Transaction, **expected: str) -> None:
        for order in (transactions, transactions[::-1], transactions * 2):
            self.assertEqual({name: write.value for name, write in alive(fold(order))[OBJECT].values().items()},
                             {name: text(content) for name, content in expected.items()})

    def test_highest_write_wins(self) -> None:
        self.check(written(1, Operation.UPDATE, x="z", y="q"), written(2, Operation.UPDATE, x="a"),
                   x="a", y="q")
        self.check(written(1, Operation.UPDATE, A, x="z"), written(1, Operation.UPDATE, B, x="a"),
                   x="a")
        self.check(written(1, Operation.UPDATE, x="a"), written(1, Operation.UPDATE, x="b"), x="b")

    def test_removed_at_equal_versions(self) -> None:
        update, remove = written(1, Operation.UPDATE), written(1, Operation.REMOVE)
        self.assertEqual(alive(fold([update, remove])), {})
        self.assertEqual(alive(fold([remove])), {})
        self.check(written(1, Operation.REMOVE, A), written(1, Operation.UPDATE, B, x="b"), x="b")

    def test_revival_voids_and_update_does_not(self) -> None:
        before = written(1, Operation.UPDATE, x="old", y="old")
        remove = written(2, Operation.REMOVE)
        self.check(before, remove, written(3, Operation.UPDATE, B, x="new"), x="new", y="old")
        self.check(before, remove, written(3, Operation.REVIVAL, B, base=2, x="new"), x="new")

    def test_order_and_repeats_mean_nothing(self) -> None:
        generator = random.Random(6)
        for seed in range(20):
            transactions = History(seed).write(60)
            expected = fold(transactions)
            for _ in range(4):
                generator.shuffle(transactions)
                state = fold(transactions + generator.sample(transactions, 20))
                self.assertEqual(alive(state), alive(expected))
                self.assertEqual(digest(state), digest(expected))

    def test_digest_by_hand(self) -> None:
        self.assertEqual(digest({}), "0" * 32)
        name = ObjectName("N", Kind.NULL, Birth(1, b"tag!", 2))
        entry = Entry(name, Operation.BIRTH, {"f": Value(Kind.NULL, None)})
        object_bytes = b"O\x01N\0\x07" + bytes(7) + b"\x01tag!\0\0\0\x02"
        number = hashlib.sha256(object_bytes).digest()[:16]
        value_bytes = b"V" + number + b"\x01f" + bytes(7) + b"\x03" + A + b"\0"
        total = int.from_bytes(number, "big")
        total += int.from_bytes(hashlib.sha256(value_bytes).digest()[:16], "big")
        state = fold([Transaction(A, 1, 3, b"tag!", A, (entry,))])
        self.assertEqual(digest(state), f"{total % 2**128:032x}")


NOTE, TAG = ("Note", Kind.TEXT), ("Tag", Kind.TEXT)


def members(*ins: str, out: str = "", target: Target = NOTE) -> Value:
    elements = [(text(each), True) for each in ins] + [(text(each), False) for each in out]
    return Value(Kind.SET, tuple(sorted(elements, key=lambda each: each[0].encoding())), target)


def places(**objects: Optional[str]) -> Value:
    content = tuple((f'"{key}"'.encode(), None if each is None else text(each))
                    for key, each in sorted(objects.items()))
    return Value(Kind.DICTIONARY, content, NOTE)


def update(stamp: int, root: bytes = A, base: Optional[int] = None, **fields: Value) -> Transaction:
    operation = Operation.UPDATE if base is None else Operation.REVIVAL
    return Transaction(root, 1, stamp, b"tag!", root, (Entry(OBJECT, operation, fields, base),))


class RelationTests(unittest.TestCase):
    def check(self, *transactions: Transaction, **expected: Value) -> None:
        for order in (transactions, transactions[::-1], transactions * 2):
            self.assertEqual(alive(fold(order))[OBJECT].row(), expected)

    def test_elements_fold_by_themselves(self) -> None:
        made = update(1, s=members("a", "b"), d=places(x="a", y="b"))
        self.check(made, update(2, s=members("d", out="a"), d=places(x="c")),
                   update(3, B, s=members("c", out="b"), d=places(y=None, z="d")),
                   s=members("c", "d"), d=places(x="c", z="d"))
        self.check(made, update(2, s=members(out="ab"), d=places(x=None, y=None)))
        self.check(update(1, s=members("a")), update(1, s=members(out="a")), s=members("a"))

    def test_revivals(self) -> None:
        made, remove = update(1, s=members("a", "b")), written(2, Operation.REMOVE)
        self.check(made, remove, update(4, s=members("c"), base=2), s=members("c"))
        self.check(made, remove, update(4, s=members("c"), base=2), update(3, B, s=members("d")),
                   s=members("c", "d"))
        self.check(made, remove, update(3, B, s=members("c", out="b")), s=members("a", "c"))

    def test_rivals(self) -> None:
        made, tags = update(1, x=members("a")), members("t", target=TAG)
        self.check(made, update(2, x=text("z")), x=text("z"))
        self.check(made, update(2, x=text("z")), update(3, B, x=members("b")), x=members("a", "b"))
        self.check(made, update(2, x=tags), x=tags)
        self.check(made, update(2, x=tags), update(3, x=members(out="a")))
        self.check(made, update(1, x=tags), x=tags)
        self.check(made, update(1, x=text("z")), x=members("a"))
        self.check(update(1, x=Value(Kind.REFERENCE, text("a"), NOTE)),
                   update(1, x=Value(Kind.REFERENCE, text("a"), TAG)), x=Value(Kind.REFERENCE, text("a"), TAG))

    def test_digest_by_hand(self) -> None:
        state = fold([update(3, x=members("a", out="b"))])
        number = hashlib.sha256(b"O\x04Note\x01\x01\x0a").digest()[:16]
        value = b"V" + number + b"\x01x" + bytes(7) + b"\x03" + A + b"\x0a\x01\x03\x01a\x01"
        total = sum(int.from_bytes(each, "big") for each in (number, hashlib.sha256(value).digest()[:16]))
        self.assertEqual(digest(state), f"{total % 2**128:032x}")


def counted(stamp: int, number: int, root: bytes = A,
            operation: Operation = Operation.CLAIM) -> Transaction:
    birth = Birth(stamp, b"tag!", 0)
    entry = Entry(ObjectName("Tag", Kind.INTEGER, birth), operation, {}, None, number)
    return Transaction(root, 1, stamp, b"tag!", root, (entry,))


def set_number(stamp: int, number: int, operation: Operation = Operation.UPDATE) -> Transaction:
    name = ObjectName("Tag", Kind.INTEGER, Value(Kind.INTEGER, number))
    return Transaction(B, 1, stamp, b"tag!", B, (Entry(name, operation, {}),))


class NumberTests(unittest.TestCase):
    def check(self, *transactions: Transaction, **expected: Optional[int]) -> None:
        """`s3=None`: what was born at 3 has lost its claim."""
        for order in (transactions, transactions[::-1], transactions * 2):
            state = fold(order)
            shown = {name.identity.stamp: number for name, number in numbers(state).items()}  # type: ignore
            self.assertEqual(len(set(shown.values())), len(shown))
            wanted = {f"s{stamp}": None if number >= CLAIM_END else number for stamp, number in shown.items()}
            self.assertEqual(wanted, expected)

    def test_oldest_claim_keeps_the_number(self) -> None:
        self.check(counted(1, 1), s1=1)
        self.check(counted(5, 1), counted(3, 1, B), counted(4, 1, B), counted(6, 2), s3=1, s4=None, s5=None, s6=2)

    def test_withdrawn_and_removed_claims_count(self) -> None:
        self.check(counted(1, 1, A, Operation.WITHDRAWAL), counted(2, 1, B), s1=1, s2=None)
        self.assertEqual(alive(fold([counted(1, 1, A, Operation.WITHDRAWAL)])), {})

    def test_set_numbers_win(self) -> None:
        self.check(counted(1, 1), set_number(9, 1), counted(2, 2), s1=None, s2=2)
        self.check(counted(1, 1), set_number(9, 1, Operation.REMOVE), s1=None)

    def test_own_numbers_that_meet(self) -> None:
        birth = Birth(1, b"tag!", 0).encoding()
        hashed = CLAIM_END + int.from_bytes(hashlib.sha256(birth).digest()[:8], "big") % CLAIM_END
        second = CLAIM_END + int.from_bytes(hashlib.sha256(birth + b"\0").digest()[:8], "big") % CLAIM_END
        lost = [counted(1, 1), set_number(9, 1)]
        self.assertEqual(list(numbers(fold(lost)).values()), [hashed])
        self.assertEqual(list(numbers(fold([*lost, set_number(9, hashed)])).values()), [second])

    def test_an_own_number_after_many_that_are_taken(self) -> None:
        birth, count = Birth(1, b"tag!", 0).encoding(), 200  # beyond a block or two of the hash
        hashes = [hashlib.sha256(birth + bytes(attempt)).digest()[:8] for attempt in range(count + 1)]
        taken = [CLAIM_END + int.from_bytes(each, "big") % CLAIM_END for each in hashes]
        state = fold([counted(1, 1), set_number(9, 1), *(set_number(9, each) for each in taken[:-1])])
        with mock.patch("magicreader.merge.hashlib.sha256", wraps=hashlib.sha256) as hashed:
            self.assertEqual(list(numbers(state).values()), taken[-1:])
        self.assertEqual(hashed.call_count, 1)  # nothing is hashed again

    def test_digest_by_hand(self) -> None:
        number = hashlib.sha256(b"O\x03Tag\x01\x07" + bytes(7) + b"\x02tag!" + bytes(4)).digest()[:16]
        for rivals, flag in (([], b"\0"), ([counted(1, 300, B, Operation.WITHDRAWAL)], b"\1")):
            claim = hashlib.sha256(b"C" + number + flag + b"\xac\x02").digest()[:16]
            total = int.from_bytes(number, "big") + int.from_bytes(claim, "big")
            self.assertEqual(digest(fold([counted(2, 300), *rivals])), f"{total % 2**128:032x}")


class JournalTests(unittest.TestCase):
    def test_gap_repeat_and_fork(self) -> None:
        journal = Journal()
        first = written(1, Operation.UPDATE)
        self.assertFalse(journal.store(written(3, Operation.UPDATE, sequence=2)))
        self.assertTrue(journal.store(first))
        self.assertFalse(journal.store(first))
        with self.assertRaises(ForkError):
            journal.store(written(2, Operation.UPDATE))
        self.assertEqual(list(journal), [first])
