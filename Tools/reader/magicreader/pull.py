"""Pulling all of a folder remote into a new journal (folder.md, Pull)."""
from __future__ import annotations

from typing import Dict, Iterable, List, Optional, Set, Tuple, Union

from .acks import closings, put
from .clock import TICKS, is_too_early
from .bundle import Bundle
from .checkpoint import Checkpoint
from .folder import CHECKPOINT_NAME, Folder, RemoteError, SegmentName
from .journal import ForkError, Journal, Name
from .merge import digest, fold
from .schema import KnownSchema, SchemaError
from .segment import Header, Segment
from .wire import Server


class Pull:
    """What came of it: the journal, and a line for each replica that is held back (C-5), each
    file that was of no use and each hole (F-10)."""

    def __init__(self, folder: Union[Folder, Bundle, Server], now: int) -> None:
        self.folder = folder
        self.now = now
        # Before the files are listed (F-10).
        acknowledgements = folder.acknowledgements()
        self.limits = closings(acknowledgements)  # of ids that are closed (J-33)
        self.put = put(acknowledgements)
        self.pull()
        self.tell()

    def pull(self) -> None:
        self.journal = Journal()
        self.schema = KnownSchema()
        self.held_back: List[str] = []
        self.unread: List[str] = []
        self.missing: List[str] = []
        self.refused: Dict[str, str] = {}  # what is said of each file that is unread, in a word
        self.false: Dict[str, RemoteError] = {}  # checkpoints that were not taken
        self.waiting: Set[bytes] = set()  # the replicas that are held back
        self.headers: Dict[SegmentName, Header] = {}  # of the files that count (F-5)
        self.unusable: Dict[SegmentName, RemoteError] = {}  # do not count, or are damaged
        for name in self.folder.segments():
            try:
                self.headers[name] = self.folder.read_header(name)
            except RemoteError as error:
                self.unusable[name] = error
        self.checkpoints = self.read_checkpoints()
        self.check_claims()
        self.take_checkpoints()
        for replica in sorted({name.replica for name in self.headers}):
            self.pull_replica(replica)
        # F-7, once more: a fork between a file that was taken and one that was not shows only now.
        self.check_claims()

    def read_checkpoints(self) -> List[Checkpoint]:
        found: List[Checkpoint] = []
        for name in self.folder.checkpoints():
            try:
                checkpoint = self.folder.read_checkpoint(name)
            except RemoteError as error:
                self.false[name] = error
                continue
            # K-14: as one that is damaged.
            if self.is_beyond(checkpoint):
                self.false[name] = RemoteError(f"checkpoint {name} keeps what is later than all that it stands for")
            elif digest(fold(checkpoint.transactions())) != checkpoint.digest:
                self.false[name] = RemoteError(f"checkpoint {name} does not come to the digest in its header")
            else:
                found.append(checkpoint)
        return found

    def is_beyond(self, checkpoint: Checkpoint) -> bool:
        """Whether it keeps what is later than all that its floor ends with, and than what C-5 takes."""
        kept = max((transaction.stamp for transaction in checkpoint.transactions()), default=0)
        highest = max(name.stamp for _, name in checkpoint.floor.values())
        return kept // TICKS > highest // TICKS and is_too_early(kept, self.now)

    def check_claims(self) -> None:
        """F-7: a header alone shows no fork, so what says one and cannot be read counts no more."""
        while True:
            try:
                return check_claims(self.headers.values(), self.checkpoints, self.journal, self.limits)
            except ForkError:
                if not self.drop_damaged():
                    raise

    def drop_damaged(self) -> bool:
        """Whether there was a file whose header is right and whose content is not."""
        count = len(self.headers)
        for name in list(self.headers):
            try:
                self.folder.read(name)
            except RemoteError as error:
                self.unusable[name] = error
                del self.headers[name]
        return len(self.headers) < count

    def take_checkpoints(self) -> None:
        """K-16. What costs less is all the same to a reader, so it takes segments where they lead to the floor."""
        # One that waits is above none (K-13).
        in_time = [checkpoint for checkpoint in self.checkpoints if not self.late(checkpoint)]
        for checkpoint in self.checkpoints:
            if is_covered(checkpoint, in_time) or all(self.reach(replica) >= sequence for replica, (sequence, _) in checkpoint.floor.items()):
                continue
            late = self.late(checkpoint)
            if late:
                self.waiting.update(late)
                self.held_back.append(f"a checkpoint waits: the clock of {late[0].hex()} is more than an hour ahead")
                continue
            self.take(checkpoint)

    def late(self, checkpoint: Checkpoint) -> List[bytes]:
        """The replicas of its floor whose clocks are ahead (C-5)."""
        return [replica for replica, (_, name) in checkpoint.floor.items() if is_too_early(name.stamp, self.now)]

    def take(self, checkpoint: Checkpoint) -> None:
        """K-13."""
        for schema, _ in checkpoint.parts:
            self.schema.learn(schema)
        self.journal.kept += checkpoint.transactions()
        for replica, (sequence, name) in checkpoint.floor.items():
            if sequence > self.journal.end_of_floor(replica):
                self.journal.floor[replica] = sequence, name

    def reach(self, replica: bytes) -> int:
        """How far the segments lead."""
        sequence = self.journal.next_sequence(replica)
        limit = self.limits.get(replica)
        while True:
            name = farthest((name for name in self.headers if name.replica == replica), sequence)
            if name is None or limit is not None and sequence > limit:
                return sequence - 1 if limit is None else min(sequence - 1, limit)
            sequence = name.last + 1

    def tell(self) -> None:
        """What nothing else gave (F-10)."""
        for text in self.folder.placeholders("segments"):
            absent = SegmentName.parse(text)
            if absent is not None:
                self.unusable[absent] = RemoteError(f"{text} is not here yet", "busy")
        for name, error in self.unusable.items():
            if name.replica not in self.waiting and name.last >= self.next(name):
                self.say(f"segments/{name.file_name}", error)
        for replica in sorted({name.replica for name in self.headers} - self.waiting):
            first = self.journal.next_sequence(replica)
            readable = [name for name in self.headers
                        if name.replica == replica and name not in self.unusable]
            beyond = [name.first for name in readable
                      if first < name.first <= self.limits.get(replica, name.first)]
            if beyond and farthest(readable, first) is None:
                self.missing.append(f"{replica.hex()} {first} to {min(beyond) - 1} are missing")
        for replica, last in sorted(self.put.items()):
            first = self.named(replica) + 1
            if replica not in self.waiting and first <= last:
                self.missing.append(f"{replica.hex()} {first} to {last} are missing")
        self.tell_checkpoints()

    def named(self, replica: bytes) -> int:
        """The last sequence that is held, or that some file is named for."""
        lasts = [name.last for name in (*self.headers, *self.unusable) if name.replica == replica]
        lasts += [checkpoint.floor[replica][0] for checkpoint in self.checkpoints if replica in checkpoint.floor]
        return max(lasts + [self.journal.next_sequence(replica) - 1])

    def tell_checkpoints(self) -> None:
        """Of one whose header cannot be read it is not known how far it reaches: it is said if something is lacking."""
        for name in self.folder.placeholders("checkpoints"):
            if CHECKPOINT_NAME.fullmatch(name):
                self.false[name.split(".")[0]] = RemoteError(f"{name} is not here yet", "busy")
        is_lacking = bool(self.missing) or not (self.journal.held or self.journal.floor)
        for name, error in self.false.items():
            floor = self.folder.floor_of(name)
            if is_lacking if not floor else any(
                    sequence >= self.journal.next_sequence(replica) for replica, (sequence, _) in floor.items()):
                self.say(f"checkpoints/{name}.checkpoint", error)

    def say(self, file: str, error: RemoteError) -> None:
        self.unread.append(str(error))
        self.refused[file] = error.code

    def next(self, name: SegmentName) -> int:
        return self.journal.next_sequence(name.replica)

    def pull_replica(self, replica: bytes) -> None:
        names = [name for name in self.headers if name.replica == replica]
        while True:
            next_sequence = self.journal.next_sequence(replica)
            name = farthest(names, next_sequence)
            if name is None or next_sequence > self.limits.get(replica, next_sequence):
                return
            try:
                segment = self.read(name)
            except RemoteError as error:
                self.unusable[name] = error
                names.remove(name)  # F-9: the next best
                continue
            if not self.merge(segment):
                return

    def read(self, name: SegmentName) -> Segment:
        """A segment with more of a schema than there is room for is of no use either (J-15)."""
        segment = self.folder.read(name)
        try:
            self.schema.learn(segment.schema)
        except SchemaError as error:
            raise RemoteError(f"{name.file_name}: {error}", "tooLarge") from error
        return segment

    def merge(self, segment: Segment) -> bool:
        """Whether all of it is held now."""
        header = segment.header
        self.journal.check_held(header.replica, header.first - 1, header.previous)  # J-3
        for transaction in segment.transactions:
            if transaction.sequence > self.limits.get(transaction.replica, transaction.sequence):
                return False
            is_new = transaction.sequence == self.journal.next_sequence(transaction.replica)
            if is_new and is_too_early(transaction.stamp, self.now):
                self.waiting.add(transaction.replica)
                place = f"{transaction.replica.hex()} {transaction.sequence}"
                self.held_back.append(f"{place} waits: its clock is more than an hour ahead")
                return False
            self.journal.store(transaction)
        return True


def farthest(names: Iterable[SegmentName], next_sequence: int) -> Optional[SegmentName]:
    """The segment to take next (F-9)."""
    usable = [name for name in names if name.first <= next_sequence <= name.last]
    return max(usable, key=lambda name: (name.last, name.first, name.name), default=None)


def is_above(checkpoint: Checkpoint, other: Checkpoint) -> bool:
    return all(replica in checkpoint.floor and checkpoint.floor[replica][0] >= sequence
               for replica, (sequence, _) in other.floor.items())


def is_covered(checkpoint: Checkpoint, checkpoints: Iterable[Checkpoint]) -> bool:
    """Whether another is above it. Of two with the same sequences, which are of two branches, the one with the lower name is (K-20)."""
    return any(other.name != checkpoint.name and is_above(other, checkpoint)
               and (not is_above(checkpoint, other) or other.name < checkpoint.name) for other in checkpoints)


def check_claims(headers: Iterable[Header], checkpoints: Iterable[Checkpoint], journal: Journal,
                 limits: Dict[bytes, int]) -> None:
    """What headers and floors say of the name at one sequence is the same everywhere (F-7, K-14)."""
    claims: Dict[Tuple[bytes, int], Name] = {}
    checkpoints = list(checkpoints)
    for checkpoint in checkpoints:
        # K-20: one that is below another says nothing of its own.
        if is_covered(checkpoint, checkpoints):
            continue
        for replica, (sequence, name) in checkpoint.floor.items():
            if sequence > limits.get(replica, sequence):
                continue
            if claims.setdefault((replica, sequence), name) != name:
                raise ForkError(f"fork: two transactions at {replica.hex()} {sequence}")
            journal.check_held(replica, sequence, name)
    for header in headers:
        named = ((header.first - 1, header.previous), (header.last, header.last_name))
        for sequence, name in named:
            if sequence > limits.get(header.replica, sequence):
                continue
            if claims.setdefault((header.replica, sequence), name) != name:
                raise ForkError(f"fork: two transactions at {header.replica.hex()} {sequence}")
            journal.check_held(header.replica, sequence, name)
