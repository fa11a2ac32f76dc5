# SPDX-License-Identifier: Apache-2.0
"""Which operations of models the driver of this package does not prepare, and why."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from halyard.model.cut import cut
from halyard.model.operands import operation_name
from halyard.proto import halyard_pb2 as pb
from halyard.results import failures
from halyard.validity import prepared

# Of a model as a whole, where no operation of it is to blame.
WHOLE = -1

# How the driver says which operation is the trouble. A status may stand before it; the line of its
# code, and a list of others, behind.
_OPERATION = re.compile(
    r"^(?:[A-Z_]+: )?operation (?P<number>\d+) \((?P<name>\w+)\): (?P<reason>.*?)"
    r"(?: \([\w/]+\.(?:cc|h):\d+\).*)?$",
    re.DOTALL,
)


def troubles(models: Sequence[pb.Model]) -> list[Mapping[int, str]]:
    """Of each model, the operations of its main subgraph that the driver does not prepare, by
    number, each with the reason; nothing of one that prepares. WHOLE stands for the model where
    none of its operations is to blame."""
    answers = prepared(models)
    found = [_named(model, answer) for model, answer in zip(models, answers, strict=True)]
    # The driver names one operation. Of others it says at most that they are not supported; why is
    # said when they are asked alone.
    suspects = [
        (place, number)
        for place, (model, answer) in enumerate(zip(models, answers, strict=True))
        for number in _suspects(model, answer)
        if number not in found[place]
    ]
    pieces = [
        cut(models[place], [number], list(models[place].main.operations[number].outputs)).model
        for place, number in suspects
    ]
    for (place, number), answer in zip(suspects, prepared(pieces), strict=True):
        operation = models[place].main.operations[number]
        if answer.failed_stage != pb.STAGE_NONE:
            found[place][number] = _named(models[place], answer).get(0) or _said(answer)
        elif answers[place].supported_operations:
            name = operation_name(operation.type)
            found[place][number] = f"NNAPI's {name}: it contradicts what is before it"
    for place, answer in enumerate(answers):
        if answer.failed_stage != pb.STAGE_NONE and not found[place]:
            found[place][WHOLE] = _said(answer)
    return list(found)


def _named(model: pb.Model, answer: pb.CaseResult) -> dict[int, str]:
    found = _OPERATION.match(answer.message)
    if answer.failed_stage == pb.STAGE_NONE or found is None:
        return {}
    number = int(found["number"])
    return {number: f"NNAPI's {found['name']}: {found['reason']}"} if _has(model, number) else {}


def _has(model: pb.Model, number: int) -> bool:
    return number < len(model.main.operations)


def _suspects(model: pb.Model, answer: pb.CaseResult) -> Sequence[int]:
    if answer.failed_stage == pb.STAGE_NONE:
        return []
    if not answer.supported_operations:
        # The model is not valid, and the driver looks no further than the first reason.
        return range(len(model.main.operations))
    refused = [number for number, good in enumerate(answer.supported_operations) if not good]
    # None is supported, too, where none is to blame.
    return [] if len(refused) == len(model.main.operations) > 1 else refused


def _said(answer: pb.CaseResult) -> str:
    return "; ".join(failures(answer))
