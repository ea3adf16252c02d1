"""Contents of assets in a folder remote (folder.md, F-12)."""
from __future__ import annotations

import hashlib
import os
import re
import stat
from typing import Dict, List, Set

from .merge import State, alive
from .values import Kind

DIGITS = re.compile("[0-9a-f]{64}")
PIECE_SIZE = 1 << 20


def faults(path: str, state: State) -> List[str]:
    """A line for each content that is damaged, and for each that rows name and that is missing."""
    contents = contents_of(os.path.join(path, "assets"))
    damaged = {digits for digits, file in contents.items() if not is_whole(file, digits)}
    lines = [f"damaged {digits}" for digits in sorted(damaged)]
    return lines + [f"missing {name}" for name in sorted(named(state)) if name[:64] not in contents]


def named(state: State) -> Set[str]:
    """The assets that rows name; what only history names is not kept (F-15)."""
    return {str(value.content) for held in alive(state).values() for value in held.row().values()
            if value.kind == Kind.ASSET}


def contents_of(assets: str) -> Dict[str, str]:
    """Paths by digits. Nothing is looked for behind a link."""
    contents: Dict[str, str] = {}
    for folder in names_in(assets):
        for digits in names_in(os.path.join(assets, folder)):
            if DIGITS.fullmatch(digits) and digits[:2] == folder:
                contents[digits] = os.path.join(assets, folder, digits)
    return contents


def names_in(folder: str) -> List[str]:
    try:
        return os.listdir(folder) if stat.S_ISDIR(os.lstat(folder).st_mode) else []
    except FileNotFoundError:
        return []


def is_whole(path: str, digits: str) -> bool:
    if not stat.S_ISREG(os.lstat(path).st_mode):
        return False
    content = hashlib.sha256()
    with open(path, "rb") as file:
        for piece in iter(lambda: file.read(PIECE_SIZE), b""):
            content.update(piece)
    return content.hexdigest() == digits
