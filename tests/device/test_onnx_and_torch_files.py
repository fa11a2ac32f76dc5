# SPDX-License-Identifier: Apache-2.0
"""Models from .onnx files, and from PyTorch's for NNAPI, over adb and binder: against ONNX Runtime
on the files themselves, and against what PyTorch computed."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from onnx import ModelProto

from halyard.benchmark_model import FileModel
from halyard.comparison.difference import compare_all
from halyard.conversion import convert
from halyard.devices import Service, ServiceOptions, VirtualDevice, Wire
from halyard.engines.halyard import HalyardDevice
from halyard.engines.workload import Workload
from halyard.measurement.measurement import measure
from halyard.model import RunnableModel
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Target
from halyard.transport import hal_version
from tests.harness.agreement import disagreements
from tests.harness.onnx.test_onnx_reading import around_an_atan
from tests.harness.onnx_models import mobilenet_block, resnet_block_qdq, transformer_encoder
from tests.harness.torch_nnapi.test_torch_nnapi import FOLDER, MODELS, arrays


@pytest.fixture(scope="module")
def services(device: VirtualDevice) -> Iterator[Service]:
    """Of both interfaces: products of computed matrices came with the second AIDL version."""
    with device.start_service(ServiceOptions(wires=[Wire.HIDL, Wire.AIDL])) as service:
        yield service
        assert service.is_running(), service.log()


@pytest.mark.parametrize(
    "build", [mobilenet_block, resnet_block_qdq, transformer_encoder, around_an_atan]
)
def test_a_file_agrees_with_itself_in_onnx_runtime(
    device: VirtualDevice, services: Service, build: Callable[[], ModelProto], tmp_path: Path
) -> None:
    """In the lowest version that carries it."""
    path = tmp_path / "model.onnx"
    path.write_bytes(build().SerializeToString())
    benchmark_model = FileModel(path, seed=3)
    version = hal_version.lowest_version(benchmark_model.conversion.model)
    wire = Wire.AIDL if version in hal_version.AIDL else Wire.HIDL
    options = pb.RunOptions(hal_version=version, mode=pb.EXECUTION_MODE_SYNC, measure_timing=True)
    engine = HalyardDevice(device, Target.service(services.instance, wire), options)
    measured = measure(engine, benchmark_model, count=2)
    assert measured.problems == []
    assert measured.result.hal_version == version
    assert measured.differences


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_pytorch_agrees_with_pytorch(
    device: VirtualDevice, services: Service, name: str
) -> None:
    part = convert(FOLDER / f"{name}.pt").whole
    part.model.relax_computation_float32_to_float16 = False
    model = RunnableModel.of(part.model)
    options = pb.RunOptions(hal_version=pb.HAL_VERSION_1_2)
    engine = HalyardDevice(device, Target.hidl(services.instance), options)
    with Workload(model, arrays(name, "input")) as work, engine.prepare(work) as prepared:
        differences = compare_all(model, arrays(name, "output"), prepared.run())
    assert disagreements(differences, len(part.model.main.operations), steps=0) == []
