# SPDX-License-Identifier: Apache-2.0
"""An engine in a process of its own on this machine, which prepares a model once and executes it
when told to: our runner, or one of the other engines."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Protocol

from halyard.engines.engine import Engine
from halyard.engines.served import EngineDied, ServedByLines
from halyard.engines.workload import Workload
from halyard.errors import HalyardError
from halyard.model import Tensors
from halyard.programs import native, protobuf_stream
from halyard.proto import halyard_pb2 as pb

# Seconds that a process has to end by itself once it gets no more commands.
_GOODBYE = 2.0
# Bytes of what a process that died complained of.
_COMPLAINT = 2000


class ProcessEngine(Engine, Protocol):
    """An engine whose models are held by processes of their own."""

    def prepare(self, work: Workload) -> EngineProcess: ...


class EngineProcess(ServedByLines):
    """It runs only while it has something to do. In between it is stopped: threads that spin for
    work, as those of thread pools do for a while, take no time from the engine whose turn it is."""

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        tensors: Tensors | None = None,
        *,
        timeout: float = 300.0,
    ) -> None:
        """`timeout`: seconds for each answer, beyond what the caller adds."""
        super().__init__(name, tensors)
        self._timeout = timeout
        self._complaints: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (close() does)
        self._stream = protobuf_stream.Stream(pb.CaseResult)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
        )

    def start_load(self, from_ns: int, until_ns: int, clients: int = 1) -> None:
        """Lets so many of its clients execute from now on; finish_load() is to follow."""
        self._send(f"load {from_ns} {until_ns} {clients}")

    def finish_load(self, *, expected_s: float = 0.0) -> list[Sequence[pb.Timing]]:
        """By client: the executions that lie in the time, whole or in part."""
        result = self._receive(expected_s)
        return [example.timings for example in result.examples]

    def log(self) -> str:
        """The end of what it wrote beside its answers."""
        self._complaints.seek(0, os.SEEK_END)
        self._complaints.seek(max(0, self._complaints.tell() - _COMPLAINT))
        return self._complaints.read().decode(errors="replace")

    def _send(self, line: str) -> None:
        self._signal(signal.SIGCONT)
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{line}\n".encode())
            self._process.stdin.flush()
        except OSError as error:
            raise self._died("it takes no more commands") from error

    def _rest(self) -> None:
        self._signal(signal.SIGSTOP)

    @property
    def pid(self) -> int:
        return self._process.pid

    def keep_to(self, cores: Sequence[int]) -> None:
        """All of its threads. One that ends meanwhile needs none."""
        threads = Path(f"/proc/{self._process.pid}/task")
        done: set[int] = set()
        with contextlib.suppress(FileNotFoundError):
            # A thread that one of them began before it was moved has that one's old cores.
            while left := {int(thread.name) for thread in threads.iterdir()} - done:
                for thread in left:
                    with contextlib.suppress(ProcessLookupError):
                        os.sched_setaffinity(thread, cores)
                done |= left

    def close(self) -> None:
        """Ends it, whatever it does."""
        if self._process.poll() is None:
            self._signal(signal.SIGCONT)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(_GOODBYE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._complaints.close()

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)

    def _answer(self, expected_s: float, quiet_s: float = 0.0) -> pb.CaseResult:  # noqa: ARG002
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        deadline = time.monotonic() + self._timeout + expected_s
        while True:
            left = deadline - time.monotonic()
            ready, _, _ = select.select([descriptor], [], [], max(left, 0))
            if not ready:
                raise self._died(f"no answer for {self._timeout + expected_s:g} s")
            data = os.read(descriptor, 1 << 20)
            if not data:
                raise self._died("")
            try:
                for result in self._stream.feed(data):
                    return result
            except EngineDied:
                raise
            except HalyardError as error:
                raise self._died(str(error)) from error

    def _died(self, message: str) -> EngineDied:
        """With how it ended, if it has, and what it complained of."""
        words = [self._name]
        if message:
            words.append(message)
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._process.wait(_GOODBYE if not message else 0.1)
            words.append(
                f"killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
            )
        lines = self.log().split("\n")
        complaint = [line for line in lines if line.strip()]
        if complaint:
            # The runner prints its usage after what is wrong.
            ours = [line for line in complaint if line.startswith(f"{native.RUNNER}: ")]
            words.append((ours or complaint)[-1].strip())
        return EngineDied(": ".join(words))
