# SPDX-License-Identifier: Apache-2.0
"""The native halyard-runner with the driver in its own process: results, failures, crashes."""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from halyard.programs import native, protobuf_stream
from halyard.proto import halyard_pb2 as pb
from tests.waiting import awaited

FLOATS = pb.OPERAND_TYPE_TENSOR_FLOAT32
# Long enough for a test to step in.
ENDLESS = 100_000_000


def add_model(shape: Sequence[int] = (1, 4)) -> pb.Model:
    """output = input + constant, without activation; the constant is 1, 2, 3, ..."""
    constant = np.arange(1, np.prod(shape) + 1, dtype=np.float32)
    model = pb.Model(operand_values=b"\0\0\0\0", pools=[constant.tobytes()])
    model.main.operands.extend(
        [
            pb.Operand(type=FLOATS, dimensions=shape, lifetime=pb.OPERAND_LIFE_TIME_SUBGRAPH_INPUT),
            pb.Operand(
                type=FLOATS,
                dimensions=shape,
                lifetime=pb.OPERAND_LIFE_TIME_CONSTANT_REFERENCE,
                location=pb.DataLocation(length=constant.nbytes),
            ),
            pb.Operand(
                type=pb.OPERAND_TYPE_INT32,
                lifetime=pb.OPERAND_LIFE_TIME_CONSTANT_COPY,
                location=pb.DataLocation(length=4),
            ),
            pb.Operand(
                type=FLOATS, dimensions=shape, lifetime=pb.OPERAND_LIFE_TIME_SUBGRAPH_OUTPUT
            ),
        ]
    )
    model.main.operations.add(type=pb.OPERATION_TYPE_ADD, inputs=[0, 1, 2], outputs=[3])
    model.main.input_indexes.append(0)
    model.main.output_indexes.append(3)
    return model


def add_case(
    name: str = "add", shape: Sequence[int] = (1, 4), *, offered: int | None = None
) -> pb.TestCase:
    """The model with one example, whose input is all 10."""
    values = np.full(shape, 10, np.float32)
    case = pb.TestCase(name=name, model=add_model(shape))
    case.examples.add(
        name="tens",
        inputs=[pb.InputValue(data=values.tobytes())],
        outputs=[pb.OutputBuffer(byte_size=values.nbytes if offered is None else offered)],
    )
    return case


def invalid_case() -> pb.TestCase:
    """A model with an operand that is not there; it ends at once, whatever the options."""
    case = add_case("invalid")
    case.model.main.operations[0].inputs[1] = 77
    return case


@dataclass
class Files:
    folder: Path

    def command(
        self, cases: Sequence[pb.TestCase], options: pb.RunOptions, *more: str
    ) -> list[str | Path]:
        (self.folder / "bundle").write_bytes(protobuf_stream.write(cases))
        (self.folder / "options").write_bytes(options.SerializeToString())
        return [
            native.program("halyard-runner"),
            *("--target", "in-process"),
            *("--bundle", self.folder / "bundle"),
            *("--options", self.folder / "options"),
            *("--results", self.folder / "results"),
            *(() if "-c" in more else ("-c", "CpuRef")),
            *more,
        ]

    def run(
        self, cases: Sequence[pb.TestCase], options: pb.RunOptions | None = None, *more: str
    ) -> list[pb.CaseResult]:
        ended = run(self.command(cases, options or pb.RunOptions(timeout_s=60), *more))
        assert ended.returncode == 0, ended.stderr
        return self.results()

    def results(self) -> list[pb.CaseResult]:
        results = protobuf_stream.read((self.folder / "results").read_bytes(), pb.CaseResult)
        return sorted(results, key=lambda result: result.index)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def run(command: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def floats(output: pb.OutputResult) -> list[float]:
    return [float(value) for value in np.frombuffer(output.data, np.float32)]


# ---- what a case gives --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "mode"),
    [
        (pb.HAL_VERSION_1_2, pb.EXECUTION_MODE_ASYNC),
        (pb.HAL_VERSION_1_2, pb.EXECUTION_MODE_SYNC),
        (pb.HAL_VERSION_1_2, pb.EXECUTION_MODE_BURST),
        (pb.HAL_VERSION_AIDL_4, pb.EXECUTION_MODE_REUSABLE),
    ],
)
def test_a_case_gives_outputs_shapes_and_timings(
    files: Files, version: pb.HalVersion, mode: pb.ExecutionMode
) -> None:
    options = pb.RunOptions(hal_version=version, mode=mode, measure_timing=True, warmup=1, repeat=3)
    (result,) = files.run([add_case()], options)
    assert result.name == "add"
    assert result.failed_stage == pb.STAGE_NONE, result.message
    assert result.message == ""
    assert list(result.supported_operations) == [True]
    assert result.prepare_ns > 0
    assert result.target == "in-process"
    assert result.hal_version == version
    assert result.version_string.startswith("halyard ")
    (example,) = result.examples
    assert (example.name, example.status) == ("tens", pb.ERROR_STATUS_NONE)
    (output,) = example.outputs
    assert floats(output) == [11, 12, 13, 14]
    assert list(output.dimensions) == [1, 4]
    assert output.is_sufficient
    assert len(example.timings) == 3
    assert all(timing.wall_ns > 0 for timing in example.timings)
    assert all(timing.HasField("time_in_driver_ns") for timing in example.timings)


def test_timing_is_unknown_unless_asked_for(files: Files) -> None:
    (result,) = files.run([add_case()])
    (timing,) = result.examples[0].timings
    assert not timing.HasField("time_on_device_ns")
    assert not timing.HasField("time_in_driver_ns")


def test_placement_and_memory_are_reported(files: Files) -> None:
    (result,) = files.run([add_case()])
    assert [(row.operation, row.label, row.backend) for row in result.placement] == [
        (0, "operation 0 (ADD)", "CpuRef")
    ]
    assert list(result.placement[0].operations) == [0]
    assert not result.vanished
    assert result.memory.peak_rss_bytes > 1_000_000


def sum_and_relu_case() -> pb.TestCase:
    """RELU of what the other model gives, which the optimiser's passes fuse."""
    case = add_case("relu")
    main = case.model.main
    main.operands.append(main.operands[3])
    main.operands[3].lifetime = pb.OPERAND_LIFE_TIME_TEMPORARY_VARIABLE
    main.operations.add(type=pb.OPERATION_TYPE_RELU, inputs=[3], outputs=[4])
    main.output_indexes[0] = 4
    return case


def test_the_passes_run_unless_told_not_to(files: Files) -> None:
    (result,) = files.run([sum_and_relu_case()])
    assert [list(row.operations) for row in result.placement] == [[0, 1]]
    (result,) = files.run([sum_and_relu_case()], None, "--no-optimize")
    assert [list(row.operations) for row in result.placement] == [[0], [1]]


def convolution_case() -> pb.TestCase:
    """A filter of 3x3 over so many pixels and channels that transforms pay."""
    case = pb.TestCase(name="convolution", model=pb.Model())
    model = case.model
    weights = np.full((64, 3, 3, 64), 0.01, np.float32)
    bias = np.zeros(64, np.float32)
    model.pools.append(weights.tobytes() + bias.tobytes())
    model.operand_values = np.array([1, 1, 1, 0], np.int32).tobytes()
    feature_map = (1, 28, 28, 64)
    constant = pb.OPERAND_LIFE_TIME_CONSTANT_REFERENCE
    add = model.main.operands.add
    add(type=FLOATS, dimensions=feature_map, lifetime=pb.OPERAND_LIFE_TIME_SUBGRAPH_INPUT)
    add(
        type=FLOATS,
        dimensions=weights.shape,
        lifetime=constant,
        location=pb.DataLocation(length=weights.nbytes),
    )
    add(
        type=FLOATS,
        dimensions=bias.shape,
        lifetime=constant,
        location=pb.DataLocation(offset=weights.nbytes, length=bias.nbytes),
    )
    for scalar in range(4):  # padding, both strides, activation
        add(
            type=pb.OPERAND_TYPE_INT32,
            lifetime=pb.OPERAND_LIFE_TIME_CONSTANT_COPY,
            location=pb.DataLocation(offset=4 * scalar, length=4),
        )
    add(type=FLOATS, dimensions=feature_map, lifetime=pb.OPERAND_LIFE_TIME_SUBGRAPH_OUTPUT)
    model.main.operations.add(
        type=pb.OPERATION_TYPE_CONV_2D, inputs=[0, 1, 2, 3, 4, 5, 6], outputs=[7]
    )
    model.main.input_indexes.append(0)
    model.main.output_indexes.append(7)
    values = np.zeros(feature_map, np.float32)
    case.examples.add(
        inputs=[pb.InputValue(data=values.tobytes())],
        outputs=[pb.OutputBuffer(byte_size=values.nbytes)],
    )
    return case


@pytest.mark.parametrize("option", ["-a", "--enable-fast-math"])
def test_rough_kernels_run_where_fast_math_is_asked_for(files: Files, option: str) -> None:
    def kernel(*more: str) -> str:
        (result,) = files.run([convolution_case()], None, "-c", "CpuAcc", *more)
        (row,) = result.placement
        return row.kernel

    assert kernel().startswith("acc::winograd_float 2x2")
    assert kernel(option).startswith("acc::winograd_float 4x4")


def test_graphs_are_dumped_where_asked_for(files: Files, tmp_path: Path) -> None:
    graphs = tmp_path / "graphs"
    graphs.mkdir()
    cases = [add_case("one"), sum_and_relu_case()]
    files.run(cases, None, "--dump-graph", str(graphs), "--jobs", "2")
    passes = [file.read_text() for file in sorted(graphs.glob("model-*-passes.txt"))]
    assert sorted("fuse-activations" in text for text in passes) == [False, True]
    assert len(list(graphs.iterdir())) == 10


def test_traces_are_written_where_asked_for(files: Files, tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    traces.mkdir()
    (result,) = files.run([sum_and_relu_case()], None, "--trace", str(traces), "-c", "CpuRef")
    assert result.failed_stage == pb.STAGE_NONE, result.message
    written = sorted(traces.iterdir())
    assert written[0].name == "execution-001.json"
    for file in written:
        trace = json.loads(file.read_text())
        assert trace["otherData"]["left_out"] == 0
        assert trace["otherData"]["begin_ns"] > 0
        events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        assert {event["cat"] for event in events} == {"driver", "partition", "node"}
        (execute,) = (event for event in events if event["name"] == "[NN_LD_PE]execute")
        assert min(event["ts"] for event in events) == execute["ts"] == 0
        nodes = [event for event in events if event["cat"] == "node"]
        (partition,) = (event for event in events if event["cat"] == "partition")
        for node in nodes:
            assert node["ts"] + node["dur"] <= partition["ts"] + partition["dur"] + 0.001
            assert node["args"]["bytes"] > 0
            assert node["args"]["kernel"].startswith("ref::")
        # The second is fused into the first.
        assert [node["name"] for node in nodes] == ["[NN_LC_PCO]operation 0 (ADD)"]
        tracks = [event["args"] for event in trace["traceEvents"] if event["ph"] == "M"]
        assert tracks == [{"name": "driver"}, {"name": "CpuRef"}]


def test_the_newest_version_is_used_unless_one_is_asked_for(files: Files) -> None:
    (result,) = files.run([add_case()])
    assert result.hal_version == pb.HAL_VERSION_AIDL_4


def test_the_shape_of_an_unspecified_output_is_the_real_one(files: Files) -> None:
    case = add_case(shape=(2, 3), offered=100)
    case.model.main.operands[3].dimensions[:] = [0, 0]
    (result,) = files.run([case])
    assert result.failed_stage == pb.STAGE_NONE, result.message
    (output,) = result.examples[0].outputs
    assert list(output.dimensions) == [2, 3]
    assert floats(output) == [11, 12, 13, 14, 15, 16]


def test_a_short_buffer_is_reported_with_the_shape_it_needs(files: Files) -> None:
    case = add_case(offered=8)
    case.model.main.operands[3].dimensions[:] = [0, 0]
    (result,) = files.run([case])
    assert result.failed_stage == pb.STAGE_EXECUTE
    assert result.status == pb.ERROR_STATUS_OUTPUT_INSUFFICIENT_SIZE
    assert "tens" in result.message
    (output,) = result.examples[0].outputs
    assert not output.is_sufficient
    assert list(output.dimensions) == [1, 4]
    assert output.data == b""


def test_examples_are_independent(files: Files) -> None:
    case = add_case()
    case.examples.insert(0, pb.Example(name="no input"))
    (result,) = files.run([case])
    assert result.failed_stage == pb.STAGE_EXECUTE
    assert "no input" in result.message
    assert [example.status for example in result.examples] == [
        pb.ERROR_STATUS_INVALID_ARGUMENT,
        pb.ERROR_STATUS_NONE,
    ]
    assert floats(result.examples[1].outputs[0]) == [11, 12, 13, 14]


# ---- cases that fail ----------------------------------------------------------------------------


def test_an_invalid_model_fails_and_the_next_case_runs(files: Files) -> None:
    results = files.run([invalid_case(), add_case("good")])
    assert [result.name for result in results] == ["invalid", "good"]
    assert results[0].failed_stage == pb.STAGE_SUPPORT
    assert results[0].status == pb.ERROR_STATUS_INVALID_ARGUMENT
    assert results[0].message.startswith("operation 0"), "the status stands beside it"
    assert results[1].failed_stage == pb.STAGE_NONE


def test_an_unsupported_operation_fails_to_prepare(files: Files) -> None:
    case = add_case()
    case.model.main.operations[0].type = pb.OPERATION_TYPE_OEM_OPERATION
    (result,) = files.run([case], pb.RunOptions(hal_version=pb.HAL_VERSION_1_3))
    assert list(result.supported_operations) == [False]
    assert result.failed_stage == pb.STAGE_PREPARE
    assert "OEM_OPERATION" in result.message


def test_a_model_beyond_the_memory_limit_fails_to_prepare(files: Files) -> None:
    case = add_case(shape=(1024, 512))
    results = [
        result
        for mib in ("1", "2")
        for result in files.run([case], pb.RunOptions(timeout_s=60), "--max-memory", mib)
    ]
    refused, accepted = results
    assert list(refused.supported_operations) == [False]
    assert refused.failed_stage == pb.STAGE_PREPARE
    assert refused.status == pb.ERROR_STATUS_RESOURCE_EXHAUSTED_PERSISTENT
    assert "2097152 bytes are more than the limit of 1048576" in refused.message
    assert accepted.failed_stage == pb.STAGE_NONE, accepted.message


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        (pb.HAL_VERSION_1_0, "relaxed floats"),
        (pb.HAL_VERSION_1_1, "TENSOR_QUANT8_SYMM_PER_CHANNEL"),
        (pb.HAL_VERSION_1_2, "HARD_SWISH"),
    ],
)
def test_what_a_version_has_no_words_for_is_refused(
    files: Files, version: pb.HalVersion, reason: str
) -> None:
    case = add_case()
    case.model.relax_computation_float32_to_float16 = version == pb.HAL_VERSION_1_0
    if version == pb.HAL_VERSION_1_1:
        case.model.main.operands[1].type = pb.OPERAND_TYPE_TENSOR_QUANT8_SYMM_PER_CHANNEL
        case.model.main.operands[1].channel_quant.scales.append(1)
    else:
        case.model.main.operations[0].type = pb.OPERATION_TYPE_HARD_SWISH
    (result,) = files.run([case], pb.RunOptions(hal_version=version))
    assert result.failed_stage == pb.STAGE_LOAD
    assert reason in result.message
    assert result.hal_version == version


@pytest.mark.parametrize(
    ("version", "mode", "way"),
    [
        (pb.HAL_VERSION_1_1, pb.EXECUTION_MODE_BURST, "bursts"),
        (pb.HAL_VERSION_1_3, pb.EXECUTION_MODE_REUSABLE, "reusable executions"),
    ],
)
def test_a_way_of_execution_that_a_version_lacks_is_refused_by_name(
    files: Files, version: pb.HalVersion, mode: pb.ExecutionMode, way: str
) -> None:
    (result,) = files.run([add_case()], pb.RunOptions(hal_version=version, mode=mode))
    assert result.failed_stage == pb.STAGE_EXECUTE
    (example,) = result.examples
    assert way in example.message
    assert "1.1" in example.message or "1.3" in example.message


# ---- crashes and hangs --------------------------------------------------------------------------


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def lives(pid: int) -> bool:
    """Whether it is more than what a container's first process has not asked about."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def cpu_ticks(pid: int) -> int:
    return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]))


def test_a_crash_costs_one_case(files: Files) -> None:
    endless = add_case("endless", (64, 1024))
    options = pb.RunOptions(repeat=ENDLESS, timeout_s=100)
    with subprocess.Popen(
        files.command([endless, invalid_case()], options, "--jobs", "1")
    ) as runner:
        # The child executes once it has used some processor time.
        awaited(
            lambda: any(cpu_ticks(child) > 5 for child in children(runner.pid)),
            "the case does not begin",
        )
        assert runner.poll() is None
        (child,) = children(runner.pid)
        os.kill(child, signal.SIGKILL)
        assert runner.wait(timeout=60) == 0
    crashed, after = files.results()
    assert crashed.failed_stage == pb.STAGE_CRASH
    assert "signal 9" in crashed.message
    assert "executing" in crashed.message
    assert list(crashed.supported_operations) == [True]
    assert after.failed_stage == pb.STAGE_SUPPORT


def test_a_hang_costs_one_case(files: Files) -> None:
    hung, after = files.run(
        [add_case("endless"), invalid_case()], pb.RunOptions(repeat=ENDLESS, timeout_s=1.5)
    )
    assert hung.failed_stage == pb.STAGE_HANG
    assert "while executing" in hung.message
    assert after.failed_stage == pb.STAGE_SUPPORT


def in_children(files: Files, cases: Sequence[pb.TestCase], *more: str) -> list[set[int]]:
    """The processes that were seen beside each other while the cases ran."""
    seen = []
    options = pb.RunOptions(repeat=2000, timeout_s=60)
    # A sanitizer looks for leaks in a process of its own.
    environment = {
        **os.environ,
        "ASAN_OPTIONS": f"{os.environ.get('ASAN_OPTIONS', '')}:detect_leaks=0",
    }
    with subprocess.Popen(files.command(cases, options, *more), env=environment) as runner:
        while runner.poll() is None:
            with contextlib.suppress(OSError):
                seen.append(set(children(runner.pid)))
            time.sleep(0.002)
    assert runner.returncode == 0
    return seen


def test_cases_share_a_process(files: Files) -> None:
    seen = in_children(files, [add_case()] * 20, "--jobs", "1")
    assert all(len(beside) <= 1 for beside in seen)
    # One looks whether the target can be reached.
    assert len(set.union(*seen)) <= 2


def test_jobs_run_beside_each_other(files: Files) -> None:
    seen = in_children(files, [add_case(str(at)) for at in range(30)], "--jobs", "3")
    assert max(map(len, seen)) == 3
    assert len(set.union(*seen)) <= 4
    assert [result.name for result in files.results()] == [str(at) for at in range(30)]


def test_results_are_there_as_soon_as_cases_end(files: Files) -> None:
    cases = [invalid_case(), add_case("endless")]
    options = pb.RunOptions(repeat=ENDLESS, timeout_s=100)
    with subprocess.Popen(files.command(cases, options, "--jobs", "1")) as runner:
        awaited(
            lambda: (files.folder / "results").exists() and files.results(), "there is no result"
        )
        assert runner.poll() is None
        runner.kill()
    assert [result.name for result in files.results()] == ["invalid"]


def test_the_time_of_a_case_is_its_own(files: Files) -> None:
    """The cases before it do not count, nor does its place in the bundle."""
    quick = [invalid_case() for _ in range(30)]
    options = pb.RunOptions(repeat=ENDLESS, timeout_s=1)
    *before, hung = files.run([*quick, add_case("endless")], options, "--jobs", "1")
    assert {result.failed_stage for result in before} == {pb.STAGE_SUPPORT}
    assert "no end after 1000 ms" in hung.message
    assert 1 <= hung.elapsed_ns / 1e9 < 10


def test_until_crash_ends_after_a_hang(files: Files) -> None:
    options = pb.RunOptions(repeat=ENDLESS, timeout_s=1)
    cases = [invalid_case(), add_case("endless"), invalid_case()]
    ended = run(files.command(cases, options, "--jobs", "1", "--until-crash"))
    assert ended.returncode == 3
    assert [result.failed_stage for result in files.results()] == [pb.STAGE_SUPPORT, pb.STAGE_HANG]


def test_a_killed_runner_leaves_no_child(files: Files) -> None:
    with subprocess.Popen(files.command([add_case()], pb.RunOptions(repeat=ENDLESS))) as runner:
        awaited(
            lambda: any(cpu_ticks(child) > 5 for child in children(runner.pid)),
            "the case does not begin",
        )
        (child,) = children(runner.pid)
        runner.kill()
    awaited(lambda: not lives(child), "the child lives on")


# ---- the command line ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "more",
    [
        ["--nonsense"],
        ["extra"],
        ["--target", "elsewhere"],
        ["--target", "hidl:"],
        ["--target", "aidl:"],
        ["--bundle", "/no/such/file"],
        ["--results", "/no/such/folder/results"],
        ["-c", "NoSuchBackend"],
        ["--number-of-threads", "65"],
        ["--number-of-threads", "many"],
        ["--max-memory", "much"],
        ["--max-memory", "99999999999999999999"],
        ["--report"],
    ],
)
def test_wrong_usage_exits_with_1(files: Files, more: list[str]) -> None:
    ended = run(files.command([add_case()], pb.RunOptions(), *more))
    assert ended.returncode == 1
    assert ended.stderr


def test_missing_options_exit_with_1() -> None:
    ended = run([native.program("halyard-runner"), "--target", "in-process"])
    assert ended.returncode == 1
    assert "--bundle" in ended.stderr


def test_an_unknown_backend_is_answered_with_the_known_ones(files: Files) -> None:
    ended = run(files.command([add_case()], pb.RunOptions(), "-c", "NoSuchBackend"))
    assert "NoSuchBackend" in ended.stderr
    assert "CpuRef" in ended.stderr


@pytest.mark.parametrize("cut", [1, 50])
def test_a_bundle_cut_short_exits_with_1_after_the_complete_cases(files: Files, cut: int) -> None:
    command = files.command([add_case("first"), add_case("second")], pb.RunOptions())
    bundle = (files.folder / "bundle").read_bytes()
    (files.folder / "bundle").write_bytes(bundle[:-cut])
    ended = run(command)
    assert ended.returncode == 1
    assert "bundle" in ended.stderr
    assert [result.name for result in files.results()] == ["first"]


@pytest.mark.skipif(Path("/dev/hwbinder").exists(), reason="this machine has a binder device")
def test_an_absent_service_exits_with_2(files: Files) -> None:
    command = files.command([add_case()], pb.RunOptions(), "--target", "hidl:halyard-default")
    ended = run(command)
    assert ended.returncode == 2
    assert "/dev/hwbinder" in ended.stderr
    listed = run([native.program("halyard-runner"), "--list-services"])
    assert listed.returncode == 2


def test_lowest_hal_needs_a_bundle_and_results_only(files: Files) -> None:
    files.command([add_case("first"), add_case("second")], pb.RunOptions())
    runner = [native.program("halyard-runner"), "--lowest-hal"]
    paths = ["--bundle", files.folder / "bundle", "--results", files.folder / "results"]
    assert run([*runner, *paths]).returncode == 0
    assert [(result.name, result.hal_version) for result in files.results()] == [
        ("first", pb.HAL_VERSION_1_0),
        ("second", pb.HAL_VERSION_1_0),
    ]
    ended = run([*runner, *paths[:2]])
    assert ended.returncode == 1
    assert "--results" in ended.stderr


@pytest.mark.parametrize("words", [["-c", "NoSuch"], ["--nonsense"], [], ["--jobs", "x"]])
def test_a_wrong_command_line_is_told_in_a_line(words: list[str]) -> None:
    ended = run([native.program("halyard-runner"), *words])
    assert ended.returncode == 1
    lines = [line for line in ended.stderr.splitlines() if "halyard-runner: " in line]
    assert "(--help lists the options)" in lines[-1]
    assert len(ended.stderr.splitlines()) <= 2, "getopt may have a word of its own"


def test_the_backends_are_listed() -> None:
    ended = run([native.program("halyard-runner"), "--list-backends"])
    assert (ended.returncode, ended.stdout.split()[:2]) == (0, ["CpuRef", "CpuAcc"])


def test_help_tells_the_usage() -> None:
    ended = run([native.program("halyard-runner"), "--help"])
    assert ended.returncode == 0
    assert ended.stdout.startswith("Usage: halyard-runner")
