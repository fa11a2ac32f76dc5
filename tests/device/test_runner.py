# SPDX-License-Identifier: Apache-2.0
"""Cases that end badly on a service, and the cases behind them in the bundle."""

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from halyard.benchmark_model import BenchmarkModel
from halyard.devices import Service, VirtualDevice
from halyard.model import DataType
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Target, run_cases
from tests.waiting import awaited

ENDLESS = 100_000_000


def endless() -> pb.TestCase:
    model = BenchmarkModel("mobilenet_v2", DataType.QUANT8, 32, 0.1).zoo_model
    return pb.TestCase(name="endless", model=model.model, examples=[model.example(0)])


def invalid() -> pb.TestCase:
    """A case that ends at once, however often it is to be executed."""
    case = endless()
    case.name = "invalid"
    case.model.main.operations[0].inputs[0] = 100_000
    return case


@pytest.fixture
def service(device: VirtualDevice) -> Iterator[Service]:
    with device.start_service() as service:
        yield service


@pytest.fixture
def second(device: VirtualDevice) -> Iterator[VirtualDevice]:
    """The device for another thread."""
    with VirtualDevice(device.machine) as second:
        yield second


def interrupted(
    second: VirtualDevice, service: Service, interrupt: Callable[[], None]
) -> list[pb.CaseResult]:
    """The results of an endless case, which is interrupted once its model is there, and of two
    that end at once."""
    cases, options = [endless(), invalid(), invalid()], pb.RunOptions(repeat=ENDLESS, timeout_s=90)
    with ThreadPoolExecutor(1) as thread:
        results = thread.submit(run_cases, second, cases, options, Target.hidl(service.instance))
        try:
            awaited(lambda: service.report()["live_models"] != ["0"], "the case does not begin")
        finally:
            interrupt()
        return results.result()


def clients(device: VirtualDevice) -> list[str]:
    """The runners that were started by a runner."""
    runners = device.shell("pidof halyard-runner").stdout.split()
    parents = {
        pid: device.shell(f"cat /proc/{pid}/stat").check().stdout.rpartition(")")[2].split()[1]
        for pid in runners
    }
    return [pid for pid in runners if parents[pid] in runners]


def assert_the_others_ran(results: list[pb.CaseResult]) -> None:
    assert [(result.name, result.failed_stage) for result in results[1:]] == [
        ("invalid", pb.STAGE_SUPPORT),
        ("invalid", pb.STAGE_SUPPORT),
    ], results


def test_a_client_that_dies_costs_one_case(
    device: VirtualDevice, second: VirtualDevice, service: Service
) -> None:
    def kill() -> None:
        device.shell(f"kill -9 {' '.join(clients(device))}").check()

    results = interrupted(second, service, kill)
    assert results[0].failed_stage == pb.STAGE_CRASH
    assert "signal 9" in results[0].message
    assert_the_others_ran(results)


def test_a_case_without_end_costs_one_case(device: VirtualDevice, service: Service) -> None:
    options = pb.RunOptions(repeat=ENDLESS, timeout_s=5)
    results = run_cases(
        device, [endless(), invalid(), invalid()], options, Target.hidl(service.instance)
    )
    assert results[0].failed_stage == pb.STAGE_HANG
    assert "while executing" in results[0].message
    assert_the_others_ran(results)


def test_a_service_that_dies_and_comes_back_costs_one_case(
    device: VirtualDevice, second: VirtualDevice, service: Service
) -> None:
    with contextlib.ExitStack() as stack:

        def restart() -> None:
            device.shell(f"kill -9 {service.pid}").check()
            stack.enter_context(device.start_service())

        results = interrupted(second, service, restart)
    assert results[0].failed_stage == pb.STAGE_CRASH
    assert "the service died" in results[0].message
    assert_the_others_ran(results)
