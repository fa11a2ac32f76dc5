# SPDX-License-Identifier: Apache-2.0
"""Options of the driver, which the service and the runner with an in-process target both have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# Lets devices tell what nodes take there, where these are timed; nothing is slower where they
# are not.
GPU_PROFILING = "--gpu-profiling"


@dataclass(frozen=True)
class DriverOptions:
    """Options at their defaults are left out."""

    backends: Sequence[str] = ()  # in order of preference
    threads: int = 0
    fast_math: bool = False
    unsupported: Sequence[int | str] = ()  # operations, by code or name
    more: Sequence[str] = ()  # in the program's own words

    def words(self) -> list[str]:
        """Of the command line."""
        words = []
        if self.backends:
            words += ["-c", ",".join(self.backends)]
        if self.threads:
            words += ["--number-of-threads", str(self.threads)]
        if self.fast_math:
            words.append("--enable-fast-math")
        if self.unsupported:
            words += ["-u", ",".join(map(str, self.unsupported))]
        return [*words, *self.more]


DEFAULT = DriverOptions()
