# SPDX-License-Identifier: Apache-2.0
"""PyTorch as a peer: modules with the zoo's weights give LiteRT's outputs, on the processor here;
what needs CUDA is told where there is none."""

import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from halyard import zoo
from halyard.bench.results import OURS, RELAXED, EngineResult, ModelResult
from halyard.bench.table import print_model
from halyard.cli.program import cli
from halyard.comparison.difference import compare_all
from halyard.engines import litert, peers
from halyard.engines.engine import EngineMissing, EngineRefused
from halyard.engines.litert import LiteRt
from halyard.engines.pytorch import DEVICE_VARIABLE, WAYS, Mode, Precision, PyTorch, Way
from halyard.engines.workload import Workload
from halyard.errors import ConfigError
from halyard.model import DataType, ModelBuilder, TensorType
from halyard.proto import halyard_pb2 as pb
from halyard.terminal.console import Terminal
from halyard.timing.machine import Peak
from tests.harness.agreement import disagreements

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not installed"
)
needs_litert = pytest.mark.skipif(not litert.available(), reason=litert.MISSING)
_STRICT = Way(Mode.EAGER, Precision.STRICT)
# Their operations are no functions of PyTorch.
_REFUSED = {"lstm_speech", "qlstm_speech", "ssd_mobilenet_v2"}
_NAMES = [name for name in zoo.NAMES if name not in _REFUSED]


@pytest.fixture(autouse=True)
def _processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DEVICE_VARIABLE, "cpu")


def network(name: str, data_type: DataType = DataType.FLOAT32) -> Workload:
    return Workload.seeded(zoo.build(name, data_type, size=32, width=0.25), 3)


@needs_torch
@needs_litert
@pytest.mark.parametrize("name", _NAMES)
def test_a_module_gives_litert_s_outputs(name: str) -> None:
    with network(name) as work:
        expected = LiteRt().prepare(work).run()
        differences = compare_all(work.model, expected, PyTorch(way=_STRICT).prepare(work).run())
    assert disagreements(differences, len(work.model.model.main.operations)) == []


@needs_torch
@needs_litert
def test_float16_rounds_and_the_outputs_are_float32_again() -> None:
    with network("mobilenet_v3_large") as work:
        expected = LiteRt().prepare(work).run()
        actual = PyTorch(way=Way(Mode.EAGER, Precision.FLOAT16)).prepare(work).run()
    assert [each.dtype for each in actual] == [np.float32] * len(actual)
    error = max(float(np.abs(a - e).max()) for a, e in zip(actual, expected, strict=True))
    largest = max(float(np.abs(each).max()) for each in expected)
    assert 1e-4 < error < 0.1 * max(1.0, largest)


@needs_torch
@pytest.mark.parametrize("name", sorted(_REFUSED))
def test_what_has_no_function_is_refused_by_name(name: str) -> None:
    data_type = zoo.data_types(name)[0]
    with network(name, data_type) as work, pytest.raises(EngineRefused, match=r"PyTorch"):
        PyTorch(way=_STRICT).prepare(work)


@needs_torch
def test_a_graph_needs_cuda() -> None:
    way = Way(Mode.GRAPH, Precision.STRICT)
    with network("small_classifier") as work, pytest.raises(EngineRefused, match="CUDA device"):
        PyTorch(way=way).prepare(work)


@needs_torch
def test_without_a_cuda_device_pytorch_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = importlib.import_module("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    monkeypatch.delenv(DEVICE_VARIABLE)
    with pytest.raises(EngineMissing, match="finds no CUDA device here"):
        PyTorch(way=_STRICT)


def _image(shape: Sequence[int]) -> TensorType:
    return TensorType(pb.OPERAND_TYPE_TENSOR_FLOAT32, tuple(shape))


@needs_torch
def test_images_and_what_is_made_of_them_keep_the_models_layout() -> None:
    """Pooled, added to a vector of channels, averaged over height: NHWC all the way."""
    builder = ModelBuilder("layout")
    given = builder.input("x", _image((1, 4, 6, 3)))
    none = builder.int32(0)
    two, valid = builder.int32(2), builder.int32(2)
    pooled = builder.operation(
        pb.OPERATION_TYPE_MAX_POOL_2D,
        [given, valid, two, two, two, two, none],
        "pooled",
        _image((1, 2, 3, 3)),
    )
    channels = builder.numbers("channels", np.array([1, 20, 300], np.float32))
    moved = builder.operation(
        pb.OPERATION_TYPE_ADD, [pooled, channels, none], "moved", _image((1, 2, 3, 3))
    )
    axes, keep = builder.vector("axes", [1]), builder.int32(0)
    mean = builder.operation(pb.OPERATION_TYPE_MEAN, [moved, axes, keep], "mean", _image((1, 3, 3)))
    x = np.arange(72, dtype=np.float32).reshape(1, 4, 6, 3)
    with Workload.of(builder.build([moved, mean]), [x]) as work:
        first, second = PyTorch(way=_STRICT).prepare(work).run()
    expected = x[:, 1::2, 1::2] + np.array([1, 20, 300], np.float32)
    np.testing.assert_array_equal(first, expected)
    np.testing.assert_array_equal(second, expected.mean(axis=1))


def test_names_of_peers_stand_for_modes_and_all_of_pytorch() -> None:
    assert [peer.name for peer in peers.named("torch-graph,litert")] == [
        "torch-graph-strict",
        "torch-graph-tf32",
        "torch-graph-float16",
        "litert",
    ]
    assert len(peers.named("torch")) == 9, "no tuning unless it is asked for"
    assert [peer.name for peer in peers.named("torch-autotune-tf32")] == ["torch-autotune-tf32"]
    with pytest.raises(ConfigError, match="no 'torch-fast', there are litert"):
        peers.named("torch-fast")


def test_pytorch_is_a_peer_of_gpu_acc_alone() -> None:
    beside_gpu = {peer.name for peer in peers.usual(["CpuAcc", "GpuAcc:device=1"])}
    assert beside_gpu - {peer.name for peer in peers.usual(["CpuAcc"])} == {
        way.name for way in WAYS if way.mode is not Mode.AUTOTUNE
    }


def test_every_row_names_version_mode_and_precision() -> None:
    titles = [way.title("2.11.0+cu130") for way in WAYS]
    assert titles[0] == "PyTorch 2.11 eager, strict float32"
    assert "PyTorch 2.11 compile, TF32" in titles
    assert "PyTorch 2.11 CUDA graph, float16" in titles
    assert len(set(titles)) == len(WAYS)


def timed(name: str, milliseconds: float, *, is_relaxed: bool = False) -> EngineResult:
    return EngineResult(name, name, times_ms=[milliseconds], is_relaxed=is_relaxed)


def result_of(*engines: EngineResult) -> ModelResult:
    result = ModelResult("m", DataType.FLOAT32, 1, 1, 1, 1, "", list(engines))
    print_model(Terminal(), result, Peak(1, "", 1.0, "", 1.0, 1.0, 1.0))
    return result


def test_float32_is_compared_with_float32_and_relaxed_with_what_rounds() -> None:
    strict, reduced = timed("torch-strict", 3.0), timed("torch-tf32", 1.0, is_relaxed=True)
    ours, relaxed = timed(OURS, 6.0), timed(RELAXED, 2.0, is_relaxed=True)
    result = result_of(ours, relaxed, strict, reduced)
    assert result.best_peer is strict
    assert result.ratio_to_best_peer == 2.0
    assert result.best_beside(relaxed) is reduced
    assert result.ratio_to(strict) == 2.0
    assert result.ratio_to(reduced) == 2.0
    assert result.ratio_to(ours) is None


def test_without_a_relaxed_one_what_rounds_has_no_ratio() -> None:
    strict, reduced = timed("torch-strict", 3.0), timed("torch-tf32", 1.0, is_relaxed=True)
    assert result_of(timed(OURS, 6.0), strict, reduced).ratio_to(reduced) is None


def test_rough_ours_is_compared_with_exact_peers_where_there_are_no_others() -> None:
    result = result_of(timed(OURS, 6.0, is_relaxed=True), timed("litert", 3.0))
    assert result.ratio_to_best_peer == 2.0


@needs_torch
@needs_litert
def test_bench_compares_with_pytorch_on_the_same_weights(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    done = CliRunner().invoke(
        cli,
        [
            *("bench", "small_classifier", "--size", "16", "--width", "0.25", "--types", "float32"),
            *("--threads", "1", "--runs", "3", "--backends", "CpuAcc", "--relaxed"),
            *("--peers", "torch-eager", "--json", str(path)),
        ],
    )
    assert done.exit_code == 0, done.output
    [result] = json.loads(path.read_text())["results"]
    assert result["best_peer"] == "torch-eager-strict"
    for name in ("torch-eager-strict", "torch-eager-tf32", "torch-eager-float16"):
        engine = result["engines"][name]
        assert engine["ratio"] > 0
        assert engine["agreement"] is not None
        assert engine["title"] in done.output
    assert "Halyard, relaxed" in done.output
    assert "float32, relaxed" in done.output.split("Summary")[1]
