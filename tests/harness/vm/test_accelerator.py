# SPDX-License-Identifier: Apache-2.0
"""KVM where a guest boots with it, with programs that stand for QEMU."""

import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from halyard.errors import VmError
from halyard.vm import accelerator, initramfs, kernel, virtual_machine
from halyard.vm.accelerator import Accel, Kvm
from halyard.vm.kernel import Kernel
from halyard.vm.machine_type import ARM64, MACHINES, X86_64, Machine
from halyard.vm.virtual_machine import VirtualMachine, VmOptions, booted
from tests.harness.vm.test_qemu import ANSWERING

HERE = next((machine for machine in MACHINES.values() if machine.is_here()), X86_64)
OTHER = X86_64 if HERE is ARM64 else ARM64

# Boots at once when it emulates; what it does on KVM is put in.
BOOTING = """
import re, sys
line = " ".join(sys.argv)
console = re.search(r"-serial file:(\\S+)", line)[1]
on_kvm = "-accel kvm" in line
with open(sys.argv[0] + ".calls", "a") as calls:
    calls.write("kvm\\n" if on_kvm else "tcg\\n")
text = "halyard: stage kernel 1.00\\nhalyard: stage adbd 2.00\\n"
if on_kvm:
    {on_kvm}
open(console, "w").write(text)
"""

FAILS = 'sys.exit("qemu: failed to initialize kvm")'
HANGS = 'text = ""'
PANICS = 'text = "halyard: stage kernel 1.00\\nKernel panic - not syncing: no.\\n"'
WORKS = "pass"


@pytest.fixture
def fake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], tuple[Machine, Callable[[], list[str]]]]:
    """A machine whose QEMU does that on KVM, and what its calls were."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = Kernel("6.1", tmp_path / "vmlinuz", (), "made up")
    monkeypatch.setattr(kernel, "find", lambda *_: found)
    monkeypatch.setattr(initramfs, "native_programs", lambda _: {})
    monkeypatch.setattr(initramfs, "build", lambda *_, **__: b"")
    monkeypatch.setattr(Kvm.__init__, "__defaults__", (tmp_path / "kvm",))
    monkeypatch.setattr(virtual_machine, "_KVM_FIRST_SIGN", 1.0)
    (tmp_path / "kvm").write_text("")

    def make(on_kvm: str) -> tuple[Machine, Callable[[], list[str]]]:
        program = tmp_path / "qemu"
        program.write_text(f"#!{sys.executable}\n{BOOTING.replace('{on_kvm}', on_kvm)}{ANSWERING}")
        program.chmod(0o755)
        calls = Path(f"{program}.calls")

        def taken() -> list[str]:
            words = calls.read_text().split()
            calls.unlink()
            return words

        return dataclasses.replace(HERE, qemu=str(program)), taken

    return make


def boot(machine: Machine, accel: Accel = Accel.AUTO) -> VirtualMachine:
    with booted(VmOptions(machine=machine, accel=accel), lambda _: None) as running:
        return running


Fake = Callable[[str], tuple[Machine, Callable[[], list[str]]]]


def test_kvm_is_used_where_a_guest_boots_with_it(fake: Fake) -> None:
    machine, calls = fake(WORKS)
    assert not boot(machine).is_emulated
    assert boot(machine, Accel.TCG).is_emulated
    assert calls() == ["kvm", "tcg"]


@pytest.mark.parametrize("way", [FAILS, HANGS, PANICS])
def test_kvm_that_does_not_work_is_given_up_and_remembered(fake: Fake, way: str) -> None:
    machine, calls = fake(way)
    first = boot(machine)
    assert first.is_emulated
    assert "KVM tried in vain" in first.stages
    assert boot(machine).is_emulated
    assert calls() == ["kvm", "tcg", "tcg"]


def test_kvm_that_is_asked_for_is_tried_again(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    machine, calls = fake(FAILS)
    boot(machine)
    with pytest.raises(VmError, match=r"on KVM: QEMU did not start: qemu: failed to init.*tcg"):
        boot(machine, Accel.KVM)
    assert calls() == ["kvm", "tcg", "kvm"]
    machine, calls = fake(WORKS)
    assert not boot(machine, Accel.KVM).is_emulated
    assert not boot(machine).is_emulated
    assert calls() == ["kvm", "kvm"]


def test_it_is_remembered_until_this_machine_boots_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kvm = Kvm(tmp_path / "memory", device=tmp_path)
    kvm.keep("no luck")
    assert kvm.failure() == "no luck"
    assert kvm.ways(HERE, Accel.AUTO) == [Accel.TCG]
    monkeypatch.setattr(accelerator, "_boot_id", lambda: "another")
    assert kvm.failure() == ""
    assert kvm.ways(HERE, Accel.AUTO) == [Accel.KVM, Accel.TCG]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"boot": 1}'])
def test_a_memory_that_makes_no_sense_is_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "memory").write_text(content)
    assert Kvm(tmp_path / "memory").failure() == ""


def test_without_kvm_it_is_emulated_and_kvm_can_not_be_asked_for(tmp_path: Path) -> None:
    kvm = Kvm(tmp_path / "memory", device=tmp_path / "none")
    assert kvm.ways(HERE, Accel.AUTO) == [Accel.TCG]
    with pytest.raises(VmError, match=r"there is no .*none; --accel tcg emulates"):
        kvm.ways(HERE, Accel.KVM)
    there = Kvm(tmp_path / "memory", device=tmp_path)
    assert there.ways(OTHER, Accel.AUTO) == [Accel.TCG]
    with pytest.raises(VmError, match=f"this machine is no {OTHER.name}"):
        there.ways(OTHER, Accel.KVM)
