# SPDX-License-Identifier: Apache-2.0
"""Whether an engine does what it is asked for, before it is timed."""

from __future__ import annotations

from collections.abc import Sequence

from halyard.bench.results import OURS, EngineResult
from halyard.comparison.difference import Difference, compare_all
from halyard.comparison.judging import Judgement, Rules, judge
from halyard.comparison.reference import Reference
from halyard.engines.parts import HOST
from halyard.engines.placement import absent, in_driver, others, refusals, shares
from halyard.engines.served import Served
from halyard.engines.workload import Workload
from halyard.model import Array
from halyard.profiling.node_times import ON_DEVICES
from halyard.programs.case_status import failures
from halyard.proto import halyard_pb2 as pb
from halyard.records import device_memory

# How far an engine may be off, of the largest value, that need not compute in float32: rounding
# adds up over a network, and what is wrong altogether is still told from it.
MAX_RELAXED_ERROR = 0.1


def judge_placement(engine: EngineResult, prepared: pb.CaseResult, backends: Sequence[str]) -> None:
    """If none that was asked for ran anything, the times would be another backend's."""
    engine.is_elsewhere = _is_on_device(prepared)
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


def tell_left(engine: EngineResult, prepared: pb.CaseResult) -> None:
    """Of ours in LiteRT, which fails where it takes nothing, and takes what the backends run that
    were asked for: what LiteRT ran itself is in the times, too."""
    engine.is_elsewhere = _is_on_device(prepared)
    rows = prepared.placement
    left = sum(row.backend == HOST for row in rows)
    if left and not engine.reason:
        engine.notes.append(f"LiteRT ran {left} of {len(rows)} operators itself")
    engine.notes += [
        f"{backend} did not take {count} of {len(rows)} operators: {reason}"
        for backend, reason, count in refusals(rows)
        if not engine.reason
    ]


def _is_on_device(prepared: pb.CaseResult) -> bool:
    ran = {name for row in prepared.placement for name in row.backend.split("+")}
    return not ran.isdisjoint(ON_DEVICES)


def take_prepared(engine: EngineResult, process: Served, work: Workload, word: Reference) -> None:
    """The engine's account of itself, and whether its outputs are right. That a peer refuses a
    model is no failure; that its outputs are wrong is one. Disputed outputs are timed all the same.
    """
    prepared = process.prepared()
    engine.version = engine.version or prepared.version_string
    engine.prepare_ms = prepared.prepare_ns / 1e6
    if prepared.failed_stage != pb.STAGE_NONE:
        [message] = failures(prepared)
        if engine.name == OURS:
            engine.fail(message)
        engine.reason = message
        return
    engine.first_ms = prepared.examples[0].timings[0].wall_ns / 1e6
    engine.peak_memory_bytes = prepared.memory.peak_rss_bytes
    engine.base_memory_bytes = prepared.memory.base_rss_bytes
    engine.device_memory = device_memory.of(prepared.memory)
    engine.differences, judgement = compared(work, word, process.run())
    if engine.differences is None:
        engine.not_compared = word.reason or "there is no reference"
        engine.notes.append(f"its outputs are not compared: {word.reason}")
    if engine.is_relaxed and engine.differences is not None:
        judgement = _relaxed(engine.differences)
    if judgement.is_disputed:
        engine.disputed = "; ".join(judgement.problems)
    elif judgement.problems:
        engine.fail("; ".join(judgement.problems))
    engine.notes += judgement.notes
    engine.silent = judgement.silent


def _relaxed(differences: Sequence[Difference]) -> Judgement:
    problems = [
        f"is relaxed, and off by more than {MAX_RELAXED_ERROR:g} of the largest: "
        f"{difference.text()}"
        for difference in differences
        if difference.max_steps is None
        and difference.max_abs_error > MAX_RELAXED_ERROR * max(1.0, difference.largest)
    ]
    return Judgement(problems, is_wrong=bool(problems))


def compared(
    work: Workload, word: Reference, outputs: Sequence[Array]
) -> tuple[Sequence[Difference] | None, Judgement]:
    """How far the outputs are from the reference's, where it has any, and what is said of it."""
    if word.outputs is None:
        return None, Judgement()
    differences = compare_all(work.model, word.outputs, outputs)
    return differences, judge(Rules.of(work.model), differences, word.name, word.spread)
