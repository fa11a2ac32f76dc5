# SPDX-License-Identifier: Apache-2.0
"""The machine that is measured on: its name, and what it can do at most."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from halyard.errors import HalyardError
from halyard.model import DataType
from halyard.programs import native
from halyard.programs.driver_options import DriverOptions


@dataclass(frozen=True)
class Peak:
    """Of so many threads together, by loops that do nothing else. 0: there is no loop for it."""

    threads: int
    float32_kernel: str
    float32_gflops: float
    int8_kernel: str
    int8_gops: float
    read_gb_per_s: float
    copy_gb_per_s: float

    def operations_per_s(self, data_type: DataType) -> float:
        """Of the arithmetic that a model of the type takes; a multiply-add counts as two."""
        is_float = data_type in (DataType.FLOAT32, DataType.FLOAT16)
        return 1e9 * (self.float32_gflops if is_float else self.int8_gops)

    def better(self, other: Peak) -> Peak:
        """The best of both measurements: what disturbs one makes it lower."""
        return replace(
            self,
            float32_gflops=max(self.float32_gflops, other.float32_gflops),
            int8_gops=max(self.int8_gops, other.int8_gops),
            read_gb_per_s=max(self.read_gb_per_s, other.read_gb_per_s),
            copy_gb_per_s=max(self.copy_gb_per_s, other.copy_gb_per_s),
        )


def measure_peak(threads: int) -> Peak:
    """Takes about a second."""
    words = ["--measure-peak", *DriverOptions(threads=threads).words()]
    said: dict[str, Any] = json.loads(_measured(words))
    return Peak(**said)


def measure_core_pace(core: int) -> float:
    """Additions per nanosecond that it does now, in some milliseconds: fewer where another program
    uses its other half."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, [core])
    try:
        return float(_measured(["--measure-core-pace"]))
    finally:
        os.sched_setaffinity(0, before)


def _measured(words: Sequence[str]) -> str:
    done = subprocess.run([native.program(native.RUNNER), *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise HalyardError(f"{native.RUNNER} {words[0]} failed: {done.stderr.strip()}")
    return done.stdout


def measure_peaks(threads: Sequence[int]) -> dict[int, Peak]:
    return {count: measure_peak(count) for count in threads}


def cores() -> list[int]:
    """Those that this process may use."""
    return sorted(os.sched_getaffinity(0))


def cpu_name() -> str:
    """As /proc/cpuinfo has it; on arm64 there is no more than the architecture."""
    return _told("model name|Model") or platform.machine()


def cpu_features() -> list[str]:
    """Of its instructions for vectors and matrices, the newest last."""
    told = set(_told("flags|Features").split())
    return [name for flag, name in _FEATURES.items() if flag in told]


# By what /proc/cpuinfo calls them.
_FEATURES = {
    "avx2": "AVX2",
    "avx512f": "AVX-512",
    "avx512_vnni": "VNNI",
    "avx_vnni": "AVX-VNNI",
    "amx_int8": "AMX",
    "asimddp": "dot product",
    "i8mm": "I8MM",
    "sve": "SVE",
}


def _told(names: str) -> str:
    """By /proc/cpuinfo, of the first processor; empty where it does not tell."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return ""
    match = re.search(rf"^(?:{names})\s*:\s*(.+)$", text, re.MULTILINE)
    return match[1].strip() if match else ""
