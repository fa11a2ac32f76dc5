# SPDX-License-Identifier: Apache-2.0
"""Models from Python, over adb and binder, through each HAL version and back."""

from collections.abc import Iterator

import pytest

from halyard.benchmark_model import BenchmarkModel
from halyard.devices import Service, ServiceOptions, VirtualDevice, Wire
from halyard.engines import litert
from halyard.engines.halyard import HalyardDevice
from halyard.engines.placement import shares
from halyard.measurement.measurement import Measurement, measure
from halyard.model import DataType
from halyard.programs.driver_options import DriverOptions
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Target
from halyard.transport import hal_version

SIZE, WIDTH = 32, 0.1


def run(
    device: VirtualDevice,
    service: Service,
    benchmark_model: BenchmarkModel,
    version: pb.HalVersion,
    mode: pb.ExecutionMode = pb.EXECUTION_MODE_ASYNC,
) -> Measurement:
    options = pb.RunOptions(hal_version=version, mode=mode, measure_timing=True)
    return measure(
        HalyardDevice(device, Target.hidl(service.instance), options), benchmark_model, count=2
    )


# Which test_zoo.py compares with what the driver says.
LOWEST = {
    DataType.FLOAT32: pb.HAL_VERSION_1_0,
    DataType.FLOAT16: pb.HAL_VERSION_1_2,
    DataType.QUANT8: pb.HAL_VERSION_1_0,
    DataType.QUANT8_SIGNED: pb.HAL_VERSION_1_3,
}
CARRIED = [
    (data_type, version)
    for data_type in DataType
    for version in hal_version.ALL
    if version >= LOWEST[data_type]
]


@pytest.mark.parametrize(
    ("data_type", "version"),
    CARRIED,
    ids=[f"{data_type}-{hal_version.format(version)}" for data_type, version in CARRIED],
)
def test_mobilenet_v2_agrees_with_litert(
    device: VirtualDevice, service: Service, data_type: DataType, version: pb.HalVersion
) -> None:
    measured = run(
        device, service, BenchmarkModel("mobilenet_v2", data_type, SIZE, WIDTH, 7), version
    )
    assert measured.problems == []
    assert measured.result.hal_version == version
    assert measured.result.target == f"hidl:{service.instance}"
    assert all(measured.result.supported_operations)
    if litert.available():
        assert measured.differences is not None


@pytest.fixture(scope="module")
def aidl_service(device: VirtualDevice) -> Iterator[Service]:
    options = ServiceOptions(wires=[Wire.AIDL], backends=["CpuRef"])
    with device.start_service(options) as service:
        yield service
        assert service.is_running(), service.log()


@pytest.mark.parametrize("version", hal_version.AIDL, ids=hal_version.format)
def test_mobilenet_v2_agrees_with_litert_through_aidl(
    device: VirtualDevice, aidl_service: Service, version: pb.HalVersion
) -> None:
    target = Target.aidl(aidl_service.instance)
    options = pb.RunOptions(hal_version=version, mode=pb.EXECUTION_MODE_SYNC, measure_timing=True)
    benchmark_model = BenchmarkModel("mobilenet_v2", DataType.QUANT8_SIGNED, SIZE, WIDTH, 7)
    measured = measure(HalyardDevice(device, target, options), benchmark_model, count=2)
    assert measured.problems == []
    assert measured.result.hal_version == version
    assert measured.result.target == f"aidl:{aidl_service.instance}"
    assert all(measured.result.supported_operations)
    if litert.available():
        assert measured.differences is not None


@pytest.mark.parametrize("version", [pb.HAL_VERSION_1_2, pb.HAL_VERSION_1_3])
def test_synchronous_execution_gives_the_same(
    device: VirtualDevice, service: Service, version: pb.HalVersion
) -> None:
    benchmark_model = BenchmarkModel("mobilenet_v2", DataType.QUANT8, SIZE, WIDTH, 7)
    results = [
        run(device, service, benchmark_model, version, mode)
        for mode in (pb.EXECUTION_MODE_ASYNC, pb.EXECUTION_MODE_SYNC)
    ]
    assert [result.problems for result in results] == [[], []]
    first, second = (result.result.examples[0].outputs[0].data for result in results)
    assert first == second


def test_timings_hold_what_was_asked_for(device: VirtualDevice, service: Service) -> None:
    benchmark_model = BenchmarkModel("mobilenet_v2", DataType.FLOAT32, SIZE, WIDTH)
    measured = run(device, service, benchmark_model, pb.HAL_VERSION_1_3)
    assert measured.wall is not None
    assert measured.on_device is not None
    assert len(measured.wall.values) == len(measured.on_device.values) == 2
    for wall, driver in zip(measured.wall.values, measured.on_device.values, strict=True):
        assert 0 < driver <= wall


def test_placement_names_every_operation(device: VirtualDevice, service: Service) -> None:
    benchmark_model = BenchmarkModel("mobilenet_v2", DataType.FLOAT32, SIZE, WIDTH)
    rows = run(device, service, benchmark_model, pb.HAL_VERSION_1_3).result.placement
    operations = len(benchmark_model.zoo_model.model.main.operations)
    assert {row.operation for row in rows} == set(range(operations))
    assert [share.backend for share in shares(rows)] == ["CpuRef"]


def test_the_service_and_the_driver_in_process_give_the_same_bytes(
    device: VirtualDevice, service: Service
) -> None:
    benchmark_model = BenchmarkModel("mobilenet_v2", DataType.QUANT8_SIGNED, SIZE, WIDTH, 3)
    options = pb.RunOptions(hal_version=pb.HAL_VERSION_1_3)
    outputs = [
        measure(HalyardDevice(device, target, options, DriverOptions(backends)), benchmark_model)
        for target, backends in (
            (Target.hidl(service.instance), ()),
            (Target.in_process(), ("CpuRef",)),
        )
    ]
    first, second = (measured.result.examples[0].outputs for measured in outputs)
    assert first[0].data == second[0].data
