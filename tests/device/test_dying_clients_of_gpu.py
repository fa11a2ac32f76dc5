# SPDX-License-Identifier: Apache-2.0
"""Clients killed while a GPU has an execution of theirs, and does not come to an end with it.

The GPU is the library of tests/fake_opencl, which the service loads as it would a vendor's, and
which is told by files beside it to have one wait hang.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import pytest

from halyard.devices import Service, ServiceOptions, VirtualDevice
from tests.device.attacking import Attacker, assert_served
from tests.device.footprint import Footprint, await_footprint, await_no_clients, await_rest
from tests.device.programs import put_test_program
from tests.waiting import awaited

_LIBRARY = "backends/fake_opencl/fake_opencl.so"
_INSTANCE = "halyard-dying-gpu"
# Until an execution hangs, and until what it had is gone once it does not any more.
_PATIENCE = 30.0
_SLACK: Mapping[str, int] = {
    "threads": 16,
    "binder_threads": 16,
    "mappings": 64,
    "binder_refs": 1,
    "binder_deaths": 1,
}


@dataclass(frozen=True)
class Counts:
    """The library's live objects."""

    alive: int  # objects
    pending: int  # commands
    misused: int  # allocations that were released before their commands had been carried out
    launched: int = field(compare=False)  # kernels, so far


class FakeGpu:
    """The library on the device, and the files that control it: see
    tests/fake_opencl/from_outside.h."""

    def __init__(self, device: VirtualDevice) -> None:
        self._device = device
        self.library = put_test_program(device, _LIBRARY)
        self._shell(f"rm -f {self.library}.* && : >{self.library}.counts")

    def _shell(self, command: str) -> str:
        return self._device.shell(command).check().stdout

    def counts(self) -> Counts:
        return Counts(*(int(word) for word in self._shell(f"cat {self.library}.counts").split()))

    def hang(self) -> None:
        """The next that waits for the device."""
        self._shell(f": >{self.library}.hang")

    def hangs(self) -> bool:
        return self._device.shell(f"[ -e {self.library}.hanging ]").exit_code == 0

    def go_on(self) -> None:
        self._shell(f"rm -f {self.library}.hang {self.library}.hanging")


@pytest.fixture
def gpu(device: VirtualDevice) -> FakeGpu:
    return FakeGpu(device)


@pytest.fixture
def service(device: VirtualDevice, gpu: FakeGpu) -> Iterator[Service]:
    options = ServiceOptions(
        instance=_INSTANCE,
        # Compiled in the service, so that no other process has the library's files.
        backends=[f"GpuAcc:library={gpu.library}:compiler=inside", "CpuRef"],
        verbose=False,
    )
    with device.start_service(options) as service:
        yield service
        gpu.go_on()
        assert service.is_running(), service.log()[-2000:]


def _await(what: Callable[[], bool], failure: Callable[[], str]) -> None:
    awaited(what, failure, seconds=_PATIENCE)


def _on_devices(service: Service) -> int:
    return int(service.report()["memory_of_devices"][0].split("\t")[0])


@pytest.mark.parametrize("call", ["synchronous", "launched"])
def test_one_killed_in_an_execution_holds_no_client_up_and_leaves_nothing(
    device: VirtualDevice, service: Service, gpu: FakeGpu, call: str
) -> None:
    attacker = Attacker(device, service)
    # The backend keeps objects for the next one after the first time: a queue for each of those
    # that were at work at once, its staging memory, programs.
    before: tuple[Counts, Footprint] | None = None
    for _ in range(3):
        with attacker.start("executing", "--against", call) as client:
            _await(lambda: "it executes" in client.said(), client.said)
            gpu.hang()
            _await(gpu.hangs, client.said)
        # It has been killed, and the device is still at it.
        assert gpu.hangs()
        during = gpu.counts()
        assert during.pending > 0
        assert_served(attacker.honest())
        assert gpu.counts().launched > during.launched, "the other one was served elsewhere"
        assert gpu.hangs()
        assert _on_devices(service) > 0, "what the device may still use is not given back"

        gpu.go_on()
        await_no_clients(service)
        await_rest(device, service.pid)
        counts = gpu.counts()
        print(counts)
        assert (counts.pending, counts.misused) == (0, 0)
        if before is None:
            before = counts, Footprint.of(device, service.pid)
        assert counts == before[0]
        await_footprint(device, service.pid, before[1], _SLACK)
    assert_served(attacker.honest())
