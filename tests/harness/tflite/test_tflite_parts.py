# SPDX-License-Identifier: Apache-2.0
"""Operators that NNAPI has no equivalent for are told one by one, and left to the host or
refused."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("ai_edge_litert.interpreter")

from halyard.benchmark_model import FileModel
from halyard.cli.program import cli
from halyard.comparison.reference import Repetitions, reference
from halyard.devices import open_device
from halyard.engines import parts
from halyard.engines.halyard import HalyardDevice
from halyard.engines.workload import Workload
from halyard.errors import HalyardError
from halyard.measurement.measurement import measure
from halyard.model import Conversion, HostPart, NnapiPart
from halyard.model.partitioned import PartitionedModel
from halyard.profiling.node_times import short_name
from halyard.programs.driver_options import DriverOptions
from halyard.proto import halyard_pb2 as pb
from halyard.records import decode
from halyard.records.bench import Bench
from halyard.records.profile import Profile
from halyard.records.run import Run
from halyard.runner.execution import Target
from halyard.timing import machine
from halyard.timing.machine import Peak
from halyard.transport import hal_version
from tests.harness.tflite_file import GraphFile
from tests.harness.tflite_models import convert, weights


def mixed() -> tuple[GraphFile, list[int]]:
    """Two branches with a COS each, of float16 weights that both sides read."""
    graph = GraphFile()
    source = graph.input((2, 8))
    half, wide = graph.constant(weights(2, 8), "float16"), graph.tensor((2, 8))
    graph.add("DEQUANTIZE", [half], [wide], "DequantizeOptions")
    cosines = []
    for kind in ("TANH", "LOGISTIC"):
        before, cosine, after = (graph.tensor((2, 8)) for _ in range(3))
        graph.add(kind, [source], [before])
        graph.add("COS", [before], [cosine])
        graph.add("ADD_N", [cosine, wide], [after])
        cosines.append(after)
    total, scaled = graph.tensor((2, 8)), graph.tensor((2, 8))
    graph.add("ADD", cosines, [total], "AddOptions")
    graph.add("MUL", [total, wide], [scaled], "MulOptions")
    return graph, [scaled, cosines[0]]


def model_of(graph: GraphFile, outputs: list[int], folder: Path, **more: Any) -> FileModel:
    path = folder / "model.tflite"
    path.write_bytes(graph.content(*outputs))
    return FileModel(path, seed=2, **more)


def kinds(found: Conversion) -> list[str]:
    return ["NNAPI" if isinstance(part, NnapiPart) else "host" for part in found.parts]


def test_operators_are_grouped_so_that_the_parts_are_few(tmp_path: Path) -> None:
    found = convert(*mixed(), tmp_path)
    assert kinds(found) == ["NNAPI", "host", "NNAPI"]
    [host] = [part for part in found.parts if isinstance(part, HostPart)]
    assert host.operators == ("2 COS 't4'", "3 ADD_N 't5'", "5 COS 't7'", "6 ADD_N 't8'")
    assert [each.text() for each in found.unmapped] == [
        f"{operator}: NNAPI has no such operation" for operator in host.operators
    ]
    assert hal_version.lowest_version(found.model) >= pb.HAL_VERSION_1_0


def test_the_parts_in_order_are_the_model(tmp_path: Path) -> None:
    """On the host driver and in LiteRT, against the whole file in LiteRT."""
    benchmark_model = model_of(*mixed(), tmp_path)
    with open_device("host") as device:
        engine = HalyardDevice(device, Target.in_process(), pb.RunOptions(measure_timing=True))
        measurement = measure(engine, benchmark_model, count=3)
    assert measurement.problems == []
    assert [each.name for each in measurement.differences or []] == ["t10", "t5"]
    assert all(each.nonzero for each in measurement.differences or [])
    assert measurement.wall is not None
    assert len(measurement.wall.values) == 3
    assert measurement.host is not None
    assert len(measurement.host.values) == 3
    assert measurement.host.median < measurement.wall.median


def test_a_shape_is_a_constant_of_what_the_host_runs(tmp_path: Path) -> None:
    """It is that of a value which the host's part is not given."""
    graph = GraphFile()
    source, shape = graph.input((2, 8)), graph.tensor((2,), "int32")
    between, wide, last = (graph.tensor((2, 8)) for _ in range(3))
    graph.add("TANH", [source], [between])
    graph.add("SHAPE", [source], [shape], "ShapeOptions", outType=2)
    rows = graph.constant([[1], [0]], "int32")
    graph.add("SCATTER_ND", [rows, between, shape], [wide], "ScatterNdOptions")
    graph.add("ADD", [between, wide], [last], "AddOptions")
    benchmark_model = model_of(graph, [last], tmp_path)
    with open_device("host") as device:
        engine = HalyardDevice(device, Target.in_process(), pb.RunOptions())
        measurement = measure(engine, benchmark_model)
    assert kinds(benchmark_model.conversion) == ["NNAPI", "host", "NNAPI"]
    assert measurement.problems == []
    assert all(each.nonzero for each in measurement.differences or [])


def test_what_the_host_runs_has_a_place(tmp_path: Path) -> None:
    """Also where a backend is asked for, which has no say in that."""
    benchmark_model = model_of(*mixed(), tmp_path)
    with open_device("host") as device:
        driver = DriverOptions(["CpuRef"])
        engine = HalyardDevice(device, Target.in_process(), pb.RunOptions(), driver)
        measurement = measure(engine, benchmark_model)
    assert measurement.problems == []
    rows = [
        (row.label.partition(":")[0], row.node, row.backend, row.partition)
        for row in measurement.result.placement
    ]
    kinds_of_host = ("COS", "ADD_N", "COS", "ADD_N")
    assert [row for row in rows if row[2] == "host"] == [
        ("part 2", kind, "host", 1) for kind in kinds_of_host
    ]
    assert {(row[0], row[3]) for row in rows if row[2] == "CpuRef"} == {
        ("part 1", 0),
        ("part 3", 2),
    }
    # Four tensors of 2x8 floats cross: two to the host, and two from it.
    assert (measurement.result.partitions, measurement.result.bytes_between_partitions) == (
        3,
        4 * 64,
    )


def test_the_host_may_come_first(tmp_path: Path) -> None:
    graph = GraphFile()
    source, cosine, after = graph.input((2, 8)), graph.tensor((2, 8)), graph.tensor((2, 8))
    graph.add("COS", [source], [cosine])
    graph.add("TANH", [cosine], [after])
    benchmark_model = model_of(graph, [after], tmp_path)
    with open_device("host") as device:
        engine = HalyardDevice(device, Target.in_process(), pb.RunOptions())
        measurement = measure(engine, benchmark_model)
    assert measurement.problems == []
    assert [row.backend for row in measurement.result.placement] == ["host", "CpuAcc"]
    assert [row.partition for row in measurement.result.placement] == [0, 1]


def test_every_part_is_profiled(tmp_path: Path) -> None:
    """More often, in all, than one driver writes traces."""
    benchmark_model, path = model_of(*mixed(), tmp_path), tmp_path / "profile.json"
    trace = tmp_path / "trace"
    words = ["profile", str(benchmark_model.path), "--runs", "60", "--trace", str(trace)]
    done = CliRunner().invoke(cli, [*words, "--json", str(path)])
    assert done.exit_code == 0, done.output
    [document] = decode(path.read_bytes(), Profile)
    assert document.executions == 60
    assert [short_name(each.label) for each in document.nodes] == [
        "part 1: 0 TANH",
        "part 1: 1 LOGISTIC",
        "part 2: 2 COS 't4'",
        "part 3: 0 ADD",
        "part 3: 1 MUL",
    ]
    assert [each.partition for each in document.nodes] == [0, 0, 1, 2, 2]
    assert all(each.median_ms > 0 for each in document.nodes)
    assert "placement: host: 4 nodes in 1 partition" in done.output
    assert "2 COS 't4': NNAPI has no such operation" in done.output
    content = trace.read_bytes()
    assert content.count(b"[NN_LD_PE]execute") == content.count(b"[NN_LA_PE]execute") == 120
    assert b", part 3" in content


def test_a_bench_goes_on_behind_a_model_that_it_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "measure_peak", lambda threads: Peak(threads, "", 0, "", 0, 0, 0))
    benchmark_model, path = model_of(*mixed(), tmp_path), tmp_path / "bench.json"
    words = [
        "bench",
        "--models",
        f"{benchmark_model.path},small_classifier",
        "--size",
        "16",
        "--width",
    ]
    words += ["0.35", "--types", "float32", "--threads", "1", "--peers", "litert", "--runs", "3"]
    words += ["--sustained", "0.2"]
    done = CliRunner().invoke(cli, [*words, "--json", str(path)])
    assert done.exit_code == 1, done.output
    [document] = decode(path.read_bytes(), Bench)
    assert [each.model for each in document.results] == ["small_classifier"]
    [skipped] = document.skipped
    assert skipped.model == "model.tflite"
    assert "runs in 3 parts, 1 of them on the host" in skipped.reason
    assert document.complete
    assert not document.ok


def test_the_host_s_share_of_a_run_is_told(tmp_path: Path) -> None:
    benchmark_model, path = model_of(*mixed(), tmp_path), tmp_path / "run.json"
    done = CliRunner().invoke(cli, ["run", str(benchmark_model.path), "--json", str(path)])
    assert done.exit_code == 0, done.output
    assert re.search(r", on the host 0\.\d+ ms", done.output)
    assert "placement  host: 4 nodes in 1 partition (2 COS, 2 ADD_N)" in done.output
    [document] = decode(path.read_bytes(), Run)
    assert document.host_timings_ms is not None
    assert document.host_timings_ms.count == 10
    assert [each.backend for each in document.placement].count("host") == 4


def test_the_whole_takes_as_long_as_its_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    benchmark_model = model_of(*mixed(), tmp_path)
    run_part, hour = parts.run_part, 3_600_000_000_000

    def slow(part: HostPart, inputs: Any, count: int, *more: int) -> Any:
        return run_part(part, inputs, count, *more)[0], [hour] * count

    monkeypatch.setattr(parts, "run_part", slow)
    with open_device("host") as device:
        engine = HalyardDevice(device, Target.in_process(), pb.RunOptions())
        with Workload.seeded(benchmark_model.runnable, 0) as work, engine.prepare(work) as prepared:
            assert [each // hour for each in prepared.time(3)] == [1, 1, 1]


def test_a_part_that_fails_is_named(tmp_path: Path) -> None:
    benchmark_model = model_of(*mixed(), tmp_path)
    model = benchmark_model.runnable
    assert isinstance(model, PartitionedModel)
    last = model.parts[-1]
    assert isinstance(last, NnapiPart)
    spoilt = pb.Model()
    spoilt.CopyFrom(last.model)
    spoilt.main.operations[0].type = pb.OPERATION_TYPE_OEM_OPERATION
    spoilt_parts = (*model.parts[:-1], NnapiPart(spoilt, last.inputs, last.outputs))
    broken = PartitionedModel(model.name, model.model, model.inputs, model.outputs, spoilt_parts)
    with open_device("host") as device:
        engine = HalyardDevice(device, Target.in_process(), pb.RunOptions())
        with Workload.seeded(broken, 0) as work, engine.prepare(work) as prepared:
            assert prepared.report(1).message.startswith("part 3: ")


def test_strict_refuses_with_a_line_for_each_operator(tmp_path: Path) -> None:
    benchmark_model = model_of(*mixed(), tmp_path, strict=True)
    with pytest.raises(HalyardError) as refusal:
        _ = benchmark_model.runnable
    first, *lines = str(refusal.value).splitlines()
    assert first.endswith("model.tflite: 4 operators have no mapping to NNAPI")
    assert lines[0] == "  2 COS 't4': NNAPI has no such operation"
    assert len(lines) == 4


def test_who_wants_one_model_is_told_of_the_parts(tmp_path: Path) -> None:
    benchmark_model = model_of(*mixed(), tmp_path)
    with pytest.raises(HalyardError, match="runs in 3 parts, 1 of them on the host"):
        _ = Workload.seeded(benchmark_model.runnable, 0).case


def test_a_model_that_nnapi_runs_nothing_of_runs_on_the_host(tmp_path: Path) -> None:
    graph = GraphFile()
    source, output = graph.input((2, 8)), graph.tensor((2, 8))
    graph.add("COS", [source], [output])
    benchmark_model = model_of(graph, [output], tmp_path)
    assert kinds(benchmark_model.conversion) == ["host"]
    with open_device("host") as device:
        engine = HalyardDevice(device, Target.in_process(), pb.RunOptions())
        measurement = measure(engine, benchmark_model, count=3)
    assert measurement.problems == []
    assert [row.backend for row in measurement.result.placement] == ["host"]
    assert measurement.wall is not None
    assert measurement.host is not None
    assert measurement.wall.median == measurement.host.median > 0


def test_the_reference_is_the_file_itself(tmp_path: Path) -> None:
    """Not what Halyard would write of it: a file of other weights gives other numbers."""
    benchmark_model = model_of(*mixed(), tmp_path)
    before = reference(benchmark_model, Repetitions()).outputs
    assert before is not None
    other = model_of(*mixed(), tmp_path)
    fresh = FileModel(other.path, seed=2, strict=False)
    assert fresh.runnable is benchmark_model.runnable, "the conversion is known"
    reference.cache_clear()
    after = reference(fresh, Repetitions()).outputs
    assert after is not None
    assert not np.array_equal(before[0], after[0])


def test_states_that_operators_share_are_not_torn_apart(tmp_path: Path) -> None:
    graph = GraphFile()
    state = graph.tensor((2, 5), variable=True)
    constants = [graph.constant(weights(*shape)) for shape in ((5, 4), (5, 5), (5,))]
    value = graph.input((2, 4))
    outputs = []
    for _ in range(2):
        outputs.append(graph.tensor((2, 5)))
        graph.add("RNN", [value, *constants, state], outputs[-1:], "RNNOptions")
    last = graph.tensor((2, 5))
    graph.add("COS", outputs[-1:], [last])
    assert kinds(convert(graph, [*outputs, last], tmp_path)) == ["host"]


def test_what_can_not_be_handed_over_is_not_torn_apart(tmp_path: Path) -> None:
    """A tensor whose shape only a run tells is both sides' of a part of NNAPI's."""
    graph = GraphFile()
    source, unknown = graph.input((2, 8)), graph.tensor((-1, 8))
    cosine, between, last = (graph.tensor((2, 8)) for _ in range(3))
    graph.add("COS", [source], [unknown])
    graph.add("COS", [source], [cosine])
    graph.add("TANH", [cosine], [between])
    graph.add("ADD_N", [between, unknown], [last])
    found = convert(graph, [last], tmp_path)
    assert kinds(found) == ["host"]
    assert len(found.unmapped) == 3


# ---- reasons ------------------------------------------------------------------------------------


def _layer(data: str, filters: str, **options: Any) -> tuple[GraphFile, list[int]]:
    graph = GraphFile()
    scale = (0.5,) if data != "float32" else ()
    source, output = graph.input((2, 4), data, *scale), graph.tensor((2, 3), data, *scale)
    constant = graph.constant(np.ones((3, 4)), filters, 0.1)
    graph.add(
        "FULLY_CONNECTED", [source, constant, -1], [output], "FullyConnectedOptions", **options
    )
    return graph, [output]


def test_types_that_an_operation_has_not_are_named(tmp_path: Path) -> None:
    [unmapped] = convert(*_layer("int16", "int8"), tmp_path).unmapped
    assert "NNAPI has no FULLY_CONNECTED of QUANT16_SYMM, QUANT8_ASYMM_SIGNED" in unmapped.reason


def test_what_the_driver_finds_invalid_is_the_hosts(tmp_path: Path) -> None:
    """Its reason is the driver's; the operators around it stay on NNAPI."""
    graph = GraphFile()
    source = graph.input((1, 8), "int8", 0.1, 3)
    before, odd, after = (graph.tensor((1, 8), "int8", 0.1, 3) for _ in range(3))
    graph.add("RELU", [source], [before])
    graph.add("LOGISTIC", [before], [odd])
    graph.add("RELU6", [odd], [after])
    # The output that is an input, too, is a copy that NNAPI makes.
    found = convert(graph, [after, source], tmp_path)
    assert kinds(found) == ["NNAPI", "host", "NNAPI"]
    [unmapped] = found.unmapped
    assert unmapped.text().startswith("1 LOGISTIC 't2': NNAPI's LOGISTIC: the output (output 0, ")
    assert unmapped.text().endswith("must have scale 1/256 and zero point -128")
    assert hal_version.lowest_version(found.model) == pb.HAL_VERSION_1_3


def test_an_activation_without_a_code_is_named(tmp_path: Path) -> None:
    [unmapped] = convert(
        *_layer("float32", "float32", fusedActivationFunction=4), tmp_path
    ).unmapped
    assert unmapped.reason == "its fused activation is TANH, for which NNAPI has no code"


def test_custom_operators_go_by_their_names(tmp_path: Path) -> None:
    graph = GraphFile()
    source, output = graph.input((2, 4)), graph.tensor((2, 4))
    graph.add("FlexErf", [source], [output])
    [unmapped] = convert(graph, [output], tmp_path).unmapped
    assert unmapped.text() == (
        "0 FlexErf 't1': TensorFlow's Erf, which takes TensorFlow's Flex delegate"
    )


def test_numbers_of_64_bits_stay_on_the_host(tmp_path: Path) -> None:
    graph = GraphFile()
    source, place = graph.input((2, 4)), graph.tensor((2,), "int64")
    graph.add("ARG_MAX", [source, graph.constant(1, "int32")], [place], "ArgMaxOptions")
    [unmapped] = convert(graph, [place], tmp_path).unmapped
    assert unmapped.reason == "its result is INT64, and NNAPI's is INT32"


def test_a_shape_that_only_a_run_tells_is_refused(tmp_path: Path) -> None:
    graph = GraphFile()
    source, output = graph.input((-1, 4)), graph.tensor((-1, 4))
    graph.add("TANH", [source], [output])
    with pytest.raises(HalyardError, match=r"'t0' is of shape \[-1, 4\]: .* convert it with fixed"):
        convert(graph, [output], tmp_path)


def test_a_state_that_is_no_variable_is_refused(tmp_path: Path) -> None:
    """It would be overwritten for those who read it as what it is."""
    graph = GraphFile()
    constants = [graph.constant(weights(*shape)) for shape in ((4, 4), (4, 4), (4,))]
    source, output, last = graph.input((2, 4)), graph.tensor((2, 4)), graph.tensor((2, 4))
    graph.add("RNN", [source, *constants, source], [output], "RNNOptions")
    graph.add("ADD", [source, output], [last], "AddOptions")
    [unmapped] = convert(graph, [last], tmp_path).unmapped
    assert unmapped.reason == "its state 't3' is no variable"
