# SPDX-License-Identifier: Apache-2.0
"""JSON of typed records, of a version."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, TypeVar

import msgspec

from halyard.errors import HalyardError

# Of all documents: it grows when a reader of the older ones would misread a newer one.
SCHEMA = 1

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
    """The document, or the several ones of a list. HalyardError where it is none of that kind, or
    of another version."""
    try:
        head = msgspec.json.decode(data, type=_Head | list[_Head])
        for each in head if isinstance(head, list) else [head]:
            _check(each.schema)
        found: D | list[D] = msgspec.json.decode(data, type=kind | list[kind])  # type: ignore[valid-type]
    except msgspec.MsgspecError as problem:
        raise HalyardError(f"this is no {kind.__name__}: {problem}") from problem
    return found if isinstance(found, list) else [found]


def _check(schema: int) -> None:
    if schema != SCHEMA:
        of = f"schema {schema}" if schema else "no schema that it names"
        raise HalyardError(f"this file is of {of}, and this halyard reads schema {SCHEMA}")
