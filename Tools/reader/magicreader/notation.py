"""Values, transactions and objects as JSON, as in Protocol/vectors. Large numbers are strings."""
from __future__ import annotations

from typing import Any, Dict, Union

from .journal import Birth, Entry, ObjectName, Operation, Transaction
from .merge import State, Write, alive
from .segment import Segment
from .values import Kind, Value

Json = Any
KIND_NAMES = {Kind.INTEGER: "integer", Kind.REAL: "real", Kind.TEXT: "text",
              Kind.BYTES: "bytes", Kind.CODED: "coded"}


def value_json(value: Value) -> Json:
    content = value.content
    if content is None:
        return None
    if isinstance(content, int):
        content = str(content)
    elif isinstance(content, bytes):
        content = content.hex()
    return {KIND_NAMES[value.kind]: content}


def parse_value(json: Json) -> Value:
    if json is None:
        return Value(Kind.NULL, None)
    (name, content), = json.items()
    kind = {name: kind for kind, name in KIND_NAMES.items()}[name]
    if kind == Kind.INTEGER:
        return Value(kind, int(content))
    return Value(kind, content if kind == Kind.TEXT else bytes.fromhex(content))


def identity_json(identity: Union[Value, Birth]) -> Json:
    if isinstance(identity, Value):
        return {"primary": value_json(identity)}
    return {"birth": {"stamp": str(identity.stamp), "tag": identity.tag.hex(),
                      "ordinal": identity.ordinal}}


def parse_object_name(json: Json) -> ObjectName:
    identity: Union[Value, Birth]
    if "primary" in json["object"]:
        identity = parse_value(json["object"]["primary"])
    else:
        birth = json["object"]["birth"]
        identity = Birth(int(birth["stamp"]), bytes.fromhex(birth["tag"]), int(birth["ordinal"]))
    return ObjectName(json["type"], Kind(json["primaryKind"]), identity)


def object_name_json(name: ObjectName) -> Dict[str, Json]:
    return {"type": name.type, "primaryKind": int(name.primary_kind),
            "object": identity_json(name.identity)}


def entry_json(entry: Entry) -> Json:
    result = object_name_json(entry.object)
    result["operation"] = entry.operation.name.lower()
    if entry.base is not None:
        result["base"] = str(entry.base)
    if entry.operation != Operation.REMOVE:
        result["fields"] = {name: value_json(value) for name, value in entry.fields.items()}
    return result


def parse_entry(json: Json) -> Entry:
    base = json.get("base")
    return Entry(
        parse_object_name(json),
        Operation[json["operation"].upper()],
        {name: parse_value(value) for name, value in json.get("fields", {}).items()},
        None if base is None else int(base))


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
    for name, writes in alive(state).items():
        fields = {field: write_json(write) for field, write in sorted(writes.items())}
        result.append({**object_name_json(name), "fields": fields})
    return result
