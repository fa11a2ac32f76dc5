# SPDX-License-Identifier: Apache-2.0
"""The virtual device that stays: its record, on processes that are not QEMU."""

import contextlib
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from halyard.cli.options.device import check_lasting
from halyard.devices import VirtualDevice, config_of, open_config, vm_options
from halyard.devices.config import parse
from halyard.errors import ConfigError
from halyard.vm import qemu, virtual_machine
from halyard.vm.machine_type import ARM64, X86_64
from halyard.vm.virtual_machine import Resident, VirtualMachine, VmOptions


class Boots:
    """Stands for boot: each machine is a process that sleeps."""

    def __init__(self) -> None:
        self.processes: list[subprocess.Popen[bytes]] = []

    def boot(
        self, folder: Path, options: VmOptions, *_: Any, outlive: bool
    ) -> tuple[None, VirtualMachine]:
        assert outlive
        process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        self.processes.append(process)
        born = qemu.start_time(process.pid)
        assert born is not None
        return None, VirtualMachine(
            pid=process.pid,
            born=born,
            port=5000 + len(self.processes),
            folder=str(folder),
            kernel="6.1",
            programs="digest",
            started=0.0,
            stages={"kernel": 1.5, "adbd": 0.5},
            memory=options.memory,
            processors=options.processors,
            properties=options.properties,
        )


@pytest.fixture
def boots(monkeypatch: pytest.MonkeyPatch) -> Iterator[Boots]:
    boots = Boots()
    monkeypatch.setattr(virtual_machine, "boot", boots.boot)
    yield boots
    for process in boots.processes:
        process.kill()
        process.wait()


def no_probe(_: int) -> None:
    return


def test_nothing_runs_at_first(tmp_path: Path) -> None:
    assert Resident(tmp_path / "vm").running() is None
    assert Resident(tmp_path / "vm").stop() is None


def test_another_command_finds_it(tmp_path: Path, boots: Boots) -> None:
    machine, is_new = Resident(tmp_path).start(VmOptions(), no_probe)
    assert is_new
    assert Resident(tmp_path).running() == machine
    assert machine.boot_seconds == 2.0
    assert len(boots.processes) == 1


def test_there_is_one_of_each_architecture(
    tmp_path: Path, boots: Boots, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    first, _ = Resident().start(VmOptions(), no_probe)
    assert Resident(machine=ARM64).running() is None
    second, is_new = Resident(machine=ARM64).start(VmOptions(machine=ARM64), no_probe)
    assert is_new
    Resident(machine=ARM64).stop()
    assert Resident().running() == first != second


def test_there_is_one_of_each_name(
    tmp_path: Path, boots: Boots, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    plain, _ = Resident().start(VmOptions(), no_probe)
    first, _ = Resident(name="1").start(VmOptions(name="1"), no_probe)
    second, _ = Resident(name="2").start(VmOptions(name="2"), no_probe)
    assert len({machine.pid for machine in (plain, first, second)}) == 3
    assert Resident.names(X86_64) == ["1", "2"]
    assert Resident.names(ARM64) == []
    assert VirtualDevice.open(VmOptions(name="2")).machine == second
    Resident(name="2").stop()
    assert Resident.names(X86_64) == ["1"]
    assert Resident(name="1").running() == first
    assert Resident().running() == plain


def test_a_device_of_a_name_is_the_resident_of_that_name() -> None:
    config = config_of("vm:left")
    assert (config.kind, config.name, config.emulated()) == ("virtual", "left", X86_64)
    assert vm_options(config_of("vm-arm64:1")) == VmOptions(machine=ARM64, name="1")
    assert config_of("vm").name is None
    for wrong in ("vm:", "vm:a b", "vm:../x", f"vm:{'a' * 33}"):
        with pytest.raises(ConfigError, match="no name of a virtual device"):
            config_of(wrong)


def test_it_is_started_once(tmp_path: Path, boots: Boots) -> None:
    first, _ = Resident(tmp_path).start(VmOptions(), no_probe)
    second, is_new = Resident(tmp_path).start(VmOptions(), no_probe)
    assert (second, is_new) == (first, False)
    assert len(boots.processes) == 1


def test_two_commands_at_a_time_boot_one(tmp_path: Path, boots: Boots) -> None:
    started: list[VirtualMachine] = []
    threads = [
        threading.Thread(
            target=lambda: started.append(Resident(tmp_path).start(VmOptions(), no_probe)[0])
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({machine.pid for machine in started}) == len(boots.processes) == 1


def test_one_that_runs_otherwise_than_asked_for_is_told(tmp_path: Path, boots: Boots) -> None:
    Resident(tmp_path).start(VmOptions(memory=1024), no_probe)
    more = VmOptions(memory=2048, processors=4)
    with pytest.raises(ConfigError, match=r"has memory 1024, not 2048: halyard vm stop ends it"):
        Resident(tmp_path).start(more, no_probe, asked=["memory"])
    # Settings that are not asked for do not matter.
    assert not Resident(tmp_path).start(more, no_probe, asked=[])[1]
    assert not Resident(tmp_path).start(VmOptions(memory=1024), no_probe, asked=["memory"])[1]
    assert len(boots.processes) == 1


def test_a_device_with_other_settings_gets_a_machine_of_its_own(
    tmp_path: Path, boots: Boots, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    resident, _ = Resident().start(VmOptions(memory=1024), no_probe)
    own = []
    monkeypatch.setattr(VirtualDevice, "boot", lambda *_: own.append(1))
    for content in ({}, {"memory": 1024, "processors": 2}):
        assert open_config(parse({"kind": "virtual", **content})).machine == resident
    assert not own
    for content in ({"memory": 2048}, {"properties": {"a": 1}}, {"accel": "kvm"}):
        config = parse({"kind": "virtual", **content})
        open_config(config)
        with pytest.raises(ConfigError, match="the virtual device that runs has"):
            check_lasting(config)
    assert len(own) == 3


@contextlib.contextmanager
def like_qemu(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process with these words in its command line, which is empty until a new program has begun
    to run: for a moment after Popen has returned."""
    code = "import time; print('runs', flush=True); time.sleep(60)"
    command = [sys.executable, "-c", code, *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process


def test_one_whose_start_was_killed_is_ended(tmp_path: Path, boots: Boots) -> None:
    """It has no record, as that is written once it answers."""
    console = tmp_path / "files" / "console"
    words = ["-netdev", "user", "-serial", f"file:{console}"]
    with like_qemu(*words) as left:
        assert Resident(tmp_path).running() is None
        assert left.wait(timeout=20) == -15
    machine, _ = Resident(tmp_path).start(VmOptions(), no_probe)
    other = [*words[:-1], f"file:{tmp_path / 'other' / 'console'}"]
    with like_qemu(*other) as unrelated:
        assert Resident(tmp_path).running() == machine
        assert unrelated.poll() is None
        unrelated.kill()


def test_stop_ends_the_process_and_the_record(tmp_path: Path, boots: Boots) -> None:
    machine, _ = Resident(tmp_path).start(VmOptions(), no_probe)
    stopped = Resident(tmp_path).stop()
    assert stopped == machine
    assert boots.processes[0].wait(timeout=20) == -15
    assert Resident(tmp_path).running() is None


def test_one_that_died_does_not_run_and_is_replaced(tmp_path: Path, boots: Boots) -> None:
    Resident(tmp_path).start(VmOptions(), no_probe)
    boots.processes[0].kill()
    boots.processes[0].wait()
    assert Resident(tmp_path).running() is None
    machine, is_new = Resident(tmp_path).start(VmOptions(), no_probe)
    assert is_new
    assert machine.port == 5002


def test_another_process_with_its_id_is_not_taken_for_it(tmp_path: Path, boots: Boots) -> None:
    machine, _ = Resident(tmp_path).start(VmOptions(), no_probe)
    record = tmp_path / "vm.json"
    record.write_text(record.read_text().replace(str(machine.born), str(machine.born - 1)))
    assert Resident(tmp_path).running() is None
    Resident(tmp_path).stop()
    assert boots.processes[0].poll() is None


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": 1}', '{"pid": 1, "nonsense": 2}'])
def test_a_record_that_makes_no_sense_is_ignored(tmp_path: Path, content: str) -> None:
    (tmp_path / "vm.json").write_text(content)
    assert Resident(tmp_path).running() is None
