"""The files of a folder remote (folder.md)."""
from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from typing import Any, Dict, List, Optional

from .acks import Ack, closings, plain
from .checkpoint import Checkpoint, Floor, floor_of, read_checkpoint
from .clock import HIGHEST_STAMP, LAST_MILLISECOND
from .cursor import FormatError, UnsupportedFormat
from .journal import Name
from .segment import (BODY_LIMIT, HEADER_SIZE, SEQUENCE_END, Header, Segment, read_header,
                      read_segment)

# F-2, F-3. Names of any other form are ignored, hidden ones among them.
SEGMENT_NAME = re.compile(
    r"([0-9a-f]{32})\.([0-9a-f]{16})\.([0-9a-f]{16})\.([0-9a-f]{32})\.segment")
CHECKPOINT_NAME = re.compile(r"([0-9a-f]{32})\.checkpoint")
ID_TEXT = re.compile("[0-9a-f]{32}")
ACK_NAME = re.compile(r"([0-9a-f]{32})\.json")
MARKER_LIMIT = 65_536  # F-1
ACK_LIMIT = 1 << 24  # K-6
MOST_CLOSINGS = MOST_NAMES = 10_000
# K-25: none within a name, and none at its ends.
NOT_SHOWN = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]")
SURROGATE = re.compile("[\\ud800-\\udfff]")
SPACES = {chr(scalar) for scalar in (0x20, 0xa0, 0x1680, *range(0x2000, 0x200b), 0x202f, 0x205f, 0x3000)}
SEQUENCE_TEXT = re.compile("[0-9a-f]{16}")
END_TEXT = re.compile(r"([0-9a-f]{16})\.([0-9a-f]{24})")


class RemoteError(Exception):
    """No remote, or one with a file that cannot be used."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.said = code

    @property
    def code(self) -> str:
        """In a word, as the vectors have it: what is of another format or data set is not damaged (S-2)."""
        return self.said or ("incompatible" if isinstance(self.__cause__, UnsupportedFormat) else "damaged")


@dataclass(frozen=True)
class SegmentName:
    replica: bytes
    first: int
    last: int
    name: str

    @property
    def file_name(self) -> str:
        return f"{self.replica.hex()}.{self.first:016x}.{self.last:016x}.{self.name}.segment"

    @staticmethod
    def parse(file_name: str) -> Optional[SegmentName]:
        match = SEGMENT_NAME.fullmatch(file_name)
        if match is None:
            return None
        first, last = int(match[2], 16), int(match[3], 16)
        if not 1 <= first <= last < SEQUENCE_END:
            return None
        return SegmentName(bytes.fromhex(match[1]), first, last, match[4])


class Folder:
    def __init__(self, path: str) -> None:
        self.path = path
        self.data_set = read_data_set(path)

    def segments(self) -> List[SegmentName]:
        try:
            names = os.listdir(os.path.join(self.path, "segments"))
        except FileNotFoundError:
            return []  # nothing was pushed yet
        return sorted(
            (name for name in map(SegmentName.parse, names) if name is not None),
            key=lambda name: name.file_name)

    def placeholders(self, folder: str) -> List[str]:
        """The files that are not here yet, as what a service has left for them tells (F-3)."""
        path = os.path.join(self.path, folder)
        names = set(os.listdir(path) if folder == "segments" and os.path.isdir(path) else self.own(folder))
        absent = (name[1:-len(".icloud")] for name in names if name.startswith(".") and name.endswith(".icloud"))
        return sorted(name for name in absent if name not in names)

    def read_header(self, name: SegmentName) -> Header:
        """The header of a file that counts (F-5)."""
        path = self.path_of(name)
        try:
            with open(path, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                header = read_header(file.read(HEADER_SIZE), size)
        except (FormatError, OSError) as error:
            raise RemoteError(f"{path}: {error}") from error
        if header.data_set != self.data_set:
            raise RemoteError(f"{path}: belongs to another data set", "incompatible")
        if (header.replica, header.first, header.last) != (name.replica, name.first, name.last):
            raise RemoteError(f"{path}: header disagrees with the file's name")
        return header

    def read(self, name: SegmentName) -> Segment:
        """The segment in a file that counts, if its content agrees with its name (F-2)."""
        path = self.path_of(name)
        try:
            with open(path, "rb") as file:
                segment = read_segment(file.read(HEADER_SIZE + BODY_LIMIT + 1))
        except (FormatError, OSError) as error:
            raise RemoteError(f"{path}: {error}") from error
        if name_of(segment) != name:
            raise RemoteError(f"{path}: content disagrees with the file's name")
        return segment

    def checkpoints(self) -> List[str]:
        """Their names (K-10)."""
        return sorted(match[1] for match in map(CHECKPOINT_NAME.fullmatch, self.own("checkpoints")) if match)

    def read_checkpoint(self, name: str) -> Checkpoint:
        """All of it is checked (K-12)."""
        path = os.path.join(self.path, "checkpoints", name + ".checkpoint")
        try:
            with open(path, "rb") as file:
                checkpoint = read_checkpoint(file.read())
        except (FormatError, OSError) as error:
            raise RemoteError(f"{path}: {error}") from error
        if checkpoint.data_set != self.data_set:
            raise RemoteError(f"{path}: belongs to another data set", "incompatible")
        if checkpoint.name != name:
            raise RemoteError(f"{path}: content disagrees with the file's name")
        return checkpoint

    def floor_of(self, name: str) -> Floor:
        """What a checkpoint stands for that is not taken, as far as its header tells."""
        try:
            with open(os.path.join(self.path, "checkpoints", name + ".checkpoint"), "rb") as file:
                return floor_of(file.read(), self.data_set)
        except OSError:
            return {}

    def acknowledgements(self) -> Dict[str, Ack]:
        """Those that count, by who wrote them (K-6, K-7)."""
        found: Dict[str, Ack] = {}
        for match in map(ACK_NAME.fullmatch, self.own("acks")):
            said = match and read_acknowledgement(os.path.join(self.path, "acks", match[0]), match[1], self.data_set)
            if match and said:
                found[match[1]] = said
        return found

    def closings(self) -> Dict[bytes, int]:
        """Of the ids that somebody has closed the last sequences that are everybody's (K-6, J-33)."""
        return closings(self.acknowledgements())

    def own(self, folder: str) -> List[str]:
        """What is in one of its folders; a link, or anything else in its place, is as if it were not there (K-7)."""
        path = os.path.join(self.path, folder)
        return os.listdir(path) if os.path.isdir(path) and not os.path.islink(path) else []

    def path_of(self, name: SegmentName) -> str:
        return os.path.join(self.path, "segments", name.file_name)


def read_acknowledgement(path: str, replica: str, data_set: bytes) -> Optional[Ack]:
    """What cannot be read, is another's, or has one member that is none says nothing (K-6, K-7)."""
    try:
        with open(path, "rb") as file:
            said = parse_json(file.read(ACK_LIMIT + 1), ACK_LIMIT)
        if not is_one(said["format"]) or said["dataSet"] != data_set.hex() or said["replica"] != replica:
            return None
        closed = said.get("closed")
        lowest = [] if closed is None else sorted(closed.items())[:MOST_CLOSINGS]
        if not is_acknowledgement(said) or not all(is_closing(id, last) for id, last in lowest):
            return None
        return plain(said, {bytes.fromhex(id): int(last, 16) for id, last in lowest}, names_in(said.get("names")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def is_acknowledgement(said: Any) -> bool:
    """Whether all that is said of members is what it should be; members that have to be there are asked for (K-6)."""
    for id, acknowledged in said["acknowledged"].items():
        digest = acknowledged.get("digest")
        if not ID_TEXT.fullmatch(id) or not is_time(acknowledged["time"]):
            return False
        if digest is not None and not ID_TEXT.fullmatch(digest):
            return False
        if not all(ID_TEXT.fullmatch(other) and is_end(end) for other, end in acknowledged["frontier"].items()):
            return False
    if not all(ID_TEXT.fullmatch(id) and is_time(time) for id, time in said["expired"].items()):
        return False
    accepted = said.get("accepted")
    return accepted is None or is_time(accepted)


def names_in(said: Any) -> Dict[str, Dict[str, Any]]:
    """Those that are names; what is none is as if it alone were not there (K-25)."""
    if not isinstance(said, dict) or any(SURROGATE.search(id) for id in said):
        return {}
    good = sorted((id, each) for id, each in said.items() if ID_TEXT.fullmatch(id) and is_named(each))
    return {id: {"time": int(each["time"]), "name": each["name"]} for id, each in good[:MOST_NAMES]}


def is_named(said: Any) -> bool:
    if not isinstance(said, dict) or not is_time(said.get("time")) or not isinstance(said.get("name"), str):
        return False
    name = said["name"]
    return 1 <= len(name) <= 64 and not NOT_SHOWN.search(name) and name[0] not in SPACES and name[-1] not in SPACES


def is_end(text: str) -> bool:
    """A sequence, and the name of the transaction there."""
    match = END_TEXT.fullmatch(text)
    if match is None:
        return False
    return 1 <= int(match[1], 16) < SEQUENCE_END and 1 <= Name.read(bytes.fromhex(match[2])).stamp <= HIGHEST_STAMP


def is_closing(id: str, last: str) -> bool:
    return bool(ID_TEXT.fullmatch(id) and SEQUENCE_TEXT.fullmatch(last)) and int(last, 16) < SEQUENCE_END


def is_time(number: Any) -> bool:
    """Milliseconds to the end of the year 9999 (C-4); 1.0 is the number 1."""
    return is_number(number) and 0 <= number <= LAST_MILLISECOND and number % 1 == 0


def is_one(number: Any) -> bool:
    return is_number(number) and number == 1


def is_number(content: Any) -> bool:
    return isinstance(content, (int, float)) and not isinstance(content, bool)


def parse_json(data: bytes, limit: int) -> Any:
    if len(data) > limit:
        raise ValueError(f"more than {limit} bytes")
    return json.loads(data.decode("utf-8"), parse_constant=refuse_constant)


def refuse_constant(name: str) -> None:
    """NaN and the infinities, which Python takes for numbers."""
    raise ValueError(f"{name} is no JSON")


class Held:
    """Segments and checkpoints that were read beforehand, as a pull asks for them."""

    held: Dict[SegmentName, Segment]
    kept: Dict[str, Checkpoint]

    def acknowledgements(self) -> Dict[str, Ack]:
        return {}

    def placeholders(self, folder: str) -> List[str]:
        return []

    def floor_of(self, name: str) -> Floor:
        return self.kept[name].floor

    def segments(self) -> List[SegmentName]:
        return sorted(self.held, key=lambda name: name.file_name)

    def checkpoints(self) -> List[str]:
        return sorted(self.kept)

    def read_checkpoint(self, name: str) -> Checkpoint:
        return self.kept[name]

    def read_header(self, name: SegmentName) -> Header:
        return self.held[name].header

    def read(self, name: SegmentName) -> Segment:
        return self.held[name]


def name_of(segment: Segment) -> SegmentName:
    header = segment.header
    return SegmentName(header.replica, header.first, header.last, segment.name)


def read_data_set(path: str) -> bytes:
    """The data set of the folder (F-1)."""
    path = os.path.join(path, "magicdata.json")
    try:
        with open(path, "rb") as file:
            content = parse_json(file.read(MARKER_LIMIT + 1), MARKER_LIMIT)
    except FileNotFoundError as error:
        raise RemoteError(f"{path}: not there, so the folder is no remote", "notFound") from error
    except (ValueError, RecursionError) as error:
        raise RemoteError(f"{path}: cannot be read ({error})") from error
    if not isinstance(content, dict):
        raise RemoteError(f"{path}: not an object")
    version, kind, data_set = (content.get(name) for name in ("format", "kind", "dataSet"))
    if not is_number(version) or version % 1 != 0:
        raise RemoteError(f"{path}: format {version} is no format")
    if not all(each is None or isinstance(each, str) for each in (kind, data_set)):
        raise RemoteError(f"{path}: kind or dataSet is no text")
    if not is_one(version):
        raise RemoteError(f"{path}: format {version} is not known", "incompatible")
    if kind is not None and kind != "folder":
        raise RemoteError(f"{path}: kind is not folder", "incompatible")
    if kind is None:
        raise RemoteError(f"{path}: there is no kind")
    if not isinstance(data_set, str) or not ID_TEXT.fullmatch(data_set):
        raise RemoteError(f"{path}: dataSet is not an id")
    return bytes.fromhex(data_set)
