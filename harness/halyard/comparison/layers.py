# SPDX-License-Identifier: Apache-2.0
"""Which layer diverges first.

Temporaries are had on any driver by making them outputs of the model. That keeps an operation from
being fused with the one behind it, so it is said where a side then computes other results.

A layer that is fed what the layers before it got wrong is wrong, too. Two passes tell them apart:

- in the first, each side runs the whole model. A layer is suspected where it is beyond its limit
  and none of what it reads is: the error is more than its inputs' errors explain.
- in the second (`isolate`), the side in question runs each layer alone, on the values that the
  reference side's layers gave. A layer diverges where that is beyond the limit of one operation.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from halyard.comparison.agreement_statistics import worst
from halyard.comparison.difference import MAX_STEPS, Difference, allowed_error, compare
from halyard.comparison.side import Answer, Side, Tensors, by_halves
from halyard.engines.workload import Workload
from halyard.model import Array, RunnableModel, byte_size, label, tensor_infos
from halyard.model.cut import cut
from halyard.model.exposure import exposed, temporaries
from halyard.proto import halyard_pb2 as pb


class Verdict(enum.StrEnum):
    AGREES = "agrees"
    DIVERGES = "diverges"
    INHERITS = "inherits"  # it is off because what it reads is
    UNKNOWN = "not compared"


@dataclass(frozen=True)
class Layer:
    """An operation of the main subgraph. Differences are those of its worst output."""

    operation: int
    label: str
    tensor: str  # the name of its first output
    chained: Difference | None  # of the two whole models
    isolated: (
        Difference | None
    )  # alone, on the reference side's inputs; None: not asked, or not had
    verdict: Verdict
    reason: str = ""  # why it was not compared
    backend: str = ""  # what ran it on the side in question


@dataclass(frozen=True)
class Layers:
    layers: Sequence[Layer]
    isolated: bool
    notes: Sequence[str] = ()

    @property
    def unknown(self) -> list[Layer]:
        """Those that were not compared."""
        return [each for each in self.layers if each.verdict is Verdict.UNKNOWN]

    @property
    def first(self) -> Layer | None:
        """The first that diverges, in order of execution."""
        return next((each for each in self.layers if each.verdict is Verdict.DIVERGES), None)


def compare_layers(
    runnable: RunnableModel,
    inputs: Sequence[Array],
    reference: Side,
    other: Side,
    *,
    isolate: bool = False,
    max_error: float | None = None,
    max_steps: int | None = None,
) -> Layers:
    """`max_error` and `max_steps`: of every layer, in place of what its type may be off by."""
    limit = _Limit(max_error, max_steps)
    expected = intermediates(reference, runnable, inputs)
    actual = intermediates(other, runnable, inputs)
    notes = [
        f"{side.name} would not give all tensors at once: {found.requests} models were made"
        for side, found in ((reference, expected), (other, actual))
        if found.requests > 1
    ]
    layers = _chained(runnable.model, expected, actual, limit)
    if isolate:
        layers = _isolated(runnable.model, layers, expected, other, limit)
    return Layers(layers, isolate, notes)


@dataclass(frozen=True)
class _Limit:
    max_error: float | None
    max_steps: int | None

    def exceeded(self, difference: Difference, operations: int) -> bool:
        """By a tensor behind so many operations."""
        if difference.max_steps is not None:
            steps = MAX_STEPS if self.max_steps is None else self.max_steps
            return difference.max_steps > steps
        allowed = self.max_error
        if allowed is None:
            allowed = allowed_error(difference, operations)
        return not difference.max_abs_error <= allowed


# ---- tensors ------------------------------------------------------------------------------------


def intermediates(side: Side, runnable: RunnableModel, inputs: Sequence[Array]) -> Tensors:
    """Of every operand that is computed and has a known shape. Where the side refuses the model
    with all of them as outputs, it is given models with fewer, by halves."""
    model = runnable.model
    values = dict(zip(model.main.input_indexes, inputs, strict=True))
    own = side.inside(runnable, inputs)
    if own is not None:
        return replace(own, values=values | dict(own.values))
    reasons: dict[int, str] = {}
    backends: dict[int, str] = {}
    wanted = []
    for index in temporaries(model):
        try:
            if byte_size(model.main.operands[index]):
                wanted.append(index)
            else:
                reasons[index] = "its shape is not known before the model runs"
        except KeyError:
            reasons[index] = "it has no elements"
    requests = 0

    def ask(batch: Sequence[Sequence[int]]) -> Sequence[Answer]:
        return _ask(side, [exposed(model, each) for each in batch], [inputs] * len(batch))

    for asked, answer in by_halves(wanted, ask):
        requests += 1
        if answer.outputs is None:
            reasons |= dict.fromkeys(asked, f"{side.name}: {answer.reason}")
            continue
        names = [*model.main.output_indexes, *asked]
        values |= dict(zip(names, answer.outputs, strict=True))
        backends |= answer.backends
    return Tensors(values, reasons, backends, requests)


def _ask(side: Side, models: Sequence[pb.Model], inputs: Sequence[Sequence[Array]]) -> list[Answer]:
    works = [Workload.of(*each) for each in zip(models, inputs, strict=True)]
    try:
        return side.run(works)
    finally:
        for work in works:
            work.__exit__()


# ---- the first pass -----------------------------------------------------------------------------


def _chained(model: pb.Model, expected: Tensors, actual: Tensors, limit: _Limit) -> list[Layer]:
    layers = []
    # Of the operands that are beyond their limit, or unknown.
    beyond: set[int] = set()
    for number, operation in enumerate(model.main.operations):
        differences, reason, is_beyond = [], "", False
        for index in operation.outputs:
            if index not in expected.values or index not in actual.values:
                reason = expected.reasons.get(index) or actual.reasons.get(index) or "not computed"
                # An operation that reads it may be off because of it.
                if any(each in beyond for each in operation.inputs):
                    beyond.add(index)
                continue
            difference = _difference(model, index, expected.values[index], actual.values[index])
            differences.append(difference)
            if limit.exceeded(difference, number + 1):
                beyond.add(index)
                is_beyond = True
        verdict = Verdict.AGREES if differences else Verdict.UNKNOWN
        if is_beyond:
            explained = any(index in beyond for index in operation.inputs)
            verdict = Verdict.INHERITS if explained else Verdict.DIVERGES
        layers.append(
            Layer(
                number,
                label(model, number),
                _name(model, operation.outputs[0]),
                worst(differences),
                None,
                verdict,
                reason,
                actual.backends.get(number, ""),
            )
        )
    return layers


def _difference(model: pb.Model, index: int, expected: Array, actual: Array) -> Difference:
    [info] = tensor_infos(model, [index])
    return compare(replace(info, name=_name(model, index)), expected, actual)


def _name(model: pb.Model, index: int) -> str:
    return model.main.operands[index].name or f"operand {index}"


# ---- the second pass ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Single:
    """An operation as a model of its own. `inputs` and `outputs` are operands of the whole."""

    model: pb.Model
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    @classmethod
    def of(cls, model: pb.Model, number: int) -> Self:
        outputs = tuple(model.main.operations[number].outputs)
        submodel = cut(model, [number], outputs)
        names = {own: index for index, own in submodel.operands.items()}
        inputs = tuple(names[index] for index in submodel.model.main.input_indexes)
        return cls(submodel.model, inputs, outputs)


def _isolated(
    model: pb.Model, layers: Sequence[Layer], expected: Tensors, side: Side, limit: _Limit
) -> list[Layer]:
    singles = [_Single.of(model, layer.operation) for layer in layers]
    known = [
        alone
        for alone in singles
        if all(index in expected.values for index in (*alone.inputs, *alone.outputs))
    ]
    inputs = [[expected.values[index] for index in alone.inputs] for alone in known]
    asked = _ask(side, [alone.model for alone in known], inputs)
    answers = {alone.outputs: answer for alone, answer in zip(known, asked, strict=True)}
    made = []
    for layer, alone in zip(layers, singles, strict=True):
        answer = answers.get(alone.outputs)
        if answer is None or answer.outputs is None:
            why = answer.reason if answer else "not all of its inputs and outputs are known"
            # The first pass's reason stands, for want of a better one.
            made.append(replace(layer, reason=layer.reason or f"not isolated: {why}"))
            continue
        differences = [
            _difference(model, index, expected.values[index], found)
            for index, found in zip(alone.outputs, answer.outputs, strict=True)
        ]
        if any(limit.exceeded(each, 1) for each in differences):
            verdict = Verdict.DIVERGES
        elif layer.verdict in (Verdict.DIVERGES, Verdict.INHERITS):
            verdict = Verdict.INHERITS
        else:
            verdict = Verdict.AGREES
        made.append(replace(layer, isolated=worst(differences), verdict=verdict))
    return made
