"""Values, transactions and objects as JSON, as in Protocol/vectors. Large numbers are strings."""
from __future__ import annotations

import json as text_json
from typing import Any, Dict, Optional

from .journal import REMOVES, Birth, Entry, ObjectName, Operation, Transaction
from .merge import State, Write, alive, numbers
from .segment import Segment
from .values import RELATIONS, Identity, Kind, Target, Value

Json = Any
KIND_NAMES = {Kind.INTEGER: "integer", Kind.REAL: "real", Kind.TEXT: "text",
              Kind.BYTES: "bytes", Kind.CODED: "coded", Kind.REFERENCE: "reference",
              Kind.LIST: "list", Kind.SET: "set", Kind.DICTIONARY: "dictionary", Kind.ASSET: "asset"}
KINDS = {name: kind for kind, name in KIND_NAMES.items()}


def value_json(value: Value) -> Json:
    content = value.content
    if content is None:
        return None
    if value.kind in RELATIONS:
        result = {KIND_NAMES[value.kind]: relation_json(value)}
        if value.target is not None:
            result["target"] = {"type": value.target[0], "primaryKind": int(value.target[1])}
        return result
    if isinstance(content, int):
        content = str(content)
    elif isinstance(content, bytes):
        content = content.hex()
    return {KIND_NAMES[value.kind]: content}


def parse_value(json: Json) -> Value:
    if json is None:
        return Value(Kind.NULL, None)
    (name, content), = ((name, content) for name, content in json.items() if name != "target")
    kind = KINDS[name]
    if kind in RELATIONS:
        return parse_relation(kind, content, parse_target(json.get("target")))
    if kind == Kind.INTEGER:
        return Value(kind, int(content))
    return Value(kind, content if kind in (Kind.TEXT, Kind.ASSET) else bytes.fromhex(content))


def relation_json(value: Value) -> Json:
    content: Any = value.content
    if value.kind == Kind.REFERENCE:
        return identity_json(content)
    if value.kind == Kind.LIST:
        return [identity_json(each) for each in content]
    if value.kind == Kind.SET:
        return [{"object": identity_json(identity), "in": is_in} for identity, is_in in content]
    return [{"name": key.hex()} if identity is None
            else {"name": key.hex(), "object": identity_json(identity)} for key, identity in content]


def parse_relation(kind: Kind, json: Json, target: Optional[Target]) -> Value:
    content: Any
    if kind == Kind.REFERENCE:
        content = parse_identity(json)
    elif kind == Kind.LIST:
        content = tuple(parse_identity(each) for each in json)
    elif kind == Kind.SET:
        content = tuple((parse_identity(each["object"]), each["in"]) for each in json)
    else:
        content = tuple((bytes.fromhex(each["name"]),
                         parse_identity(each["object"]) if "object" in each else None)
                        for each in json)
    return Value(kind, content, target)


def parse_target(json: Json) -> Optional[Target]:
    return None if json is None else (json["type"], Kind(json["primaryKind"]))


def identity_json(identity: Identity) -> Json:
    if isinstance(identity, Value):
        return {"primary": value_json(identity)}
    return {"birth": {"stamp": str(identity.stamp), "tag": identity.tag.hex(),
                      "ordinal": identity.ordinal}}


def parse_identity(json: Json) -> Identity:
    if "primary" in json:
        return parse_value(json["primary"])
    birth = json["birth"]
    return Birth(int(birth["stamp"]), bytes.fromhex(birth["tag"]), int(birth["ordinal"]))


def parse_object_name(json: Json) -> ObjectName:
    return ObjectName(json["type"], Kind(json["primaryKind"]), parse_identity(json["object"]))


def object_name_json(name: ObjectName) -> Dict[str, Json]:
    return {"type": name.type, "primaryKind": int(name.primary_kind),
            "object": identity_json(name.identity)}


def entry_json(entry: Entry) -> Json:
    result = object_name_json(entry.object)
    result["operation"] = entry.operation.name.lower()
    if entry.base is not None:
        result["base"] = str(entry.base)
    if entry.number is not None:
        result["number"] = str(entry.number)
    if entry.operation not in REMOVES:
        result["fields"] = {name: value_json(value) for name, value in entry.fields.items()}
    return result


def parse_entry(json: Json) -> Entry:
    base, number = json.get("base"), json.get("number")
    return Entry(
        parse_object_name(json),
        Operation[json["operation"].upper()],
        {name: parse_value(value) for name, value in json.get("fields", {}).items()},
        None if base is None else int(base),
        None if number is None else int(number))


def transaction_json(transaction: Transaction) -> Json:
    return {"replica": transaction.replica.hex(), "sequence": str(transaction.sequence),
            "stamp": str(transaction.stamp), "tag": transaction.tag.hex(),
            "root": transaction.root.hex(),
            "entries": [entry_json(entry) for entry in transaction.entries]}


def parse_transaction(json: Json) -> Transaction:
    return Transaction(
        bytes.fromhex(json["replica"]), int(json["sequence"]), int(json["stamp"]),
        bytes.fromhex(json["tag"]), bytes.fromhex(json["root"]),
        tuple(parse_entry(entry) for entry in json["entries"]))


def segment_json(segment: Segment) -> Json:
    header = segment.header
    return {"name": segment.name, "dataSet": header.data_set.hex(),
            "writer": header.writer.hex(), "replica": header.replica.hex(),
            "first": str(header.first), "last": str(header.last),
            "previous": header.previous.encoding().hex(),
            "transactions": [transaction_json(each) for each in segment.transactions]}


def write_json(write: Write) -> Json:
    stamp, root = write.version
    return {"value": value_json(write.value), "stamp": str(stamp), "root": root.hex()}


def objects_json(state: State) -> Json:
    """The alive objects, in no particular order."""
    result = []
    known = numbers(state)
    for name, held in alive(state).items():
        fields = {field: write_json(write) for field, write in sorted(held.values().items())}
        content = {**object_name_json(name), "fields": fields}
        if name in known:
            content["number"] = str(known[name])
        elements = [{"field": place.name, **write_json(write)} for place, write in held.valid_elements()]
        if elements:
            content["elements"] = sorted(elements, key=lambda each: text_json.dumps(each, sort_keys=True))
            content["row"] = {field: value_json(value) for field, value in sorted(held.row().items())}
        result.append(content)
    return result
