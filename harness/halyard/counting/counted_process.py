# SPDX-License-Identifier: Apache-2.0
"""A program for arm64 whose instructions QEMU counts while it executes a model when told to."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Self

from halyard import paths
from halyard.counting.emulated_core import EmulatedCore
from halyard.engines.engine import EngineRefused
from halyard.errors import HalyardError, ProgramMissing
from halyard.programs import native, protobuf_stream
from halyard.programs.case_status import failures
from halyard.proto import halyard_pb2 as pb

# In the order in which the plugin writes them (harness/device/counting/instruction_class.h).
CLASSES = (
    "multiply",
    "vector",
    "vector_load",
    "scalar_load",
    "store",
    "prefetch",
    "branch",
    "integer",
)

# It can load plugins, which Debian's static one can't.
EMULATOR = "qemu-aarch64"

# Seconds until a command is done: emulated, ResNet-50 takes minutes.
_TIMEOUT = 1800.0
# Bytes of what a program that died complained of.
_COMPLAINT = 2000
# Executions of the two commands, which take the same instructions beside them.
_FEW, _MORE = 1, 2


@dataclass(frozen=True)
class Counts:
    """Of instructions, by class."""

    by_class: tuple[int, ...]

    @property
    def total(self) -> int:
        return sum(self.by_class)

    def __sub__(self, other: Counts) -> Counts:
        pairs = zip(self.by_class, other.by_class, strict=True)
        return Counts(tuple(mine - theirs for mine, theirs in pairs))


@dataclass(frozen=True)
class Counted:
    """`start`: all before the first command but an inference's share: the start of the process,
    reading the model, preparing it."""

    start: Counts
    inference: Counts


@dataclass(frozen=True)
class CountedProgram:
    """Executes once when it is started and then reads lines of `run COUNT WARMUP`, as
    `halyard-runner --serve` does. It finds the folders of `links` under absolute
    paths of those names."""

    command: Sequence[str | Path]
    environment: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, Path] = field(default_factory=dict)


def emulator() -> Path:
    """ProgramMissing where it is not installed."""
    found = shutil.which(EMULATOR)
    if found is None:
        raise ProgramMissing(
            f"{EMULATOR} is missing, which counts instructions: install Debian's qemu-user"
        )
    return Path(found)


def count(program: CountedProgram, core: EmulatedCore, blocks: Path | None = None) -> Counted:
    """Runs it on that core. `blocks` receives what the plugin says of each block. EngineRefused
    where the program can't execute the model, HalyardError where it dies."""
    with paths.Temporary("counting") as folder, _Process(program, core, folder, blocks) as process:
        ready = process.counts()
        process.send(_FEW)
        few = process.counts()
        process.send(_MORE)
        more = process.counts()
        process.finish()
    inference = (more - few) - (few - ready)
    return Counted(ready - inference, inference)


class _Process:
    """Its counts come through a pipe, a line each time that it is about to read a command."""

    def __init__(
        self, program: CountedProgram, core: EmulatedCore, folder: Path, blocks: Path | None
    ) -> None:
        root = folder / "root"
        core.write(root)
        for name, target in program.links.items():
            (root / name).symlink_to(target)
        self._output = folder / "output"
        self._complaints = folder / "complaints"
        self._lines, end = os.pipe()
        plugin = [f"{native.program(native.INSTRUCTION_COUNTER)}", f"counts=/dev/fd/{end}"]
        if blocks is not None:
            plugin.append(f"blocks={blocks}")
        command = [
            emulator(),
            *("-cpu", core.cpu, "-seed", "1", "-L", root),
            *("-plugin", ",".join(word.replace(",", ",,") for word in plugin)),
            *program.command,
        ]
        try:
            with self._output.open("wb") as output, self._complaints.open("wb") as complaints:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=complaints,
                    pass_fds=[end],
                    env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", **program.environment},
                )
        finally:
            os.close(end)
        self._pending = b""

    def send(self, executions: int) -> None:
        try:
            self._commands.write(f"run {executions} 0\n".encode())
            self._commands.flush()
        except OSError as error:
            raise self._died() from error

    def counts(self) -> Counts:
        """Once it is about to read the next command."""
        deadline = time.monotonic() + _TIMEOUT
        while b"\n" not in self._pending:
            ready, _, _ = select.select([self._lines], [], [], max(deadline - time.monotonic(), 0))
            if not ready:
                raise HalyardError(f"emulated, it is not done after {_TIMEOUT:g} s")
            data = os.read(self._lines, 1 << 16)
            if not data:
                raise self._died()
            self._pending += data
        line, _, self._pending = self._pending.partition(b"\n")
        event, *numbers = line.split()
        if event != b"read":
            raise self._died()
        return Counts(tuple(map(int, numbers)))

    def finish(self) -> None:
        """Lets it end by itself, which is when blocks are written."""
        self._commands.close()
        if self._process.wait(_TIMEOUT) != 0:
            raise self._died()

    @property
    def _commands(self) -> IO[bytes]:
        assert self._process.stdin is not None
        return self._process.stdin

    def _died(self) -> HalyardError:
        code = self._process.wait(_TIMEOUT)
        if reasons := list(_failures(self._output.read_bytes())):
            return EngineRefused("; ".join(reasons))
        said = self._complaints.read_bytes()[-_COMPLAINT:].decode(errors="replace").strip()
        return HalyardError(f"emulated, it ended with exit code {code}: {said}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._commands.close()
        os.close(self._lines)


def _failures(output: bytes) -> Iterable[str]:
    """The failures in the runner's results. Nothing of another program's output."""
    try:
        results = list(protobuf_stream.read(output, pb.CaseResult))
    except HalyardError:
        return
    for result in results:
        yield from failures(result)
