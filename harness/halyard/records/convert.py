# SPDX-License-Identifier: Apache-2.0
"""The document of `halyard convert` about a model's file."""

from __future__ import annotations

from halyard.records.record import Document, Record


class Tensor(Record, frozen=True, kw_only=True):
    name: str
    type: str  # numpy's name: "float32"
    shape: list[int]
    scale: float  # 0: not quantised
    zero_point: int


class Part(Record, frozen=True, kw_only=True):
    """In order of execution."""

    runs_on: str  # "NNAPI" or "host"
    inputs: list[str]
    outputs: list[str]
    operations: list[str]  # NNAPI's names, or the file's operators
    file: str  # that it was written into; empty: none


class Unmapped(Record, frozen=True, kw_only=True):
    operator: str
    reason: str


class Convert(Document, frozen=True, kw_only=True):
    source: str
    format: str
    hal: str  # the lowest that carries all that NNAPI runs; empty: it runs nothing
    inputs: list[Tensor]
    outputs: list[Tensor]
    parts: list[Part]
    unmapped: list[Unmapped]
    notes: list[str]  # of operators that are computed in other numbers than the file says
