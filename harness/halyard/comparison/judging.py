# SPDX-License-Identifier: Apache-2.0
"""Whether results agree with a reference's. How far an output may be off follows from how it was
computed, and from how far the reference is from itself."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from halyard.comparison.difference import (
    MAX_SHARE,
    Difference,
    allowed_error,
    allowed_steps,
    wrong_steps,
)
from halyard.comparison.spread import Spread, Widest
from halyard.model import RunnableModel, TensorInfo
from halyard.model.partitioned import PartitionedModel
from halyard.proto import halyard_pb2 as pb

# The spread is of a few executions: the next one may be as many times further away. (Trained models
# are up to three times the greatest of a few away.)
SPREADS = 4

# Operations that move values and compute none.
_DATA_MOVEMENT = frozenset(
    {
        pb.OPERATION_TYPE_BATCH_TO_SPACE_ND,
        pb.OPERATION_TYPE_CHANNEL_SHUFFLE,
        pb.OPERATION_TYPE_CONCATENATION,
        pb.OPERATION_TYPE_DEPTH_TO_SPACE,
        pb.OPERATION_TYPE_DEQUANTIZE,
        pb.OPERATION_TYPE_EXPAND_DIMS,
        pb.OPERATION_TYPE_GATHER,
        pb.OPERATION_TYPE_PACK,
        pb.OPERATION_TYPE_PAD,
        pb.OPERATION_TYPE_PAD_V2,
        pb.OPERATION_TYPE_RESHAPE,
        pb.OPERATION_TYPE_REVERSE,
        pb.OPERATION_TYPE_SLICE,
        pb.OPERATION_TYPE_SPACE_TO_BATCH_ND,
        pb.OPERATION_TYPE_SPACE_TO_DEPTH,
        pb.OPERATION_TYPE_SPLIT,
        pb.OPERATION_TYPE_SQUEEZE,
        pb.OPERATION_TYPE_STRIDED_SLICE,
        pb.OPERATION_TYPE_TILE,
        pb.OPERATION_TYPE_TRANSPOSE,
    }
)


@dataclass(frozen=True)
class Steps:
    """That a float output may be off by: it was computed from 8-bit values, of which the last ones
    are `size` apart, in real values. Where they were moved and nothing else it may be as many steps
    off as they, `count`; else one step of the whole range stands for what became of a step."""

    count: int
    size: float
    is_moved: bool

    def limit(self, difference: Difference) -> float:
        most = MAX_SHARE * difference.largest
        if self.is_moved:
            return max(self.size, min(self.count * self.size, most))
        return min(max(self.size, difference.largest / 255), most)


@dataclass(frozen=True)
class Rules:
    """Of a model's outputs."""

    operations: int
    steps: int  # of an 8-bit output
    outputs: Sequence[TensorInfo]
    # Of a float output, by output; None where all behind the model's inputs is float.
    behind: Sequence[Steps | None]

    @classmethod
    def of(cls, runnable: RunnableModel) -> Rules:
        model = runnable.model
        steps = allowed_steps(model)
        behind: list[Steps | None] = [None] * len(runnable.outputs)
        # Of parts no one graph tells what an output is computed from.
        if not isinstance(runnable, PartitionedModel):
            behind = [_last_steps(model, index, steps) for index in model.main.output_indexes]
        return cls(len(model.main.operations), steps, runnable.outputs, behind)


@dataclass(frozen=True)
class Judgement:
    """`problems`: why the results do not agree; `notes`: what decided that they do, where a float
    network's own limit did not. `is_wrong`: they are off by more than any rounding explains; else
    whatever disagrees is disputed, and no more."""

    problems: Sequence[str] = ()
    notes: Sequence[str] = field(default=())
    is_wrong: bool = False
    silent: Sequence[str] = ()  # of each output of which the reference says nothing, why

    @property
    def is_disputed(self) -> bool:
        return bool(self.problems) and not self.is_wrong


def judge(
    rules: Rules, differences: Sequence[Difference], reference: str, spread: Spread | None = None
) -> Judgement:
    """One difference per output. `spread`: the reference's, which is asked for no more than is
    needed."""
    problems: list[str] = []
    notes: list[str] = []
    silent: list[str] = []
    is_wrong = False
    for number, difference in enumerate(differences):
        verdict = _verdict(rules, number, difference, reference, spread)
        problems += verdict.problems
        notes += verdict.notes
        silent += verdict.silent
        is_wrong |= verdict.is_wrong
    return Judgement(problems, notes, is_wrong, silent)


def _verdict(
    rules: Rules, number: int, difference: Difference, reference: str, spread: Spread | None
) -> Judgement:
    if difference.max_steps is not None:
        if difference.max_steps <= rules.steps:
            return Judgement()
        disagreement = _disagreement(difference, reference, _counted(rules.steps))
        is_wrong = difference.max_steps > wrong_steps(rules.outputs[number].dtype)
        return replace(disagreement, is_wrong=is_wrong)
    if np.issubdtype(rules.outputs[number].dtype, np.floating):
        return _float_verdict(rules, number, difference, reference, spread)
    return _integer_verdict(number, difference, reference, spread)


def _float_verdict(
    rules: Rules, number: int, difference: Difference, reference: str, spread: Spread | None
) -> Judgement:
    error, name = difference.max_abs_error, difference.name
    allowed = allowed_error(difference, rules.operations)
    if error <= allowed:
        return Judgement()
    steps = rules.behind[number]
    why = ""
    if steps is not None and steps.limit(difference) > allowed:
        allowed = steps.limit(difference)
        why = ", what a step of the 8-bit values comes to that it is computed from"
        if error <= allowed:
            return Judgement(notes=[f"{name} is off by {error:.3g}: within {allowed:.3g}{why}"])
    most = MAX_SHARE * max(1.0, difference.largest)
    for widest in _widening(spread, number):
        itself = f"{reference} {widest.how} is {widest.error:.3g} from itself"
        # A NaN or infinity on one side alone is wrong, unless the reference has one, too.
        if widest.error > most and (math.isfinite(error) or not math.isfinite(widest.error)):
            text = f"{name} is off by {error:.3g}, which says nothing: {itself}"
            return Judgement(notes=[text], silent=[text])
        ample = min(SPREADS * widest.error, most)
        if ample > allowed:
            allowed, why = ample, f": {itself}"
        if error <= allowed:
            return Judgement(notes=[f"{name} is off by {error:.3g}: within {allowed:.3g}{why}"])
    return _disagreement(difference, reference, f"{allowed:.3g}{why}")


def _integer_verdict(
    number: int, difference: Difference, reference: str, spread: Spread | None
) -> Judgement:
    """Indexes, counts and truth values are the same ones, but for as many as the reference itself
    has no word for, as where two classes are alike."""
    off = 1.0 - difference.exact_share
    if not off:
        return Judgement()
    allowed, why = 0.0, ""
    for widest in _widening(spread, number):
        allowed = min(SPREADS * widest.share, MAX_SHARE)
        why = f": {reference} {widest.how} has {widest.share:.2%} of others itself"
        if off <= allowed:
            text = f"{difference.name} has {off:.2%} of others: within {allowed:.2%}{why}"
            return Judgement(notes=[text])
    limit = f"{allowed:.2%} of its elements{why}"
    return replace(_disagreement(difference, reference, limit), is_wrong=off > MAX_SHARE)


def _widening(spread: Spread | None, number: int) -> Iterator[Widest]:
    """The judgement of an output as known so far, and as refined for as long as that is asked
    for."""
    while spread is not None:
        yield spread.widest[number]
        if not spread.widen():
            return


def _disagreement(difference: Difference, reference: str, limit: str) -> Judgement:
    text = f"disagrees with {reference} by more than {limit}: {difference.text()}"
    is_wrong = difference.max_abs_error > MAX_SHARE * max(1.0, difference.largest)
    return Judgement([text], is_wrong=is_wrong)


def _counted(steps: int) -> str:
    return "1 step" if steps == 1 else f"{steps} steps"


# ---- how outputs are computed -------------------------------------------------------------------


def _last_steps(model: pb.Model, output: int, count: int) -> Steps | None:
    """Of the 8-bit values that are computed last before an output."""
    main = model.main
    makers = {index: operation for operation in main.operations for index in operation.outputs}
    size, is_moved = 0.0, True
    seen = {output}
    waiting = [output]
    while waiting:
        maker = makers.get(waiting.pop())
        if maker is None:
            continue
        is_moved &= maker.type in _DATA_MOVEMENT
        for index in maker.inputs:
            if index in seen or index not in makers:
                continue
            seen.add(index)
            # Data movement is exact: a row of a table has no step of its own.
            if main.operands[index].scale and makers[index].type not in _DATA_MOVEMENT:
                size = max(size, main.operands[index].scale)
            else:
                waiting.append(index)
    return Steps(count, size, is_moved) if size else None
