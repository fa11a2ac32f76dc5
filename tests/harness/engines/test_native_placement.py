# SPDX-License-Identifier: Apache-2.0
"""The runner's report of nodes: where they ran, by whose word, and how long that took."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from halyard.benchmark_model import BenchmarkModel
from halyard.model import DataType
from halyard.model.multiply_adds import multiply_adds
from halyard.proto import halyard_pb2 as pb
from tests.harness.engines.test_native_runner import Files, add_case, floats, run
from tests.harness.own_backends import own_backends


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_a_profile_tells_what_each_node_takes(files: Files) -> None:
    (result,) = files.run([add_case()], pb.RunOptions(repeat=2, profile=3))
    assert result.failed_stage == pb.STAGE_NONE, result.message
    assert len(result.examples[0].timings) == 2, "profiled executions do not count"
    (row,) = result.profile
    assert (row.label, row.node, row.type) == ("operation 0 (ADD)", "Binary", "FLOAT32")
    assert (row.backend, row.kernel, row.nodes) == ("CpuRef", "ref::Binary", 1)
    assert list(row.operations) == [0]
    assert row.median_ns > 0
    assert row.bytes > 0
    assert row.multiply_adds == 0
    (without,) = files.run([add_case()])
    assert not without.profile


def test_the_multiply_adds_of_nodes_are_those_of_the_model(files: Files) -> None:
    """The engine counts nodes, the benchmark operations."""
    for name in ("mobilenet_v2", "small_classifier"):
        runnable = BenchmarkModel(name, DataType.QUANT8, 32, 0.35).runnable
        case = pb.TestCase(model=runnable.model, examples=[runnable.example(0)])
        (result,) = files.run([case], pb.RunOptions(profile=1, timeout_s=60))
        assert result.failed_stage == pb.STAGE_NONE, result.message
        counted = sum(row.multiply_adds for row in result.profile)
        assert counted == multiply_adds(runnable.model) > 0


def chain_case(length: int = 4) -> pb.TestCase:
    """RELUs and FLOORs in turn, the first a RELU."""
    case = pb.TestCase(name="chain")
    main = case.model.main
    for index in range(length + 1):
        main.operands.add(
            type=pb.OPERAND_TYPE_TENSOR_FLOAT32,
            dimensions=[4],
            lifetime=pb.OPERAND_LIFE_TIME_TEMPORARY_VARIABLE,
        )
        if index < length:
            kind = pb.OPERATION_TYPE_FLOOR if index % 2 else pb.OPERATION_TYPE_RELU
            main.operations.add(type=kind, inputs=[index], outputs=[index + 1])
    main.operands[0].lifetime = pb.OPERAND_LIFE_TIME_SUBGRAPH_INPUT
    main.operands[length].lifetime = pb.OPERAND_LIFE_TIME_SUBGRAPH_OUTPUT
    main.input_indexes.append(0)
    main.output_indexes.append(length)
    values = np.array([-1.5, 0.5, 1.5, 2.5], np.float32)
    case.examples.add(
        inputs=[pb.InputValue(data=values.tobytes())], outputs=[pb.OutputBuffer(byte_size=16)]
    )
    return case


@pytest.fixture
def sample_backend(tmp_path: Path) -> Sequence[str]:
    folder = own_backends("sample", tmp_path)
    return ("--backend-dir", str(folder), "-c", "Sample")


def backends_of(result: pb.CaseResult) -> list[str]:
    assert result.failed_stage == pb.STAGE_NONE, result.message
    return [row.backend for row in result.placement]


def test_a_library_is_a_backend(files: Files, sample_backend: Sequence[str]) -> None:
    (result,) = files.run([chain_case()], None, *sample_backend)
    assert backends_of(result) == ["Sample", "CpuRef", "Sample", "CpuRef"]
    assert floats(result.examples[0].outputs[0]) == [0.0, 0.0, 1.0, 2.0]
    assert result.partitions == 4
    assert result.bytes_between_partitions == 3 * 16
    assert result.placement[0].kernel == "Sample"
    (refusal,) = result.placement[1].refusals
    assert (refusal.backend, refusal.reason) == ("Sample", "runs ADD, MUL and RELU only")


def test_partitions_are_limited(files: Files, sample_backend: Sequence[str]) -> None:
    (one,) = files.run([chain_case()], None, *sample_backend, "--max-partitions", "1")
    assert backends_of(one) == ["CpuRef"] * 4
    assert one.placement[0].refusals[0].reason == "would run one of more than 1 partitions"
    (large,) = files.run([chain_case()], None, *sample_backend, "--min-nodes-per-partition", "2")
    assert backends_of(large) == ["CpuRef"] * 4


def test_hints_come_from_a_file(
    files: Files, sample_backend: Sequence[str], tmp_path: Path
) -> None:
    hints = tmp_path / "hints"
    hints.write_text("2 CpuRef\n")
    (result,) = files.run([chain_case()], None, *sample_backend, "--backend-hint", str(hints))
    assert backends_of(result) == ["Sample", "CpuRef", "CpuRef", "CpuRef"]
    hints.write_text("RELU CpuRef\nRELU Sample\n")
    command = files.command([chain_case()], pb.RunOptions(), "--backend-hint", str(hints))
    ended = run(command)
    assert ended.returncode == 2
    assert f"{hints}: line 2: operation RELU has a hint already" in ended.stderr


def test_a_required_backend_runs_all_or_nothing(
    files: Files, sample_backend: Sequence[str]
) -> None:
    words = [*sample_backend, "--require-backend", "Sample"]
    (result,) = files.run([chain_case()], None, *words)
    assert result.failed_stage == pb.STAGE_PREPARE
    assert "Sample runs ADD, MUL and RELU only" in result.message
    assert list(result.supported_operations) == [True, False, True, False]
    (alone,) = files.run([chain_case(1)], None, *words)
    assert backends_of(alone) == ["Sample"]


def test_a_folder_of_backends_is_an_absolute_path(files: Files) -> None:
    ended = run(files.command([chain_case()], pb.RunOptions(), "--backend-dir", "backends"))
    assert ended.returncode == 2
    assert "has to be absolute" in ended.stderr
