"""What a folder remote holds, as Protocol/vectors has it."""
from __future__ import annotations

import os
from typing import Any, Dict

from .acks import together
from .assets import contents_of, is_whole, named
from .folder import Folder, RemoteError
from .journal import ForkError
from .merge import digest, fold
from .pull import Pull


def found_in(path: str, now: int) -> Dict[str, Any]:
    """Refused, or: what was read, what was not and why, and what acknowledgements say."""
    try:
        folder = Folder(path)
        pull = Pull(folder, now)
    except RemoteError as error:
        return {"refused": error.code}
    except ForkError:
        return {"refused": "fork"}
    journal = pull.journal
    held = {replica.hex(): str(journal.next_sequence(replica) - 1) for replica in {*journal.held, *journal.floor}}
    state = fold(journal)
    unread, lacking = dict(pull.refused), 0
    contents = contents_of(os.path.join(path, "assets"))
    for name in named(state):
        digits = name[:64]
        if digits in contents and is_whole(contents[digits], digits):
            continue
        lacking += 1
        if digits in contents:
            unread[f"assets/{digits[:2]}/{digits}"] = "damaged"
    missing = [line.split() for line in pull.missing]
    said = folder.acknowledgements()
    return {
        "dataSet": folder.data_set.hex(), "held": held, "digest": digest(state), "unread": unread,
        "transactions": sorted(f"{each.replica.hex()} {each.sequence} {each.name.encoding().hex()}"
                               for run in journal.held.values() for each in run),
        "missing": sorted(f"{words[0]} {words[1]} {words[3]}" for words in missing),
        "waiting": sorted(replica.hex() for replica in pull.waiting), "missingAssets": lacking,
        "acknowledgements": said, "members": together(said)}
