# SPDX-License-Identifier: Apache-2.0
"""The document of `halyard bench --standing`: enough to compare with, and little."""

from __future__ import annotations

import msgspec

from halyard.records.record import Document, Record


class Peer(Record, frozen=True, kw_only=True):
    title: str
    version: str


class Row(Record, frozen=True, kw_only=True):
    """A model with so many threads. `engines`: of ours and of the peers that are as exact, the
    median of each round, in milliseconds. `core_paces`: those of the benchmark."""

    model: str
    type: str
    size: int
    width: float
    threads: int
    core_paces: list[float] = msgspec.field(default_factory=list)
    engines: dict[str, list[float]]


class Standing(Document, frozen=True, kw_only=True):
    """`version` is that of Halyard; `cpus` are those that engines had, and with `same_core`, of
    one thread, the same of them in a round; `peers` go by name."""

    date: str
    version: str
    cpu: str
    features: list[str]
    architecture: str
    cpus: list[int]
    same_core: bool = False
    backends: list[str]
    fast_math: bool
    peers: dict[str, Peer]
    rows: list[Row]


def encode(standing: Standing) -> bytes:
    """A line for each field and each row, so that a difference between two files is short."""
    fields = msgspec.to_builtins(standing)
    rows = ",\n    ".join(_line(row) for row in fields.pop("rows"))
    lines = [f"  {_line(name)}: {_line(value)}" for name, value in fields.items()]
    return ("{\n" + ",\n".join([*lines, f'  "rows": [\n    {rows}\n  ]']) + "\n}\n").encode()


def _line(value: object) -> str:
    return msgspec.json.encode(value).decode()
