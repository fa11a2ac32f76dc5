# SPDX-License-Identifier: Apache-2.0
"""Processes that keep cores busy while engines are timed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Self

# It says so once it is set up. It dies with the harness: stopped, it would be there for ever.
_PROGRAM = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
os.sched_setaffinity(0, {int(sys.argv[1])})
print("ready", flush=True)
while True:
    pass
"""


class Burners:
    """So many processes, each on a core of its own of those that the harness may use, from the last
    one backwards. They are stopped but for the time of burning()."""

    def __init__(self, count: int) -> None:
        cores = sorted(os.sched_getaffinity(0), reverse=True)
        self._processes: list[subprocess.Popen[bytes]] = []
        for number in range(count):
            process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, str(cores[number % len(cores)])],
                stdout=subprocess.PIPE,
            )
            self._processes.append(process)
            assert process.stdout is not None
            process.stdout.readline()
            process.send_signal(signal.SIGSTOP)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()

    @property
    def pids(self) -> list[int]:
        return [process.pid for process in self._processes]

    @contextlib.contextmanager
    def burning(self) -> Iterator[None]:
        self._signal(signal.SIGCONT)
        try:
            yield
        finally:
            self._signal(signal.SIGSTOP)

    def _signal(self, number: signal.Signals) -> None:
        for process in self._processes:
            process.send_signal(number)
