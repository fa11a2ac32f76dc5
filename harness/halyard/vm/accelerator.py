# SPDX-License-Identifier: Apache-2.0
"""Whether the virtual device runs on KVM or is emulated (TCG).

That /dev/kvm is there does not mean that a guest boots with it: it may be another container's, or
virtualisation may not nest. So it is tried, given up after seconds, and that is remembered until
this machine boots again. `--accel kvm` tries it once more.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from halyard.errors import VmError
from halyard.vm.machine_type import Machine

_DEVICE = Path("/dev/kvm")
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Accel(StrEnum):
    """The accelerator that is asked for."""

    AUTO = "auto"
    KVM = "kvm"
    TCG = "tcg"


@dataclass(frozen=True)
class Kvm:
    """This machine's. `memory`: the file that keeps that it did not work."""

    memory: Path
    device: Path = _DEVICE

    def ways(self, machine: Machine, wanted: Accel) -> Sequence[Accel]:
        """The accelerators to boot with, one after the other until one works. VmError if KVM is
        wanted and is not to be had."""
        if wanted is Accel.TCG:
            return [Accel.TCG]
        reason = self._absent(machine)
        if wanted is Accel.KVM:
            if reason:
                raise VmError(f"no KVM: {reason}; --accel tcg emulates")
            return [Accel.KVM]
        return [Accel.TCG] if reason or self.failure() else [Accel.KVM, Accel.TCG]

    def _absent(self, machine: Machine) -> str:
        if not machine.is_here():
            return f"this machine is no {machine.name}"
        if not self.device.exists():
            return f"there is no {self.device}"
        if not os.access(self.device, os.R_OK | os.W_OK):
            return f"{self.device} is not this user's to open (is it in the group kvm?)"
        return ""

    def failure(self) -> str:
        """Why it did not work when it was tried last, since this machine booted."""
        try:
            kept = json.loads(self.memory.read_text())
            return str(kept["reason"]) if kept["boot"] == _boot_id() else ""
        except (OSError, ValueError, KeyError, TypeError):
            return ""

    def keep(self, failure: str) -> None:
        """Remembers why it did not work; an empty reason: it did. Where nothing can be written it
        is tried again the next time."""
        try:
            if failure:
                self.memory.write_text(json.dumps({"boot": _boot_id(), "reason": failure}))
            else:
                self.memory.unlink(missing_ok=True)
        except OSError:
            return


def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""
