"""What the acknowledgements in a folder say (checkpoint.md, Acknowledgement)."""
from __future__ import annotations

from typing import Any, Dict

Ack = Dict[str, Any]  # as K-6 has it, without members that are not known


def plain(said: Ack, closed: Dict[bytes, int], names: Dict[str, Dict[str, Any]]) -> Ack:
    """What a file that counts says, and no more than that."""
    members: Ack = {"format": 1, "dataSet": said["dataSet"], "replica": said["replica"], "acknowledged": {}, "expired": {}}
    for id, acknowledged in said["acknowledged"].items():
        member = {"time": int(acknowledged["time"]), "frontier": dict(acknowledged["frontier"])}
        if acknowledged.get("digest") is not None:
            member["digest"] = acknowledged["digest"]
        members["acknowledged"][id] = member
    members["expired"] = {id: int(time) for id, time in said["expired"].items()}
    if closed:
        members["closed"] = {id.hex(): f"{last:016x}" for id, last in closed.items()}
    if said.get("accepted"):
        members["accepted"] = int(said["accepted"])
    if names:
        members["names"] = names
    return members


def together(files: Dict[str, Ack]) -> Ack:
    """What they say of each replica, the later of two (K-7); the lowest closings, the highest time that was accepted (K-6), the
    latest names, and of one time the highest (K-25)."""
    all: Ack = {"acknowledged": {}, "expired": {}}
    closed: Dict[str, str] = {}
    for file in files.values():
        for id, said in file["acknowledged"].items():
            known = all["acknowledged"].get(id)
            if known is None or said["time"] > known["time"] or (
                    said["time"] == known["time"] and "digest" in said and "digest" not in known):
                all["acknowledged"][id] = said
        for id, time in file["expired"].items():
            all["expired"][id] = max(time, all["expired"].get(id, time))
        for id, last in file.get("closed", {}).items():
            closed[id] = min(last, closed.get(id, last))
    if closed:
        all["closed"] = closed
    accepted = max((file.get("accepted", 0) for file in files.values()), default=0)
    if accepted:
        all["accepted"] = accepted
    names: Dict[str, Dict[str, Any]] = {}
    for file in files.values():
        for id, said in file.get("names", {}).items():
            names[id] = max(said, names.get(id, said), key=lambda each: (each["time"], each["name"].encode()))
    if names:
        all["names"] = names
    return all


def closings(files: Dict[str, Ack]) -> Dict[bytes, int]:
    return {bytes.fromhex(id): int(last, 16) for id, last in together(files).get("closed", {}).items()}


def put(files: Dict[str, Ack]) -> Dict[bytes, int]:
    """For each replica the last sequence that somebody who is not expired says to have put there himself (F-10)."""
    all = together(files)
    result: Dict[bytes, int] = {}
    for writer, file in files.items():
        own, known = file["acknowledged"].get(writer), all["acknowledged"].get(writer)
        if own is None or known is None or all["expired"].get(writer, -1) >= known["time"]:
            continue
        for id, end in own["frontier"].items():
            # Less is known of him since, as he has left an id (J-31).
            last = min(end[:16], known["frontier"].get(id, "0" * 16)[:16], all.get("closed", {}).get(id, "f" * 16))
            replica = bytes.fromhex(id)
            result[replica] = max(int(last, 16), result.get(replica, 0))
    return result
