# SPDX-License-Identifier: Apache-2.0
"""Clients that die or lie, and a service that goes on serving."""

import random
import shlex
import socket
from pathlib import Path

import pytest

from halyard.benchmark_model import BenchmarkModel
from halyard.devices import WORK_FOLDER, Service, VirtualDevice
from halyard.engines.halyard import HalyardDevice
from halyard.measurement.measurement import measure
from halyard.model import DataType
from halyard.programs import native, protobuf_stream
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Target
from tests.device.footprint import await_computing
from tests.device.programs import put_test_program

BENCHMARK_MODEL = BenchmarkModel("mobilenet_v2", DataType.QUANT8, 32, 0.1)


def assert_it_serves(device: VirtualDevice, service: Service) -> None:
    assert service.is_running(), service.log()
    engine = HalyardDevice(device, Target.hidl(service.instance), pb.RunOptions())
    measured = measure(engine, BENCHMARK_MODEL)
    assert measured.problems == []


def push_bundle(device: VirtualDevice, folder: Path, options: pb.RunOptions) -> tuple[str, str]:
    """One case with the model, and options; their paths on the device."""
    model = BENCHMARK_MODEL.zoo_model
    case = pb.TestCase(name="victim", model=model.model, examples=[model.example(0)])
    (folder / "bundle").write_bytes(protobuf_stream.write([case]))
    (folder / "options").write_bytes(options.SerializeToString())
    for name in ("bundle", "options"):
        device.push(folder / name, f"{WORK_FOLDER}/victim.{name}")
    return f"{WORK_FOLDER}/victim.bundle", f"{WORK_FOLDER}/victim.options"


def put_to_it(device: VirtualDevice, service: Service, mode: str, *bundle: str) -> None:
    """The hostile client, in one of its modes."""
    program = put_test_program(device, "hostile-client")
    device.shell(shlex.join([program, service.instance, mode, *bundle]), 300).check()


@pytest.mark.parametrize("mode", ["truncated-parcel", "garbage-parcel"])
def test_parcels_that_lie_leave_it_serving(
    device: VirtualDevice, service: Service, mode: str
) -> None:
    put_to_it(device, service, mode)
    assert_it_serves(device, service)


def test_a_client_that_dies_after_asking_for_executions_leaves_it_serving(
    device: VirtualDevice, service: Service, tmp_path: Path
) -> None:
    bundle, _ = push_bundle(device, tmp_path, pb.RunOptions())
    put_to_it(device, service, "die-during-execute", bundle)
    assert_it_serves(device, service)


def test_constants_cut_off_while_in_use_fail_the_execution_and_leave_it_serving(
    device: VirtualDevice, service: Service, tmp_path: Path
) -> None:
    bundle, _ = push_bundle(device, tmp_path, pb.RunOptions())
    put_to_it(device, service, "cut-memory", bundle)
    assert "was cut short by its owner" in service.log()
    assert_it_serves(device, service)


@pytest.mark.parametrize("mode", [pb.EXECUTION_MODE_ASYNC, pb.EXECUTION_MODE_SYNC])
def test_a_client_killed_in_the_middle_of_executing_leaves_it_serving(
    device: VirtualDevice, service: Service, tmp_path: Path, mode: pb.ExecutionMode
) -> None:
    options = pb.RunOptions(hal_version=pb.HAL_VERSION_1_3, mode=mode, repeat=1_000_000)
    bundle, given = push_bundle(device, tmp_path, options)
    runner = device.put_program(native.RUNNER)
    command = (
        f"{runner} --target hidl:{service.instance} --bundle {bundle} --options {given} "
        f"--results {WORK_FOLDER}/victim.results"
    )
    device.shell(f"setsid sh -c {shlex.quote(command)} >/dev/null 2>&1 </dev/null &").check()
    wait_until_it_computes(device, service)
    device.shell("kill -9 $(pidof halyard-runner)").check()
    assert_it_serves(device, service)


def wait_until_it_computes(device: VirtualDevice, service: Service) -> None:
    """Until the service has used processor time that it did not use by itself."""
    await_computing(device, service.pid, ticks=50)


def test_bytes_thrown_at_adbd_leave_the_device_reachable(device: VirtualDevice) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    source = random.Random(seed)
    for _ in range(10):
        with socket.create_connection(("127.0.0.1", device.machine.port), timeout=20) as connection:
            connection.sendall(source.randbytes(source.randrange(1, 2000)))
    assert device.shell("echo reachable").stdout == "reachable\n"
