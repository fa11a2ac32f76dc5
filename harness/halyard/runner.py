# SPDX-License-Identifier: Apache-2.0
"""Runs cases on a device through halyard-runner: a bundle there, results back."""

import secrets
import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from halyard import delimited, native
from halyard.devices.device import WORK_FOLDER, CommandResult, Device, Progress
from halyard.errors import DeviceError
from halyard.proto import halyard_pb2 as pb

# Seconds, where the options set no limit for a case.
_DEFAULT_TIMEOUT = 600.0
# Seconds around the cases: starting, reading, waiting for a service that died to come back.
_MARGIN = 60.0

_UNREACHABLE = 2


@dataclass(frozen=True)
class Target:
    """What the runner drives on the device: the driver in its own process, or a service."""

    name: str

    @classmethod
    def in_process(cls) -> Self:
        return cls("in-process")

    @classmethod
    def hidl(cls, instance: str = "halyard-default") -> Self:
        return cls(f"hidl:{instance}")


def run_cases(
    device: Device,
    cases: Sequence[pb.TestCase],
    options: pb.RunOptions,
    target: Target,
    *,
    backends: Sequence[str] = (),
    threads: int = 0,
    on_push: Progress | None = None,
) -> list[pb.CaseResult]:
    """One result per case, in order. A case that fails is a result; DeviceError is for a runner
    that can't run or a target that can't be reached.

    `backends` and `threads` (0: the default) are for an in-process target: a service has its own.
    """
    runner = device.put_program(native.RUNNER)
    # What is pushed lies below $ROOT, which is empty but for a device within this machine.
    run = f"{WORK_FOLDER}/run-{secrets.token_hex(4)}"
    words = [
        shlex.quote(runner),
        f"--target {shlex.quote(target.name)}",
        *(f'--{name} "$ROOT"{run}.{name}' for name in ("bundle", "options", "results")),
    ]
    if backends:
        words.append(f"-c {shlex.quote(','.join(backends))}")
    if threads:
        words.append(f"--number-of-threads {threads}")
    with tempfile.TemporaryDirectory(prefix="halyard-run-") as name:
        local = Path(name)
        (local / "bundle").write_bytes(delimited.write(cases))
        (local / "options").write_bytes(options.SerializeToString())
        try:
            device.push(local / "bundle", f"{run}.bundle", progress=on_push)
            device.push(local / "options", f"{run}.options")
            per_case = options.timeout_s or _DEFAULT_TIMEOUT
            ended = device.shell(" ".join(words), timeout=_MARGIN + per_case * len(cases))
            _check(ended, target)
            device.pull(f"{run}.results", local / "results")
        finally:
            device.shell(f'rm -f "$ROOT"{run}.*')
        results = list(delimited.read((local / "results").read_bytes(), pb.CaseResult))
    if len(results) != len(cases):
        raise _error(f"the runner gave {len(results)} results for {len(cases)} cases", ended)
    return results


def _check(ended: CommandResult, target: Target) -> None:
    if ended.exit_code == _UNREACHABLE:
        raise _error(f"the runner can't reach {target.name}", ended)
    if ended.exit_code != 0:
        raise _error("the runner failed", ended)


def _error(message: str, ended: CommandResult) -> DeviceError:
    return DeviceError(
        message,
        serial=ended.serial,
        command=ended.command,
        stdout=ended.stdout,
        stderr=ended.stderr,
        exit_code=ended.exit_code,
    )
