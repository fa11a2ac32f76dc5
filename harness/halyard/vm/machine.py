# SPDX-License-Identifier: Apache-2.0
"""The machines that can be emulated, as data."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Machine:
    """One architecture: what QEMU emulates, and what Debian calls the parts."""

    name: str
    qemu: str  # the program
    qemu_package: str
    arguments: tuple[str, ...]
    net_device: str
    console: str
    # What the kernel is told beyond the console: all of it saves time under emulation, where
    # self-tests and mitigations cost most.
    kernel_arguments: tuple[str, ...]
    kernel_package: str  # Debian's meta package
    # With their parameters, in this order; what they depend on is found and goes before.
    modules: tuple[tuple[str, str], ...]
    elf_machine: str
    library_folders: tuple[str, ...]


X86_64 = Machine(
    name="x86_64",
    qemu="qemu-system-x86_64",
    qemu_package="qemu-system-x86",
    # Not microvm, which boots sooner: it has no HPET, so that on a busy host the kernel can't
    # calibrate a clock, and measures time in ticks or stops.
    arguments=("-machine", "pc", "-cpu", "max"),
    net_device="virtio-net-pci,romfile=",
    console="ttyS0",
    kernel_arguments=(
        "nokaslr",
        "mitigations=off",
        "cryptomgr.notests",
        "no_timer_check",
        "random.trust_cpu=on",
    ),
    kernel_package="linux-image-amd64",
    modules=(
        ("virtio_pci", ""),
        ("virtio_net", ""),
        ("binder_linux", "devices=binder,hwbinder"),
    ),
    elf_machine="EM_X86_64",
    library_folders=(
        "/lib/x86_64-linux-gnu",
        "/usr/lib/x86_64-linux-gnu",
        "/lib64",
        "/usr/lib64",
        "/lib",
        "/usr/lib",
    ),
)
