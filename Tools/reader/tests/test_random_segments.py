from __future__ import annotations

import random
import unittest
from typing import List

from magicreader.cursor import FormatError
from magicreader.encoder import encode_body, encode_file, encode_segment, needed_schema
from magicreader.segment import Segment, read_segment

from .fixtures import DATA_SET, History, segment_file

WRITER = bytes(16)


class RandomSegmentTests(unittest.TestCase):
    def test_random_segments_round_trip(self) -> None:
        for seed in range(30):
            history = History(seed)
            history.write(40)
            for transactions in history.written.values():
                first = len(transactions) // 2
                _, data = segment_file(transactions, first, len(transactions))
                segment = read_segment(data)
                self.assertEqual(list(segment.transactions), transactions[first - 1:])
                again = encode_segment(segment.transactions, DATA_SET, WRITER,
                                       segment.header.previous, segment.schema)
                self.assertEqual(read_segment(again).transactions, segment.transactions)

    def test_mutated_bodies_raise_nothing_but_format_errors(self) -> None:
        generator = random.Random(4)
        accepted: List[Segment] = []
        for seed in range(15):
            history = History(seed, replicas=1)
            transactions = history.write(6)
            body = encode_body(transactions, needed_schema(transactions))
            for _ in range(250):
                changed = bytearray(body)
                for _ in range(generator.randrange(1, 4)):
                    place = generator.randrange(len(changed))
                    choice = generator.random()
                    if choice < 0.6:
                        changed[place] = generator.choice([0, 1, 0x7F, 0x80, 0xFF, changed[place] ^ 1])
                    elif choice < 0.8:
                        del changed[place:place + generator.randrange(1, 5)]
                    else:
                        changed[place:place] = generator.randbytes(generator.randrange(1, 5))
                try:
                    segment = read_segment(encode_file(bytes(changed), transactions, DATA_SET, WRITER))
                except FormatError as error:
                    self.assertGreaterEqual(error.offset, 0)
                else:
                    accepted.append(segment)
        self.assertTrue(accepted)
        for segment in accepted:  # what is accepted must be writable again
            again = encode_segment(segment.transactions, DATA_SET, WRITER, schema=segment.schema)
            self.assertEqual(read_segment(again).transactions, segment.transactions)

    def test_mutated_files_are_refused(self) -> None:
        generator = random.Random(5)
        _, data = segment_file(History(3, replicas=1).write(3), 1, 3)
        for _ in range(2000):
            changed = bytearray(data)
            changed[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
            with self.assertRaises(FormatError):
                read_segment(bytes(changed))
        for size in range(len(data)):
            with self.assertRaises(FormatError):
                read_segment(data[:size])
