# SPDX-License-Identifier: Apache-2.0
"""JSON of typed records, of a version."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar

import msgspec

from halyard.errors import HalyardError

# Of all documents: it grows when a reader of the older ones would misread a newer one.
SCHEMA = 2
# By schema: the fields that it renamed. A document of an earlier one is read with the new names.
_RENAMED: Mapping[int, Mapping[str, str]] = {
    2: {
        "piece": "partition",
        "pieces": "partitions",
        "bytes_between_pieces": "bytes_between_partitions",
        "subject": "benchmark_model",
        "is_rough": "is_relaxed",
    },
}
# Of a device: their names are its own.
_PROPERTIES = "properties"

# JSON has no number for an infinite one.
Error = float | Literal["inf"]


def error(value: float) -> Error:
    return value if math.isfinite(value) else "inf"


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a document."""


class Document(Record, frozen=True, kw_only=True):
    schema: int = SCHEMA


D = TypeVar("D", bound=Document)


class _Head(msgspec.Struct):
    schema: int = 0


def encode(document: Document | Sequence[Document]) -> bytes:
    """As a person reads it, too."""
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def decode(data: bytes, kind: type[D]) -> list[D]:
    """The document, or the several ones of a list; those of an earlier schema as they would be
    written today. HalyardError where it is none of that kind, or of a schema that is not known."""
    try:
        head = msgspec.json.decode(data, type=_Head | list[_Head])
        schemas = [each.schema for each in (head if isinstance(head, list) else [head])]
        for schema in schemas:
            _check(schema)
        if any(schema < SCHEMA for schema in schemas):
            data = msgspec.json.encode(_updated(msgspec.json.decode(data)))
        found: D | list[D] = msgspec.json.decode(data, type=kind | list[kind])  # type: ignore[valid-type]
    except (msgspec.MsgspecError, RecursionError) as problem:
        raise HalyardError(f"this is no {kind.__name__}: {problem}") from problem
    return found if isinstance(found, list) else [found]


def _check(schema: int) -> None:
    if not 1 <= schema <= SCHEMA:
        of = f"schema {schema}" if schema else "no schema that it names"
        raise HalyardError(f"this file is of {of}, and this halyard reads schemas 1 to {SCHEMA}")


def _updated(content: Any) -> Any:
    """The document, or the list of them, in the form of today."""
    if isinstance(content, list):
        return [_updated(each) for each in content]
    names: dict[str, str] = {}
    for schema in range(content["schema"] + 1, SCHEMA + 1):
        names |= _RENAMED[schema]
    return {**_with_names(content, names), "schema": SCHEMA}


def _with_names(content: Any, names: Mapping[str, str]) -> Any:
    if isinstance(content, list):
        return [_with_names(each, names) for each in content]
    if isinstance(content, dict):
        return {
            names.get(key, key): value if key == _PROPERTIES else _with_names(value, names)
            for key, value in content.items()
        }
    return content
