# SPDX-License-Identifier: Apache-2.0
"""What `halyard bench --count-instructions --json` writes."""

from __future__ import annotations

import msgspec

from halyard.records.bench import Skipped
from halyard.records.record import Document, Record
from halyard.records.run import Model


class Classes(Record, frozen=True, kw_only=True):
    """Instructions, by class. `vector` is what is none of the other classes of vectors."""

    multiply: int
    vector: int
    vector_load: int
    scalar_load: int
    store: int
    prefetch: int
    branch: int
    integer: int
    total: int


class Engine(Record, frozen=True, kw_only=True):
    """`inference` is of one; `start` of all that comes before: the process's start, reading the
    model, preparing it. `modelled_cycles`: of an inference, by LLVM's name of a core. `reason`: why
    there are none."""

    title: str
    version: str = ""
    inference: Classes | None = None
    start: int | None = None
    modelled_cycles: dict[str, int] = msgspec.field(default_factory=dict)
    reason: str = ""


class Result(Record, frozen=True, kw_only=True):
    """A model on a processor. `relaxed`: its float32 may be computed in half precision. `ratio` is
    ours over LiteRT's."""

    benchmark_model: Model
    relaxed: bool
    processor: str
    ours: Engine
    litert: Engine | None
    ratio: float | None


class InstructionCounts(Document, frozen=True, kw_only=True):
    """`version` is Halyard's, `emulator` what counted."""

    date: str
    version: str
    emulator: str
    backends: list[str]
    fast_math: bool
    ok: bool
    complete: bool
    results: list[Result]
    skipped: list[Skipped]


def encode(document: InstructionCounts) -> bytes:
    """A line for each field and each result, so that a difference between two files is short."""
    fields = msgspec.to_builtins(document)
    results = ",\n    ".join(_line(each) for each in fields.pop("results"))
    lines = [f"  {_line(name)}: {_line(value)}" for name, value in fields.items()]
    lines.append(f'  "results": [\n    {results}\n  ]' if results else '  "results": []')
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def _line(value: object) -> str:
    return msgspec.json.encode(value).decode()
