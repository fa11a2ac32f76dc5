# SPDX-License-Identifier: Apache-2.0
"""A model on two sides, on one set of inputs or several."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from halyard.comparison.agreement_statistics import Limits, TopK, top_k, worst
from halyard.comparison.difference import Difference, compare_all
from halyard.comparison.judging import Judgement, Rules, judge
from halyard.comparison.layers import Layers, compare_layers
from halyard.comparison.part_layers import compare_parts
from halyard.comparison.side import Answer, Side
from halyard.engines.workload import Workload
from halyard.model import Array, RunnableModel
from halyard.model.partitioned import PartitionedModel
from halyard.records.run import NotCompared


@dataclass(frozen=True)
class Inputs:
    """For one execution; `name` says where they are from."""

    name: str
    arrays: Sequence[Array]


@dataclass(frozen=True)
class Compared:
    """The outputs for one set of inputs. No differences: one side gave none."""

    inputs: Inputs
    differences: Sequence[Difference] = ()
    tops: Sequence[TopK | None] = ()
    problems: Sequence[str] = ()
    notes: Sequence[str] = ()
    silent: Sequence[str] = ()  # why the reference says nothing of outputs


@dataclass(frozen=True)
class Ran:
    """A side, and where the operations ran as far as it tells."""

    name: str
    version: str
    backends: dict[str, int]
    host_share: float | None = None  # of its time, of a model that NNAPI runs parts of


@dataclass(frozen=True)
class Comparison:
    a: Ran
    b: Ran
    sets: Sequence[Compared]
    layers: Layers | None = None
    layers_of: str = ""  # the inputs that the layers were compared on
    notes: Sequence[str] = field(default=())

    @property
    def problems(self) -> list[str]:
        return [f"{each.inputs.name}: {text}" for each in self.sets for text in each.problems]

    @property
    def not_compared(self) -> list[NotCompared]:
        """Inputs on which a side gave nothing, which are problems as well; outputs of which the
        reference says nothing; and layers."""
        sets = [
            NotCompared(what=each.inputs.name, reason="; ".join(each.problems))
            for each in self.sets
            if each.problems and not each.differences
        ]
        sets += [
            NotCompared(what=each.inputs.name, reason=reason)
            for each in self.sets
            for reason in each.silent
        ]
        layers = self.layers.unknown if self.layers else ()
        return sets + [NotCompared(what=each.label, reason=each.reason) for each in layers]

    @property
    def ok(self) -> bool:
        return not self.problems


@dataclass(frozen=True)
class Settings:
    limits: Limits = field(default_factory=Limits)
    k: int = 5
    layers: bool = False
    isolate: bool = False  # each layer alone, too

    @property
    def wants_layers(self) -> bool:
        return self.layers or self.isolate


def compare_sides(
    runnable: RunnableModel,
    a: Side,
    b: Side,
    inputs: Sequence[Inputs],
    settings: Settings | None = None,
) -> Comparison:
    """`a` is the reference. Layers are compared on the inputs whose outputs are furthest apart."""
    settings = settings or Settings()
    answers_a, answers_b = (_run(side, runnable, inputs) for side in (a, b))
    sets = [
        _compared(runnable, a, b, each, *pair, settings)
        for each, pair in zip(inputs, zip(answers_a, answers_b, strict=True), strict=True)
    ]
    layers, chosen = None, ""
    is_strange = any(answer.strange for answer in (*answers_a, *answers_b))
    if settings.wants_layers and not is_strange:
        worst_set = max(sets, key=_how_far)
        chosen = worst_set.inputs.name
        compare = compare_parts if isinstance(runnable, PartitionedModel) else compare_layers
        layers = compare(
            runnable,
            worst_set.inputs.arrays,
            a,
            b,
            isolate=settings.isolate,
            max_error=settings.limits.max_error,
            max_steps=settings.limits.max_steps,
        )
    return Comparison(
        _ran(a, answers_a),
        _ran(b, answers_b),
        sets,
        layers,
        chosen,
        _fusions(sets, layers, settings),
    )


def _run(side: Side, runnable: RunnableModel, inputs: Sequence[Inputs]) -> list[Answer]:
    works = [Workload(runnable, each.arrays, f"{runnable.name}, {each.name}") for each in inputs]
    try:
        return [
            replace(answer, outputs=None, reason=answer.strange) if answer.strange else answer
            for answer in side.run(works)
        ]
    finally:
        for work in works:
            work.__exit__()


def _compared(
    runnable: RunnableModel,
    a: Side,
    b: Side,
    inputs: Inputs,
    expected: Answer,
    actual: Answer,
    settings: Settings,
) -> Compared:
    if expected.outputs is None or actual.outputs is None:
        problems = [
            f"{side.name} gave nothing: {answer.reason}"
            for side, answer in ((a, expected), (b, actual))
            if answer.outputs is None
        ]
        return Compared(inputs, problems=problems)
    differences = compare_all(runnable, expected.outputs, actual.outputs)
    tops = [
        top_k(info, *values, settings.k)
        for info, values in zip(
            runnable.outputs, zip(expected.outputs, actual.outputs, strict=True), strict=True
        )
    ]
    problems = [each.text() for each in differences if each.says_nothing]
    judgement = Judgement()
    if settings.limits.are_set:
        for each in zip(differences, tops, strict=True):
            problems += settings.limits.breaches(*each)
    elif not problems:
        spread = a.spread(runnable, inputs.arrays, expected.outputs)
        judgement = judge(Rules.of(runnable), differences, a.name, spread)
        problems += judgement.problems
    return Compared(inputs, differences, tops, problems, judgement.notes, judgement.silent)


def _how_far(compared: Compared) -> tuple[int, float]:
    furthest = worst(compared.differences)
    return len(compared.problems), furthest.max_abs_error if furthest else 0.0


def _ran(side: Side, answers: Sequence[Answer]) -> Ran:
    backends = Counter(
        backend or "nothing" for answer in answers[:1] for backend in answer.backends.values()
    )
    shares = [answer.host_share for answer in answers if answer.host_share is not None]
    share = statistics.fmean(shares) if shares else None
    return Ran(side.name, side.version, dict(backends.most_common()), share)


def _fusions(sets: Sequence[Compared], layers: Layers | None, settings: Settings) -> Sequence[str]:
    """The layers' result beside that of the whole model."""
    if layers is None:
        return []
    notes = ["every tensor was made an output for the layers: nothing is fused in them"]
    is_beyond = any(each.problems and each.differences for each in sets)
    if is_beyond and layers.first is None and len(layers.unknown) < len(layers.layers):
        more = "" if settings.isolate else ", or in errors that add up: --isolate tells"
        notes.append(
            "the whole model is beyond its limits and no layer is: what differs lies in what the "
            f"layers don't have, fused operations or passes (--no-optimize){more}"
        )
    return notes
