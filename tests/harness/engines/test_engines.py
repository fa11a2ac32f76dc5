# SPDX-License-Identifier: Apache-2.0
"""All engines are asked alike, wherever they run, and give the same answers."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

from halyard import zoo
from halyard.comparison.difference import compare_all
from halyard.devices.host import HostDevice
from halyard.devices.inside_litert import DOORS
from halyard.engines import libraries
from halyard.engines.engine import Engine, EngineMissing, EngineRefused
from halyard.engines.halyard import HalyardDevice, HalyardProcess
from halyard.engines.in_litert import InLiteRt
from halyard.engines.in_process import imported, without_chatter
from halyard.engines.peers import PEERS
from halyard.engines.workload import Workload
from halyard.errors import HalyardError, NotExpressible
from halyard.model import DataType, ModelBuilder, TensorType
from halyard.programs.driver_options import DriverOptions
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Target
from tests.harness.agreement import disagreements

Make = Callable[[HostDevice], Engine]

_PEERS = {peer.name: peer for peer in PEERS}
ENGINES: dict[str, Make] = {
    "device": lambda host: HalyardDevice(host, Target.in_process(), pb.RunOptions(timeout_s=60)),
    "process": lambda _: HalyardProcess(DriverOptions(threads=1)),
    "litert": lambda _: libraries.library("litert"),
    "litert in a process": lambda _: _PEERS["litert"].with_threads(1),
    "onnxruntime": lambda _: libraries.library("onnxruntime"),
    "litert-delegate": lambda _: InLiteRt("litert-delegate"),
    "litert-npu": lambda _: InLiteRt("litert-npu"),
    "onnxruntime in a process": lambda _: _PEERS["onnxruntime"].with_threads(1),
}


@pytest.fixture(scope="module")
def host() -> Iterator[HostDevice]:
    with HostDevice() as device:
        yield device


@pytest.fixture(scope="module")
def work() -> Iterator[Workload]:
    model = zoo.build("small_classifier", DataType.FLOAT32, size=16, width=0.35)
    with Workload.seeded(model, 3) as made:
        yield made


def made(name: str, host: HostDevice) -> Engine:
    library, *_ = name.split()
    try:
        if library in (*_PEERS, *DOORS):
            libraries.library(library)
    except EngineMissing as missing:
        pytest.skip(str(missing))
    return ENGINES[name](host)


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_prepares_runs_and_times(name: str, host: HostDevice, work: Workload) -> None:
    engine = made(name, host)
    assert engine.title
    with engine.prepare(work) as prepared:
        wanted, found = work.tensors, prepared.tensors
        for side in ("inputs", "outputs"):
            shapes = [(info.shape, info.dtype) for info in getattr(found, side)]
            assert shapes == [(info.shape, info.dtype) for info in getattr(wanted, side)]
        outputs = prepared.run()
        times = prepared.time(3, warmup=1)
        again = prepared.run()
    assert len(times) == 3
    assert all(time > 0 for time in times)
    assert all(map(np.array_equal, outputs, again)), "its inputs stay"
    with Workload(work.model, work.inputs) as other:
        reference = made("process", host)
        with reference.prepare(other) as ours:
            differences = compare_all(work.model, ours.run(), outputs)
    assert not disagreements(differences, len(work.model.model.main.operations))


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_refuses_a_model_before_it_is_run(name: str, host: HostDevice) -> None:
    """A RESHAPE to another count of elements makes no sense to anybody."""
    numbers = TensorType(pb.OPERAND_TYPE_TENSOR_FLOAT32, (2, 3))
    builder = ModelBuilder("nonsense")
    data = builder.input("data", numbers)
    shape = builder.vector("shape", (5,))
    wrong = TensorType(pb.OPERAND_TYPE_TENSOR_FLOAT32, (5,))
    result = builder.operation(pb.OPERATION_TYPE_RESHAPE, [data, shape], "result", wrong)
    engine = made(name, host)
    with (
        Workload.of(builder.build([result]), [np.zeros((2, 3), np.float32)]) as nonsense,
        pytest.raises((EngineRefused, NotExpressible)),
        engine.prepare(nonsense) as prepared,
    ):
        prepared.run()


def test_files_are_written_once_and_are_gone_afterwards() -> None:
    model = zoo.build("small_classifier", DataType.FLOAT32, size=16, width=0.35)
    with Workload.seeded(model, 3) as work:
        first = work.tflite()
        first.write_bytes(b"as it was left")
        assert work.tflite().read_bytes() == b"as it was left"
    assert not first.exists()


def test_inputs_that_are_not_the_model_s_are_refused(work: Workload) -> None:
    for name in ("litert", "onnxruntime"):
        engine = made(name, HostDevice())
        with pytest.raises(HalyardError), Workload(work.model, [np.zeros(3, "<f4")]) as wrong:
            engine.prepare(wrong)


def test_an_engine_says_nothing_in_the_midst_of_what_is_shown(
    host: HostDevice, work: Workload, capfd: pytest.CaptureFixture[str]
) -> None:
    with made("litert", host).prepare(work) as prepared:
        prepared.run()
    assert capfd.readouterr().err == ""


def test_onnx_runtime_says_nothing_of_initializers_that_are_not_read(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    tensor = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Neg", ["x"], ["y"])],
        "spare",
        [tensor("x", onnx.TensorProto.FLOAT, [2])],
        [tensor("y", onnx.TensorProto.FLOAT, [2])],
        [onnx.numpy_helper.from_array(np.ones(2, np.float32), "spare")],
    )
    path = tmp_path / "spare.onnx"
    opset = [onnx.helper.make_opsetid("", 17)]
    path.write_bytes(
        onnx.helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString()
    )
    libraries.library("onnxruntime").load(path)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("extents", [(2, 3), ("rows", 3)])
def test_onnx_runtime_runs_a_file_that_declares_another_rank(
    extents: tuple[int | str, ...], tmp_path: Path
) -> None:
    """ONNX Runtime itself warns of it, and gives what was computed."""
    tensor = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Reshape", ["x", "shape"], ["y"])],
        "ranks",
        [
            tensor("x", onnx.TensorProto.FLOAT, [2, 3]),
            tensor("shape", onnx.TensorProto.INT64, ["rank"]),
        ],
        [tensor("y", onnx.TensorProto.FLOAT, extents)],
    )
    path = tmp_path / "ranks.onnx"
    opset = [onnx.helper.make_opsetid("", 17)]
    path.write_bytes(
        onnx.helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString()
    )
    values = np.arange(6, dtype=np.float32)
    loaded = libraries.library("onnxruntime").load(path)
    loaded.bind([values.tobytes(), np.array([6]).tobytes()])
    for _ in range(3):
        [found] = loaded.run()
        assert found.tolist() == values.tolist()


def test_what_native_code_warns_of_is_not_lost(capfd: pytest.CaptureFixture[str]) -> None:
    with without_chatter():
        os.write(2, b"INFO: a delegate\nWARNING: a node\nERROR: a tensor\n")
    assert capfd.readouterr().err == "WARNING: a node\nERROR: a tensor\n"


def test_a_package_that_is_missing_is_named() -> None:
    with pytest.raises(EngineMissing, match=r"^no_such_thing is not installed: pip install it$"):
        imported("no_such_thing.inner", "pip install it")
