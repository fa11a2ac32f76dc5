# SPDX-License-Identifier: Apache-2.0
"""A result's measurement: agreement, times, placement, JSON."""

import dataclasses
import io
import json
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from rich.console import Console

from halyard import records
from halyard.benchmark_model import BenchmarkModel
from halyard.comparison.difference import Difference, allowed_steps
from halyard.comparison.reference import MOST_RUNS, Reference, Repetitions, reference
from halyard.engines import litert
from halyard.engines.placement import absent, refusals, shares, strangers
from halyard.measurement.measurement import Measurement
from halyard.measurement.measurement_text import (
    agreement,
    memory,
    placement,
    print_measurement,
    print_operations,
    times,
)
from halyard.model import DataType
from halyard.programs.case_status import failures
from halyard.proto import halyard_pb2 as pb
from halyard.terminal.console import Terminal
from tests.harness.agreement import disagreements

BENCHMARK_MODEL = BenchmarkModel("mobilenet_v2", DataType.QUANT8, 96, 0.35)


def result() -> pb.CaseResult:
    made = pb.CaseResult(
        name="case",
        prepare_ns=2_500_000,
        target="hidl:halyard-default",
        hal_version=pb.HAL_VERSION_1_2,
        version_string="halyard 0.1.0",
        memory=pb.Memory(constant_bytes=2**21, arena_bytes=2048),
    )
    execution = made.examples.add(name="seed_0")
    for wall, on_device in ((5_000_000, 4_000_000), (3_000_000, None), (4_000_000, 2_000_000)):
        in_driver = None if on_device is None else on_device + 500_000
        execution.timings.add(
            wall_ns=wall, time_on_device_ns=on_device, time_in_driver_ns=in_driver
        )
    for index, (node, backend) in enumerate(
        [("Conv2d", "CpuAcc"), ("Softmax", "CpuRef"), ("Conv2d", "CpuAcc"), ("Pad", "CpuRef")]
    ):
        row = made.placement.add(
            operation=index, label=f"operation {index}", node=node, backend=backend, partition=index
        )
        if backend == "CpuRef":
            row.refusals.add(backend="CpuAcc", reason="no such kernel")
    return made


def quantized(steps: int) -> Difference:
    return Difference("output", 1001, 0.1, 0.2, steps, 0.995)


def measured(differences: list[Difference] | None = None) -> Measurement:
    return Measurement(BENCHMARK_MODEL, "SERIAL7", {"ro.a": "1"}, result(), differences)


def written(measurement: Measurement) -> dict[str, Any]:
    """The file's contents."""
    content: dict[str, Any] = json.loads(records.encode(measurement.record()))
    return content


def test_times_are_in_milliseconds() -> None:
    wall = measured().wall
    assert wall is not None
    found = msgspec.to_builtins(wall.record())
    assert found.pop("median_interval") is None
    assert found == pytest.approx(
        {
            "count": 3,
            "first": 5.0,
            "min": 3.0,
            "avg": 4.0,
            "std": 1.0,
            "median": 4.0,
            "p90": 4.8,
            "p95": 4.9,
            "p99": 4.98,
            "max": 5.0,
        }
    )
    assert times(measured()).startswith("median 4.00 ms")
    emulated = dataclasses.replace(measured(), emulated=True)
    assert times(emulated).startswith("emulated: median 4.00 ms")
    assert emulated.record().device.emulated


def test_a_time_the_driver_does_not_know_is_left_out() -> None:
    on_device = measured().on_device
    assert on_device is not None
    assert on_device.values == [4.0, 2.0]
    in_driver = measured().in_driver
    assert in_driver is not None
    assert in_driver.values == [4.5, 2.5]
    assert "of which in the driver 3.50 ms, in its backends 3.00 ms" in times(measured())


@pytest.mark.skipif(not litert.available(), reason="LiteRT (ai-edge-litert) is not installed")
@pytest.mark.parametrize(("asked", "runs"), [(0, 1), (3, 3), (MOST_RUNS + 1, MOST_RUNS)])
def test_litert_runs_as_often_as_the_device_within_reason(asked: int, runs: int) -> None:
    small = BenchmarkModel("small_classifier", DataType.QUANT8, 16, 0.5)
    word = reference(small, Repetitions(counted=asked, warmup=2, threads=1))
    assert len(word.milliseconds) == runs
    assert min(word.milliseconds) > 0
    assert word.threads == 1


def test_litert_s_time_stands_beside_ours() -> None:
    reference = Reference(outputs=[], milliseconds=[3.0, 1.0, 2.0], threads=2)
    beside = Measurement(BENCHMARK_MODEL, "S", {}, result(), [], reference=reference)
    assert times(beside).endswith("; LiteRT on this machine 2.00 ms (2 threads)")
    assert written(beside)["peer_timings_ms"]["median"] == 2.0
    assert written(beside)["peer"] == "LiteRT"
    assert written(beside)["driver_timings_ms"]["median"] == 3.5
    assert written(beside)["device_timings_ms"]["median"] == 3.0


def test_a_time_is_of_the_engine_that_took_it() -> None:
    """Of an ONNX file it is not LiteRT."""
    word = Reference("ONNX Runtime", outputs=[], milliseconds=[2.0], threads=1)
    beside = Measurement(BENCHMARK_MODEL, "S", {}, result(), [], reference=word)
    assert times(beside).endswith("; ONNX Runtime on this machine 2.00 ms (1 thread)")
    assert written(beside)["peer"] == "ONNX Runtime"


def test_one_run_is_one_run() -> None:
    once = result()
    del once.examples[0].timings[1:]
    assert "; 1 run)" in times(Measurement(BENCHMARK_MODEL, "S", {}, once, None))
    assert "; 3 runs)" in times(measured())


def test_the_constants_are_the_models() -> None:
    """CpuRef uses them where they lie, so that the driver's own say nothing of their size."""
    mib = BENCHMARK_MODEL.runnable.constant_bytes / 2**20
    assert 1 < mib < 2
    assert memory(measured()) == (
        f"; constants {mib:.2f} MiB, 2.00 MiB more packed by backends, arena 2 KiB"
    )


def test_the_time_to_prepare_is_in_milliseconds() -> None:
    assert measured().record().prepare_ms == 2.5
    shown = io.StringIO()
    print_measurement(Terminal(Console(file=shown, width=1000)), measured())
    assert "prepared   in 2.5 ms; constants" in shown.getvalue()


def test_placement_counts_nodes_partitions_and_refusals() -> None:
    rows = result().placement
    assert [(share.backend, share.nodes, share.partitions) for share in shares(rows)] == [
        ("CpuAcc", 2, 2),
        ("CpuRef", 2, 2),
    ]
    assert shares(rows)[0].kinds == {"Conv2d": 2}
    assert refusals(rows) == [("CpuAcc", "no such kernel", 2)]
    assert placement(measured())[0] == "placement  CpuAcc: 2 nodes in 2 partitions (2 Conv2d)"
    alone = Measurement(BENCHMARK_MODEL, "S", {}, pb.CaseResult(placement=rows[:1]), None)
    assert placement(alone) == ["placement  CpuAcc: 1 node in 1 partition (1 Conv2d)"]
    assert placement(measured())[-1] == "refused    CpuAcc: 2 nodes: no such kernel"


def test_placement_tells_kernels_and_what_crosses_between_partitions() -> None:
    made = result()
    for row in made.placement:
        row.kernel = f"{row.node.lower()}_kernel"
    made.partitions = 4
    made.bytes_between_partitions = 3 * 1024
    lines = placement(Measurement(BENCHMARK_MODEL, "S", {}, made, None))
    assert lines[1] == "kernels    2 conv2d_kernel"
    assert lines[3] == "kernels    1 softmax_kernel, 1 pad_kernel"
    assert lines[4] == "partitions 4, with 3.0 KiB between them"


def test_placement_fits_80_columns() -> None:
    made = pb.CaseResult()
    for index in range(30):
        row = made.placement.add(node=f"SomeKindOfNode{index}", backend="CpuRef", kernel="k")
        row.refusals.add(backend="CpuAcc", reason="takes no such thing, " * 8)
    lines = placement(Measurement(BENCHMARK_MODEL, "S", {}, made, None))
    assert max(map(len, lines)) <= 76
    words = " ".join(line.strip() for line in lines)
    assert all(f"1 SomeKindOfNode{index}" in words for index in range(30))
    assert words.count("takes no such thing,") == 8


def test_the_placement_of_operations_is_a_table() -> None:
    made = result()
    made.placement[0].label = "operation 0 (CONV_2D)"
    made.placement[0].kernel = "tiled"
    made.vanished.add(operation=7, fate="fused into operation 0")
    shown = io.StringIO()
    print_operations(Terminal(Console(file=shown, width=80)), made)
    lines = [line.split() for line in shown.getvalue().splitlines()]
    assert lines[0] == ["operation", "node", "backend", "partition", "kernel"]
    assert lines[1] == ["0", "CONV_2D", "Conv2d", "CpuAcc", "0", "tiled"]
    assert lines[-1] == ["operation", "7:", "fused", "into", "operation", "0"]


def test_a_failed_stage_is_named_with_status_and_reason() -> None:
    failed = pb.CaseResult(
        failed_stage=pb.STAGE_PREPARE,
        status=pb.ERROR_STATUS_INVALID_ARGUMENT,
        message="operation 3 (CONV_2D): input 7 is missing",
    )
    assert failures(failed) == [
        "prepare: INVALID_ARGUMENT: operation 3 (CONV_2D): input 7 is missing"
    ]


def test_a_failed_execution_is_a_failure() -> None:
    failed = result()
    failed.examples[0].status = pb.ERROR_STATUS_GENERAL_FAILURE
    assert len(failures(failed)) == 1
    assert failures(result()) == []


def test_a_report_has_all_lines() -> None:
    reference = Reference(outputs=[], milliseconds=[2.0], threads=1)
    whole = Measurement(
        BENCHMARK_MODEL,
        "S",
        {},
        result(),
        [quantized(1)],
        reference,
        problems=["first", "second"],
        notes=["CpuAcc is away"],
    )
    shown = io.StringIO()
    print_measurement(Terminal(Console(file=shown, width=1000)), whole)
    lines = [line.strip() for line in shown.getvalue().splitlines()]
    assert lines[:4] == [
        "HAL        1.2 (hidl:halyard-default, halyard 0.1.0)",
        "PROBLEM    first",
        "PROBLEM    second",
        "note       CpuAcc is away",
    ]
    assert lines[4] == f"agreement  with LiteRT: {quantized(1).text()}"
    assert lines[5].startswith("time       median 4.00 ms (min 3.00, max 5.00, first 5.00; 3 runs)")
    assert lines[5].endswith("; LiteRT on this machine 2.00 ms (1 thread)")
    assert lines[6].startswith("prepared   in 2.5 ms; constants")
    assert [line.split()[0] for line in lines[7:]] == ["placement", "placement", "refused"]


@pytest.mark.parametrize(("steps", "problems"), [(0, 0), (1, 0), (2, 1)])
def test_quantized_results_may_differ_by_one_step(steps: int, problems: int) -> None:
    assert len(disagreements([quantized(steps)])) == problems


@pytest.mark.parametrize(
    ("error", "largest", "is_half", "problems"),
    [
        (9e-6, 0.5, False, 0),
        (2e-5, 0.5, False, 1),
        (float("inf"), 8.0, False, 1),
        (7.9e-5, 8.0, False, 0),
        (8.1e-5, 8.0, False, 1),
        (4.8e-3, 0.5, True, 0),
        (4.9e-3, 0.5, True, 1),
        (9.7e-3, 2.0, True, 0),
        (9.8e-3, 2.0, True, 1),
    ],
)
def test_float_results_may_differ_by_a_share_of_the_largest(
    error: float, largest: float, is_half: bool, problems: int
) -> None:
    difference = Difference("o", 10, error, 0.0, None, 0.5, 10, largest, is_half)
    assert len(disagreements([difference])) == problems


def test_the_tolerance_of_float16_is_told() -> None:
    difference = Difference("o", 10, 1e-3, 0.0, None, 0.5, 10, 2.0, is_half=True)
    half = Measurement(
        BENCHMARK_MODEL,
        "S",
        {},
        result(),
        [difference],
        reference=Reference("LiteRT in float32", []),
    )
    [line] = agreement(half)
    assert line.startswith("with LiteRT in float32: o: max error 0.001")
    # MobileNetV2 has 66 operations.
    assert line.endswith(f"; float16 may be off by {2 * 2**-9 * 66**0.5:.3g}")


@pytest.mark.parametrize(
    ("operations", "share"), [(1, 5 * 2**-10), (6, 5 * 2**-10), (16, 8 * 2**-10), (64, 2**-6)]
)
def test_float16_errors_grow_as_the_root_of_the_operations(operations: int, share: float) -> None:
    for error, problems in ((share * 0.99, 0), (share * 1.01, 1)):
        difference = Difference("o", 10, error, 0.0, None, 0.5, 10, 1.0, is_half=True)
        assert len(disagreements([difference], operations)) == problems
        # Not so in float32.
        single = Difference("o", 10, error, 0.0, None, 0.5, 10, 1.0)
        assert len(disagreements([single], operations)) == 1


def placed(*backends: str, refused: str = "") -> list[pb.Placement]:
    rows = [pb.Placement(node="Conv2d", backend=backend) for backend in backends]
    if refused:
        rows[0].refusals.add(backend=refused, reason="no such kernel")
    return rows


@pytest.mark.parametrize(
    ("rows", "asked", "strange", "missing"),
    [
        (placed("CpuRef"), [], 0, 0),
        (placed("CpuRef", "CpuRef"), ["CpuRef"], 0, 0),
        (placed("CpuRef"), ["CpuAcc"], 1, 1),
        (placed("CpuRef", refused="CpuAcc"), ["CpuAcc"], 1, 0),
        (placed("CpuAcc", "CpuRef"), ["CpuAcc"], 1, 0),
        (placed("CpuRef"), ["GpuAcc", "CpuAcc", "CpuRef"], 0, 2),
        (placed("CpuRef", refused="CpuAcc"), ["GpuAcc", "CpuAcc", "CpuRef"], 0, 1),
        (placed("CpuRef"), ["CpuRef", "CpuAcc"], 0, 0),
        ([], ["CpuAcc"], 0, 0),
        (placed("", "CpuAcc"), ["CpuAcc"], 0, 0),
        (placed("CpuAcc"), ["CpuAcc:features=avx2"], 0, 0),
        (placed("CpuRef"), ["CpuAcc:features=avx2"], 1, 1),
    ],
)
def test_backends_are_those_that_were_asked_for(
    rows: list[pb.Placement], asked: list[str], strange: int, missing: int
) -> None:
    assert len(strangers(rows, asked)) == strange
    assert len(absent(rows, asked)) == missing


def test_json_holds_what_a_report_needs() -> None:
    said = written(measured([replace(quantized(1), largest=2.5)]))
    assert said["model"] == {
        "name": "mobilenet_v2",
        "type": "quant8",
        "size": 96,
        "width": 0.35,
        "seed": 0,
    }
    assert said["device"] == {
        "serial": "SERIAL7",
        "emulated": False,
        "properties": {"ro.a": "1"},
    }
    assert (said["hal"], said["status"], said["ok"]) == ("1.2", "NONE", True)
    assert said["agreement"]["with"] == "LiteRT"
    assert said["agreement"]["outputs"][0]["max_steps"] == 1
    assert said["agreement"]["outputs"][0]["largest"] == 2.5
    assert said["timings_ms"]["first"] == 5.0
    assert said["placement"][1]["refusals"] == {"CpuAcc": "no such kernel"}


def test_json_of_a_failure_has_no_times() -> None:
    failed = pb.CaseResult(failed_stage=pb.STAGE_CRASH, message="signal 11")
    said = written(Measurement(BENCHMARK_MODEL, "S", {}, failed, None, problems=failures(failed)))
    assert (said["ok"], said["failed_stage"]) == (False, "CRASH")
    assert said["timings_ms"] is None
    assert said["agreement"] is None


def test_words_for_what_is_not_known() -> None:
    unknown = Measurement(BENCHMARK_MODEL, "S", {}, pb.CaseResult(), None)
    assert times(unknown) == "unknown"
    assert memory(unknown) == ""
    assert placement(unknown) == ["placement  unknown"]
    assert agreement(unknown) == ["-"]
    reason = Measurement(
        BENCHMARK_MODEL, "S", {}, pb.CaseResult(), None, Reference(reason="no LiteRT")
    )
    assert agreement(reason) == ["not compared: no LiteRT"]


def test_more_steps_are_allowed_only_where_floats_are_rounded_on_the_way() -> None:
    encoder = BenchmarkModel("transformer_encoder", DataType.QUANT8_SIGNED, 8, 0.25).runnable.model
    image = BenchmarkModel("small_classifier", DataType.QUANT8_SIGNED, 16, 0.5).runnable.model
    assert allowed_steps(image) == 1
    assert allowed_steps(encoder) == 11
    apart = quantized(11)
    assert not disagreements([apart], 1, allowed_steps(encoder))
    assert len(disagreements([apart], 1, allowed_steps(image))) == 1
    assert len(disagreements([quantized(12)], 1, allowed_steps(encoder))) == 1


def test_a_deep_network_may_add_up_more_float_errors() -> None:
    off = Difference("logits", 1001, 1.32e-4, 0.1, None, 0.0, 1001, 6.7)
    assert not disagreements([off], 79)
    assert len(disagreements([off], 4)) == 1
