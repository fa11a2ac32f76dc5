# SPDX-License-Identifier: Apache-2.0
"""Whether an engine does what it is asked for, before it is timed."""

from __future__ import annotations

from collections.abc import Sequence

from halyard import device_memory
from halyard.bench.results import OURS, EngineResult
from halyard.compare import Difference, allowed_steps, compare_all, disagreements
from halyard.engines.reference import Reference
from halyard.engines.served import Served
from halyard.engines.workload import Workload
from halyard.measurement import absent, in_driver, others, shares
from halyard.model import Array
from halyard.profile import ON_DEVICES
from halyard.proto import halyard_pb2 as pb
from halyard.results import stage_name, status_name

# How far an engine may be off, of the largest value, that need not compute in float32: rounding
# adds up over a network, and what is wrong altogether is still told from it.
MAX_ROUGH_ERROR = 0.1


def judge_placement(engine: EngineResult, prepared: pb.CaseResult, backends: Sequence[str]) -> None:
    """If none that was asked for ran anything, the times would be another backend's."""
    engine.is_elsewhere = any(row.backend in ON_DEVICES for row in prepared.placement)
    if engine.reason or not backends:
        return
    placement = in_driver(prepared.placement)
    ran = {share.backend: share.nodes for share in shares(placement)}
    missing = absent(placement, backends)
    if strange := others(placement, backends):
        engine.fail(strange)
        return
    total = len(placement)
    names = [name.partition(":")[0] for name in backends]
    engine.notes += missing + [
        f"{backend} ran {nodes} of {total} nodes"
        for backend, nodes in ran.items()
        if backend not in names
    ]


def take_prepared(engine: EngineResult, process: Served, work: Workload, word: Reference) -> None:
    """What the engine says of itself, and whether its outputs are right. That a peer refuses a
    model is no failure; that its outputs are wrong is one."""
    prepared = process.prepared()
    engine.version = engine.version or prepared.version_string
    engine.prepare_ms = prepared.prepare_ns / 1e6
    if prepared.failed_stage != pb.STAGE_NONE:
        stage = stage_name(prepared.failed_stage).lower()
        status = (
            "" if prepared.status == pb.ERROR_STATUS_NONE else f"{status_name(prepared.status)}: "
        )
        message = f"{stage}: {status}{prepared.message}"
        if engine.name == OURS:
            engine.fail(message)
        engine.reason = message
        return
    engine.first_ms = prepared.examples[0].timings[0].wall_ns / 1e6
    engine.peak_memory_bytes = prepared.memory.peak_rss_bytes
    engine.base_memory_bytes = prepared.memory.base_rss_bytes
    engine.device_memory = device_memory.of(prepared.memory)
    engine.differences, problems = compared(work, word, process.run())
    if engine.differences is None:
        engine.notes.append(f"its outputs are not compared: {word.reason}")
    if engine.is_rough and engine.differences is not None:
        problems = [
            f"is rough, and off by more than {MAX_ROUGH_ERROR:g} of the largest: "
            f"{difference.text()}"
            for difference in engine.differences
            if difference.max_steps is None
            and difference.max_abs_error > MAX_ROUGH_ERROR * max(1.0, difference.largest)
        ]
    if problems:
        engine.fail("; ".join(problems))


def compared(
    work: Workload, word: Reference, outputs: Sequence[Array]
) -> tuple[Sequence[Difference] | None, Sequence[str]]:
    """How far the outputs are from the reference's, where it has any, and what is wrong with it."""
    if word.outputs is None:
        return None, []
    model = work.model.model
    differences = compare_all(work.model, word.outputs, outputs)
    operations = len(model.main.operations)
    problems = disagreements(differences, operations, allowed_steps(model), word.name)
    return differences, problems
