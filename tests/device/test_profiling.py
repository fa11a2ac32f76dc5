# SPDX-License-Identifier: Apache-2.0
"""Profiles through the service, its marks in the kernel's trace, and layers of a service."""

import re
from collections.abc import Iterator

import pytest

from halyard.benchmark_model import BenchmarkModel
from halyard.comparison.choice import choose
from halyard.comparison.comparison import Inputs, Settings, compare_sides
from halyard.comparison.opening import Sides
from halyard.devices import WORK_FOLDER, ServiceOptions, VirtualDevice
from halyard.engines.halyard import HalyardDevice
from halyard.engines.workload import Workload
from halyard.errors import ConfigError
from halyard.model import DataType
from halyard.profiling.capture import Profiled, capture
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Target
from halyard.transport import hal_version
from tests.harness.profiling.test_profiling import decoded, nested

_MODEL = BenchmarkModel.of_zoo("small_classifier", DataType.FLOAT32, 16, 0.5)
_TRACING = "/sys/kernel/tracing"
_NAME = "halyard-profiled"


def test_a_service_is_profiled_and_leaves_nothing(device: VirtualDevice) -> None:
    how = Profiled(
        count=3,
        warmup=1,
        hal=hal_version.choose("1.3"),
        service=ServiceOptions(instance=_NAME, backends=["CpuAcc"]),
    )
    found = capture(device, _MODEL, how)
    assert not found.problems
    record = found.record()
    assert record.executions == 3
    assert record.nodes
    assert record.driver_ms is not None
    assert record.nodes_ms is not None
    assert {node.backend for node in record.nodes} == {"CpuAcc"}
    assert found.samples.load, "the device tells of its processors"
    assert any("frequency is missing" in note for note in found.notes), "QEMU's have none"
    slices = nested(decoded(found.trace()))
    served = [each for track in slices.values() for each in track if "[NN_LD_PE]execute" in each]
    calls = [each for track in slices.values() for each in track if "[NN_LA_PE]execute" in each]
    assert len(served) == len(calls) == 3
    for call, request in zip(sorted(calls), sorted(served), strict=True):
        assert call[1] <= request[1] <= request[2], "on one clock, though in two processes"
    names = device.shell(f"ls {WORK_FOLDER}").stdout.split()
    assert not [name for name in names if name.startswith("trace-")]


def test_a_service_that_is_there_is_profiled_from_outside(device: VirtualDevice) -> None:
    with device.start_service(ServiceOptions(instance=_NAME)):
        found = capture(device, _MODEL, Profiled(count=2, warmup=0, instance=_NAME))
    assert not found.problems
    assert not found.nodes
    assert any("nodes are not timed" in note for note in found.notes)
    assert found.record().wall_ms is not None


@pytest.fixture
def tracefs(device: VirtualDevice) -> Iterator[str]:
    mounted = device.shell(
        f"mountpoint -q {_TRACING} || mount -t tracefs tracefs {_TRACING}", timeout=20
    )
    if mounted.exit_code != 0:
        pytest.skip(f"the device's kernel has no tracefs: {mounted.stderr}")
    device.shell(f"echo 1 >{_TRACING}/tracing_on; echo >{_TRACING}/trace").check()
    yield f"{_TRACING}/trace_marker"
    device.shell(f"echo >{_TRACING}/trace")


def test_marks_stand_in_the_kernels_trace(device: VirtualDevice, tracefs: str) -> None:
    """As atrace and Perfetto read them, from a service whose system calls are filtered."""
    options = ServiceOptions(instance=_NAME, arguments=["--atrace", tracefs])
    with device.start_service(options) as service:
        pid = service.pid
        engine = HalyardDevice(device, Target.hidl(_NAME), pb.RunOptions())
        with Workload.seeded(_MODEL.runnable, 0) as work, engine.prepare(work) as prepared:
            assert prepared.report(2).failed_stage == pb.STAGE_NONE
        assert service.is_running()
    lines = device.shell(f"cat {_TRACING}/trace").check().stdout.splitlines()
    marks = [found[1] for line in lines if (found := re.search(r"tracing_mark_write: (.*)", line))]
    names = [mark.split("|")[2] for mark in marks if mark.startswith(f"B|{pid}|")]
    assert names.count("[NN_LD_PC]prepareModel") == 1
    assert names.count("[NN_LD_PE]execute") == 2
    assert any(name.startswith("[NN_LC_PCO]operation ") for name in names)
    assert marks.count(f"E|{pid}") == len(names), "what begins ends"
    assert f"C|{pid}|halyard requests|1" in marks


def test_layers_of_a_service_are_compared_with_this_machines(device: VirtualDevice) -> None:
    runnable = _MODEL.runnable
    with Sides() as sides:
        found = compare_sides(
            runnable,
            sides.open(choose("CpuRef")),
            sides.open(choose(f"{device.serial}:aidl4:backends=CpuAcc")),
            [Inputs("seed 0", runnable.input_arrays(0))],
            Settings(isolate=True),
        )
        with pytest.raises(ConfigError, match="a second service over AIDL"):
            sides.open(choose(f"{device.serial}:aidl4:backends=CpuRef"))
    assert found.ok, found.problems
    assert found.b.version.startswith("aidl:halyard-default, HAL AIDL-4")
    assert set(found.b.backends) == {"CpuAcc"}
    assert found.layers is not None
    assert found.layers.first is None
    assert all(layer.isolated is not None for layer in found.layers.layers)


def test_two_services_of_a_device_are_compared(device: VirtualDevice) -> None:
    runnable = _MODEL.runnable
    with Sides() as sides:
        a, b, again = (
            sides.open(choose(f"{device.serial}:1.3:backends={backends}"))
            for backends in ("CpuRef", "CpuAcc", "CpuAcc")
        )
        inputs = [Inputs("seed 0", runnable.input_arrays(0))]
        found = compare_sides(runnable, a, b, inputs)
        assert compare_sides(runnable, b, again, inputs).b.version == found.b.version
    assert found.ok, found.problems
    assert (found.a.backends.keys(), found.b.backends.keys()) == ({"CpuRef"}, {"CpuAcc"})
    assert found.a.version.startswith("hidl:halyard-default, HAL 1.3")
    assert found.b.version.startswith("hidl:halyard-default-2, HAL 1.3")
