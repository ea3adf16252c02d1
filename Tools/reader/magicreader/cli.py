"""The commands: segment FILE, state REMOTE, digest REMOTE."""
from __future__ import annotations

import json
import sys
import time
from typing import Any, Callable, Dict, Iterable, List

from .bundle import Bundle, is_bundle
from .cursor import FormatError
from .folder import Folder, RemoteError
from .journal import ForkError
from .merge import State, digest, fold
from .notation import objects_json, segment_json
from .pull import Pull
from .schema import SchemaError
from .segment import BODY_LIMIT, HEADER_SIZE, read_segment

USAGE_STATUS = 64
USAGE = "usage: magicreader segment FILE | state REMOTE | digest REMOTE"


def segment_lines(path: str) -> Iterable[str]:
    with open(path, "rb") as file:
        data = file.read(HEADER_SIZE + BODY_LIMIT + 1)
    return [json.dumps(segment_json(read_segment(data)), ensure_ascii=False, indent=2)]


def state_lines(path: str) -> Iterable[str]:
    return sorted(compact(each) for each in objects_json(pulled_state(path)))


def digest_lines(path: str) -> Iterable[str]:
    return [digest(pulled_state(path))]


def pulled_state(path: str) -> State:
    pull = Pull(Bundle(path) if is_bundle(path) else Folder(path), int(time.time() * 1000))
    for line in pull.held_back:
        say(line)
    return fold(pull.journal)


COMMANDS: Dict[str, Callable[[str], Iterable[str]]] = {
    "segment": segment_lines,
    "state": state_lines,
    "digest": digest_lines,
}


def main(arguments: List[str]) -> int:
    if len(arguments) != 2 or arguments[0] not in COMMANDS:
        print(USAGE, file=sys.stderr)
        return USAGE_STATUS
    command, path = arguments
    try:
        lines = list(COMMANDS[command](path))
    except FormatError as error:
        return failed(f"{path}: {error}")
    except (RemoteError, ForkError, SchemaError, OSError) as error:
        return failed(str(error))
    # Bytes, since values are UTF-8 whatever the terminal's encoding is.
    sys.stdout.flush()
    sys.stdout.buffer.write("".join(line + "\n" for line in lines).encode("utf-8"))
    sys.stdout.buffer.flush()
    return 0


def failed(message: str) -> int:
    say(message)
    return 1


def say(message: str) -> None:
    print("magicreader: " + message.replace("\n", " "), file=sys.stderr)


def compact(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))
