# SPDX-License-Identifier: Apache-2.0
"""Which operations of models the driver of this package does not prepare, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from halyard.programs.case_status import failures
from halyard.programs.validity import prepared
from halyard.proto import halyard_pb2 as pb

# Of a model as a whole, where no operation of it is to blame.
WHOLE = -1


def troubles(models: Sequence[pb.Model]) -> list[Mapping[int, str]]:
    """Of each model, the operations of its main subgraph that the driver does not prepare, by
    number, each with the reason; nothing of one that prepares. WHOLE stands for the model where
    none of its operations is to blame. All of it is asked at once, of one runner."""
    return [_troubles(answer) for answer in prepared(models)]


def _troubles(answer: pb.CaseResult) -> Mapping[int, str]:
    if answer.failed_stage == pb.STAGE_NONE:
        return {}
    found = {each.operation: f"NNAPI's {each.name}: {each.reason}" for each in answer.verdicts}
    return found or {WHOLE: "; ".join(failures(answer))}
