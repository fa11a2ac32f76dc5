# SPDX-License-Identifier: Apache-2.0
"""The documents of `halyard compare --json`."""

from __future__ import annotations

import msgspec

from halyard.records.record import Document, Error, Record
from halyard.records.run import Model, NotCompared


class Side(Record, frozen=True, kw_only=True):
    """`version` is what has answered: a driver, or a library. `host_share`: of its time, what this
    machine took, of a model that NNAPI runs parts of."""

    name: str
    version: str
    backends: dict[str, int]  # operations on each, as far as the side tells
    host_share: float | None = None


class Statistics(Record, frozen=True, kw_only=True):
    """Of a tensor, in real values. `snr_db` is null where it is infinite: `exact_share` tells which
    way."""

    name: str
    elements: int
    max_abs_error: Error
    mean_abs_error: Error
    rms_error: Error
    max_relative_error: Error
    max_steps: int | None
    cosine: float
    snr_db: float | None
    exact_share: float
    nan: int


class TopK(Record, frozen=True, kw_only=True):
    k: int
    first: float
    shared: float


class Output(Record, frozen=True, kw_only=True):
    statistics: Statistics
    top_k: TopK | None


class InputSet(Record, frozen=True, kw_only=True):
    """`inputs`: a seed, or files."""

    inputs: str
    problems: list[str]
    notes: list[str] = msgspec.field(default_factory=list)
    outputs: list[Output]


class Layer(Record, frozen=True, kw_only=True):
    """`chained`: in the whole models; `isolated`: alone, on the reference side's inputs."""

    operation: int
    label: str
    tensor: str
    verdict: str
    reason: str
    backend: str
    chained: Statistics | None
    isolated: Statistics | None


class Layers(Record, frozen=True, kw_only=True):
    inputs: str
    is_isolated: bool
    first_diverging: int | None
    notes: list[str]
    layers: list[Layer]


class Compare(Document, frozen=True, kw_only=True):
    model: Model
    a: Side
    b: Side
    ok: bool
    problems: list[str]
    not_compared: list[NotCompared] = msgspec.field(default_factory=list)
    input_sets: list[InputSet]
    layers: Layers | None
