"""The commands: segment FILE, state REMOTE, digest REMOTE, assets REMOTE. A remote is a folder, a bundle or a server."""
from __future__ import annotations

import json
import os
import sys
import time
from typing import Any, Callable, Dict, Iterable, List, Union

from .assets import faults
from .bundle import Bundle, is_bundle
from .cursor import FormatError
from .folder import Folder, RemoteError
from .journal import ForkError
from .merge import digest, fold
from .notation import objects_json, segment_json
from .pull import Pull
from .schema import SchemaError
from .segment import BODY_LIMIT, HEADER_SIZE, read_segment
from .wire import Server, is_server

USAGE_STATUS, PARTLY_STATUS = 64, 3
USAGE = "usage: magicreader segment FILE | state REMOTE | digest REMOTE | assets REMOTE"


class Partly(Exception):
    """Lines that are printed all the same, of a remote in which something waits or is damaged."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = list(lines)
        super().__init__()


def segment_lines(path: str) -> Iterable[str]:
    with open(path, "rb") as file:
        data = file.read(HEADER_SIZE + BODY_LIMIT + 1)
    return [json.dumps(segment_json(read_segment(data)), ensure_ascii=False, indent=2)]


def state_lines(path: str) -> Iterable[str]:
    return pulled(path, lambda pull: sorted(map(compact, objects_json(fold(pull.journal)))))


def digest_lines(path: str) -> Iterable[str]:
    return pulled(path, lambda pull: [digest(fold(pull.journal))])


def asset_lines(path: str) -> Iterable[str]:
    """What is the matter with the contents of assets: nothing, or a line each."""
    lines = pulled(path, lambda pull: faults(path, fold(pull.journal)))
    if lines:
        raise Partly(lines)
    return lines


def pulled(path: str, tell: Callable[[Pull], List[str]]) -> List[str]:
    remote = remote_at(path)
    pull = Pull(remote, now())
    if isinstance(remote, Server) and remote.digest not in ("", digest(fold(pull.journal))):
        raise RemoteError(f"{path}: its digest is another: {remote.digest}")  # W-16
    lines = tell(pull)
    for line in pull.held_back + pull.unread + pull.missing:
        say(line)
    if pull.unread or pull.missing:
        raise Partly(lines)  # F-10: the rest is told
    return lines


def remote_at(path: str) -> Union[Folder, Bundle, Server]:
    if is_server(path):
        return Server(path, os.environ.get("MAGIC_READER_TOKEN", "").encode())
    return Bundle(path) if is_bundle(path) else Folder(path)


def now() -> int:
    return int(time.time() * 1000)


COMMANDS: Dict[str, Callable[[str], Iterable[str]]] = {
    "segment": segment_lines,
    "state": state_lines,
    "digest": digest_lines,
    "assets": asset_lines,
}


def main(arguments: List[str]) -> int:
    if len(arguments) != 2 or arguments[0] not in COMMANDS:
        print(USAGE, file=sys.stderr)
        return USAGE_STATUS
    command, path = arguments
    status = 0
    try:
        lines = list(COMMANDS[command](path))
    except Partly as partly:
        lines, status = partly.lines, PARTLY_STATUS
    except FormatError as error:
        return failed(f"{path}: {error}")
    except (RemoteError, ForkError, SchemaError, OSError) as error:
        return failed(str(error))
    # Bytes, since values are UTF-8 whatever the terminal's encoding is.
    sys.stdout.flush()
    sys.stdout.buffer.write("".join(line + "\n" for line in lines).encode("utf-8"))
    sys.stdout.buffer.flush()
    return status


def failed(message: str) -> int:
    say(message)
    return 1


def say(message: str) -> None:
    print("magicreader: " + message.replace("\n", " "), file=sys.stderr)


def compact(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))
