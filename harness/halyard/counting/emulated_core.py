# SPDX-License-Identifier: Apache-2.0
"""Cores that QEMU's user emulation stands for, and the files by which programs know them.

Programs read the host's /proc/cpuinfo and /sys/devices/system/cpu, unless files of the same names
lie below the folder that QEMU is given with -L. Ours takes the sizes of caches from there, LiteRT
the core's part number, by which it chooses kernels: the files have to match -cpu.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from halyard.errors import ConfigError

_ARM = 0x41  # implementer
_MHZ = 2000

_BASE = "fp asimd evtstrm aes pmull sha1 sha2 crc32"
_ARMV8_2 = f"{_BASE} atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp ssbs"
_I8MM = (
    f"{_BASE} atomics fphp asimdhp cpuid asimdrdm jscvt fcma lrcpc dcpop sha3 sm3 sm4 asimddp "
    "sha512 asimdfhm dit uscat ilrcpc flagm ssbs sb paca pacg dcpodp flagm2 frint i8mm bf16 bti"
)


@dataclass(frozen=True)
class Cache:
    level: int
    kind: str  # as sysfs has it
    kib: int
    ways: int


@dataclass(frozen=True)
class EmulatedCore:
    """`cpu` is QEMU's -cpu; the rest is what the kernel of such a core says."""

    name: str
    title: str
    cpu: str
    part: int
    variant: int
    revision: int
    features: str
    caches: tuple[Cache, ...]

    def files(self) -> Iterator[tuple[PurePosixPath, str]]:
        """The path of each, and its content: a machine of this one core."""
        yield PurePosixPath("/proc/cpuinfo"), self._cpuinfo()
        cpus = PurePosixPath("/sys/devices/system/cpu")
        for name in ("possible", "present", "online", "kernel_max"):
            yield cpus / name, "0\n"
        for name, value in self._core().items():
            yield cpus / "cpu0" / name, f"{value}\n"
        for index, cache in enumerate(self.caches):
            for name, value in _cache(cache).items():
                yield cpus / f"cpu0/cache/index{index}" / name, f"{value}\n"
        # Readers go on until one has no level: the host's may have more.
        yield cpus / f"cpu0/cache/index{len(self.caches)}/level", ""

    def write(self, root: Path) -> None:
        """The files below a folder."""
        for path, content in self.files():
            file = root / path.relative_to("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)

    @property
    def midr(self) -> int:
        """The core's main identification register."""
        return _ARM << 24 | self.variant << 20 | 0xF << 16 | self.part << 4 | self.revision

    def _cpuinfo(self) -> str:
        lines = {
            "processor": "0",
            "BogoMIPS": "50.00",
            "Features": self.features,
            "CPU implementer": f"{_ARM:#x}",
            "CPU architecture": "8",
            "CPU variant": f"{self.variant:#x}",
            "CPU part": f"{self.part:#x}",
            "CPU revision": f"{self.revision}",
        }
        return "".join(f"{name}\t: {value}\n" for name, value in lines.items()) + "\n"

    def _core(self) -> Mapping[str, object]:
        alone = ("core_siblings_list", "package_cpus_list", "thread_siblings_list")
        return {
            "cpu_capacity": 1024,
            "cpufreq/cpuinfo_max_freq": _MHZ * 1000,
            "cpufreq/cpuinfo_min_freq": _MHZ * 1000,
            "regs/identification/midr_el1": f"{self.midr:#018x}",
            "topology/core_id": 0,
            "topology/physical_package_id": 0,
            "topology/cluster_cpus_list": 0,
            **{f"topology/{name}": 0 for name in alone},
            "topology/core_siblings": 1,
            "topology/thread_siblings": 1,
        }


def _cache(cache: Cache) -> Mapping[str, object]:
    return {
        "level": cache.level,
        "type": cache.kind,
        "size": f"{cache.kib}K",
        "ways_of_associativity": cache.ways,
        "coherency_line_size": 64,
        "shared_cpu_list": 0,
    }


CORES: Mapping[str, EmulatedCore] = {
    core.name: core
    for core in (
        EmulatedCore(
            name="cortex-a53",
            title="Cortex-A53",
            cpu="cortex-a53",
            part=0xD03,
            variant=0,
            revision=4,
            features=f"{_BASE} cpuid",
            caches=(
                Cache(1, "Data", 32, 4),
                Cache(1, "Instruction", 32, 2),
                Cache(2, "Unified", 512, 16),
            ),
        ),
        EmulatedCore(
            name="cortex-a76",
            title="Cortex-A76",
            cpu="cortex-a76",
            part=0xD0B,
            variant=4,
            revision=1,
            features=_ARMV8_2,
            caches=(
                Cache(1, "Data", 64, 4),
                Cache(1, "Instruction", 64, 4),
                Cache(2, "Unified", 256, 8),
                Cache(3, "Unified", 2048, 16),
            ),
        ),
        # QEMU 7.2 has no core with i8mm of its own, and gives `max` SME and SVE of 512 bits, which
        # few phones have: all that `max` has beside these, under the number of a Cortex-X1.
        EmulatedCore(
            name="i8mm",
            title="a core with i8mm",
            cpu="max,sme=off,sve=off",
            part=0xD44,
            variant=0,
            revision=0,
            features=_I8MM,
            caches=(
                Cache(1, "Data", 64, 4),
                Cache(1, "Instruction", 64, 4),
                Cache(2, "Unified", 512, 8),
                Cache(3, "Unified", 4096, 16),
            ),
        ),
    )
}


def core(name: str) -> EmulatedCore:
    """ConfigError for a name that none has."""
    if name not in CORES:
        raise ConfigError(f"--processors: no {name!r}, there are {', '.join(CORES)}")
    return CORES[name]
