# SPDX-License-Identifier: Apache-2.0
"""Single operators of real models: the list of them, and what `halyard bench operators` writes."""

from __future__ import annotations

import msgspec

from halyard.records.record import Document, Record


class Operand(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Of an operator. A constant without values is a weight: any will do."""

    type: str  # NNAPI's name: "TENSOR_FLOAT32"
    shape: tuple[int, ...] = ()
    role: str = "computed"  # or "constant", or "omitted"
    scale: float = 0.0
    zero_point: int = 0
    channel_dim: int | None = None  # the axis that has a scale of its own for each index
    values: tuple[float, ...] | None = None


class Operator(msgspec.Struct, frozen=True, kw_only=True):
    """One operation of NNAPI, with shapes that real models have."""

    operation: str
    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    uses: int  # how often models have it


class OperatorTime(Record, frozen=True, kw_only=True):
    operator: str  # in words, as the table has it
    uses: int
    median_ms: float | None  # None: it has no times, for `reason`
    peers_ms: dict[str, float]  # by the peers' names
    ratio: float | None  # of the time of the fastest peer
    reason: str


class Operators(Document, frozen=True, kw_only=True):
    """Those with the worst ratio first, and those without one last."""

    versions: dict[str, str]  # of peers, by name
    threads: int
    operators: list[OperatorTime]
