# SPDX-License-Identifier: Apache-2.0
"""The machines that a virtual device can be, as data: all that differs between architectures."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

MachineName = Literal["x86_64", "arm64"]


@dataclass(frozen=True)
class Machine:
    """One architecture: what QEMU emulates, and what Debian calls the parts."""

    name: MachineName
    uname: str  # as its kernel says it
    suffix: str  # of the names of devices that are such machines: vm, vm-arm64
    qemu: str  # the program
    qemu_package: str
    qemu_user: str  # the program that runs this machine's programs on another
    qemu_user_package: str
    arguments: tuple[str, ...]  # emulated
    kvm_arguments: tuple[str, ...]  # where this machine runs it itself
    net_device: str
    console: str
    # The kernel's arguments beyond the console: all of it saves time under emulation, where
    # self-tests and mitigations cost most.
    kernel_arguments: tuple[str, ...]
    debian: str  # the name of its packages' architecture
    kernel_package: str  # Debian's meta package
    kernel_backported: bool  # whether it is one of the backports
    # With their parameters, in this order; what they depend on is found and goes before.
    modules: tuple[tuple[str, str], ...]
    # Those that a device may be told to load later, where its kernel has them.
    loadable: tuple[str, ...]
    elf_machine: str
    # Where the libraries of Debian's compiler for it lie below their root, and the root where they
    # are not this machine's own.
    library_folders: tuple[str, ...]
    cross_root: str

    def is_here(self) -> bool:
        """Whether this machine is one."""
        return platform.machine() == self.uname

    def library_root(self) -> str:
        return "/" if self.is_here() else self.cross_root


_MODULES = (
    ("virtio_pci", ""),
    ("virtio_net", ""),
    ("binder_linux", "devices=binder,hwbinder,vndbinder"),
    ("fuse", ""),  # file systems of clients' own, for tests
)

# Buffers and fences of a graphics device that the machine lacks: dma-buf and sync_file, for tests.
_LOADABLE = ("vgem",)

X86_64 = Machine(
    name="x86_64",
    uname="x86_64",
    suffix="",
    qemu="qemu-system-x86_64",
    qemu_package="qemu-system-x86",
    qemu_user="qemu-x86_64-static",
    qemu_user_package="qemu-user-static",
    # Not microvm, which boots sooner: it has no HPET, so that on a busy host the kernel can't
    # calibrate a clock, and measures time in ticks or stops.
    arguments=("-machine", "pc", "-cpu", "max"),
    kvm_arguments=("-machine", "pc", "-cpu", "host"),
    net_device="virtio-net-pci,romfile=",
    console="ttyS0",
    kernel_arguments=(
        "nokaslr",
        "mitigations=off",
        "cryptomgr.notests",
        "no_timer_check",
        "random.trust_cpu=on",
    ),
    debian="amd64",
    kernel_package="linux-image-amd64",
    kernel_backported=False,
    modules=_MODULES,
    loadable=_LOADABLE,
    elf_machine="EM_X86_64",
    library_folders=(
        "/lib/x86_64-linux-gnu",
        "/usr/lib/x86_64-linux-gnu",
        "/lib64",
        "/usr/lib64",
        "/lib",
        "/usr/lib",
    ),
    cross_root="/usr/x86_64-linux-gnu",
)

ARM64 = Machine(
    name="arm64",
    uname="aarch64",
    suffix="-arm64",
    qemu="qemu-system-aarch64",
    qemu_package="qemu-system-arm",
    qemu_user="qemu-aarch64-static",
    qemu_user_package="qemu-user-static",
    # Pointer authentication is emulated by a cipher that costs more than all else, unless QEMU is
    # allowed one of its own.
    arguments=("-machine", "virt,gic-version=3", "-cpu", "max,pauth-impdef=on"),
    kvm_arguments=("-machine", "virt,gic-version=host", "-cpu", "host"),
    net_device="virtio-net-pci,romfile=",
    console="ttyAMA0",
    kernel_arguments=(
        "nokaslr",
        "mitigations=off",
        "cryptomgr.notests",
        "random.trust_cpu=on",
    ),
    debian="arm64",
    kernel_package="linux-image-arm64",
    kernel_backported=False,
    modules=_MODULES,
    loadable=_LOADABLE,
    elf_machine="EM_AARCH64",
    library_folders=(
        "/lib/aarch64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/lib",
        "/usr/lib",
    ),
    cross_root="/usr/aarch64-linux-gnu",
)

# With pages of 16 KiB, as phones may have them since Android 15. Debian 12 has such a kernel in its
# backports alone.
ARM64_16K = replace(ARM64, kernel_package="linux-image-arm64-16k", kernel_backported=True)

MACHINES: Mapping[str, Machine] = {machine.name: machine for machine in (X86_64, ARM64)}
