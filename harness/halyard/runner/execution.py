# SPDX-License-Identifier: Apache-2.0
"""Runs cases on a device through halyard-runner: a bundle there, results back."""

import contextlib
import shlex
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from halyard import paths
from halyard.devices import LibraryDevice, LiteRtDevice, run_files
from halyard.devices.device import CommandResult, Device, Progress, Wire
from halyard.errors import ConfigError, DeviceError, HalyardError, RunnerDied, TargetUnreachable
from halyard.programs import native, protobuf_stream
from halyard.programs.driver_options import DEFAULT, DriverOptions
from halyard.proto import halyard_pb2 as pb

# Seconds, where the options set no limit for a case.
_DEFAULT_TIMEOUT = 600.0
# Seconds around the cases: starting, reading, waiting for a service that died to come back.
_MARGIN = 60.0
# Seconds without a result, beside those that a case may take, until a runner counts as dead: it
# gives the targets of its cases 60 seconds to open or to close.
_STANDSTILL = 150.0
# Seconds between two looks at the results, at least and at most: looking takes the device's time.
_LOOK_AGAIN = (0.02, 1.0)
# The same for one that is waited for on the device itself.
_PAUSE = 0.1
# Seconds in which the exit code of a runner that is gone has to be there.
_EXIT_CODE = 2.0

_UNREACHABLE = 2
_ENDED_EARLY = 3
_KILLED = 128


# As commands name them.
EXECUTION_MODES = {
    "async": pb.EXECUTION_MODE_ASYNC,
    "sync": pb.EXECUTION_MODE_SYNC,
    "burst": pb.EXECUTION_MODE_BURST,
    "reusable": pb.EXECUTION_MODE_REUSABLE,
}


# What Halyard's library reads its devices and its feature level of (docs/nnapi.md).
_LIBRARY_DEVICES = "HALYARD_NNAPI_DEVICES"
_LIBRARY_LEVEL = "HALYARD_NNAPI_FEATURE_LEVEL"


@dataclass(frozen=True)
class Target:
    """The target that the runner drives on the device: the driver in its own process, a service,
    or a library of NNAPI's C functions."""

    name: str
    # Of a library: whether it is Halyard's, which can be told the driver's options and a level.
    is_own: bool = True
    # Its devices, in its own words; empty: one with the driver's options.
    devices: str = ""

    @property
    def is_library(self) -> bool:
        return self.name.partition(":")[0] in ("ndk", "ndk-sl")

    @classmethod
    def within(cls, device: Device) -> Self:
        """Of a device without services: the driver in the runner, the library that it names, or
        what LiteRT loads, which no runner drives."""
        if isinstance(device, LiteRtDevice):
            return cls(device.door)
        if isinstance(device, LibraryDevice):
            return cls(f"{device.interface}:{device.library}", device.is_own)
        return cls.in_process()

    def words(self, driver: DriverOptions, version: pb.HalVersion) -> tuple[list[str], list[str]]:
        """Of the runner's environment, and of its command line. ConfigError for options that a
        library can't be told."""
        if not self.is_library:
            return [], driver.words()
        options = driver.words()
        environment = []
        if self.devices and options:
            raise ConfigError("the library's devices have options of their own")
        if self.devices:
            environment.append(f"{_LIBRARY_DEVICES}={self.devices}")
        elif options:
            environment.append(f"{_LIBRARY_DEVICES}=in-process {' '.join(options)}")
        if version != pb.HAL_VERSION_UNSPECIFIED:
            # HIDL 1.0 is the first of eight.
            level = sorted(pb.HalVersion.values()).index(version)
            environment.append(f"{_LIBRARY_LEVEL}={level}")
        if environment and not self.is_own:
            raise ConfigError(
                f"{self.name}: another vendor's library takes no backends, threads or versions"
            )
        if any(set(option) & set(" ;'\"") for option in options):
            raise ConfigError(f"{_LIBRARY_DEVICES} has no words with spaces, quotes or semicolons")
        return environment, []

    @classmethod
    def in_process(cls) -> Self:
        return cls("in-process")

    @classmethod
    def service(cls, instance: str, wire: Wire) -> Self:
        return cls(f"{wire}:{instance}")

    @classmethod
    def ndk(cls, library: Path, devices: str = "") -> Self:
        """A libneuralnetworks.so, on whichever of its devices it chooses."""
        return cls(f"ndk:{library}", devices=devices)

    @classmethod
    def ndk_support_library(cls, library: Path) -> Self:
        """The first device of a support library."""
        return cls(f"ndk-sl:{library}")

    @classmethod
    def hidl(cls, instance: str = "halyard-default") -> Self:
        return cls.service(instance, Wire.HIDL)

    @classmethod
    def aidl(cls, instance: str = "halyard-default") -> Self:
        return cls.service(instance, Wire.AIDL)


def run_cases(
    device: Device,
    cases: Sequence[pb.TestCase],
    options: pb.RunOptions,
    target: Target,
    *,
    driver: DriverOptions = DEFAULT,
    on_push: Progress | None = None,
) -> list[pb.CaseResult]:
    """One result per case, in the cases' order, when all have ended. A case that fails is a result;
    DeviceError is for a runner that can't run or a target that can't be reached.

    `driver` is for an in-process target: a service has options of its own. Nothing happens on the
    device meanwhile but the cases, so this is the way to measure time.
    """
    with pushed(device, cases, options, on_push) as run:
        command = run.command(target, driver)
        per_case = (options.timeout_s or _DEFAULT_TIMEOUT) + options.warmup_s + options.min_s
        ended = device.shell(command, timeout=_MARGIN + per_case * len(cases))
        _check(ended, target)
        with paths.Temporary("results") as folder:
            device.pull(f"{run.path}.results", folder / "results")
            content = (folder / "results").read_bytes()
    results = list(protobuf_stream.read(content, pb.CaseResult))
    if sorted(result.index for result in results) != list(range(len(cases))):
        raise _error(f"the runner gave {len(results)} results for {len(cases)} cases", ended)
    return sorted(results, key=lambda result: result.index)


def stream_cases(
    device: Device,
    cases: Sequence[pb.TestCase],
    options: pb.RunOptions,
    target: Target,
    *,
    driver: DriverOptions = DEFAULT,
    jobs: int = 0,
    until_crash: bool = False,
    on_push: Progress | None = None,
) -> Iterator[pb.CaseResult]:
    """The results as the cases end; the index of each says which case it is.

    `jobs`: cases at a time (0: one per core in-process, one on a service). With `until_crash` the
    results end, without an error, after a case that crashed or hung, or when there is no service.
    RunnerDied if the runner is killed, stands still or writes what makes no sense: what came until
    then holds. Closing the iterator ends the runner.
    """
    words = ["--jobs", str(jobs)]
    if until_crash:
        words.append("--until-crash")
    with (
        pushed(device, cases, options, on_push) as run,
        Background(device, run.path, run.command(target, driver, words)) as runner,
    ):
        yield from _follow(runner, cases, options)
        ended = runner.ended()
        if not (until_crash and ended.exit_code == _ENDED_EARLY):
            _check(ended, target)
            if not runner.is_complete:
                raise runner.died("it left out cases")


def serving(
    bundle: Path,
    options: Path,
    target: Target,
    driver: DriverOptions,
    program: str | Path | None = None,
    version: pb.HalVersion = pb.HAL_VERSION_UNSPECIFIED,
) -> list[str | Path]:
    """The command of a runner on this machine that prepares the bundle's case, answers, and then
    executes it when it is told to (engines/process.py). `version`: the options'."""
    environment, words = target.words(driver, version)
    return [
        *(["env", *environment] if environment else []),
        program or native.program(native.RUNNER),
        "--serve",
        *("--target", target.name),
        *("--bundle", bundle),
        *("--options", options),
        *("--results", "/dev/stdout"),
        *words,
    ]


# ---- the bundle on the device -------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """A bundle that lies on the device."""

    runner: str
    path: str  # of its files, without what tells them apart
    version: pb.HalVersion  # of its options

    def command(self, target: Target, driver: DriverOptions, words: Sequence[str] = ()) -> str:
        """For a shell; `words`: more of the runner's own."""
        environment, options = target.words(driver, self.version)
        # Pushed files lie below $ROOT, which is empty but for a device within this machine.
        files = (f'--{name} "$ROOT"{self.path}.{name}' for name in ("bundle", "options", "results"))
        return " ".join(
            [
                *(["env", *map(shlex.quote, environment)] if environment else []),
                shlex.quote(self.runner),
                f"--target {shlex.quote(target.name)}",
                *files,
                *map(shlex.quote, [*options, *words]),
            ]
        )


@contextlib.contextmanager
def pushed(
    device: Device,
    cases: Sequence[pb.TestCase],
    options: pb.RunOptions,
    on_push: Progress | None = None,
) -> Iterator[Run]:
    """Pushes the cases; takes away afterwards whatever files there are of the run. On this machine
    there are none while it lasts."""
    run = Run(device.put_program(native.RUNNER), run_files.new_run(), options.hal_version)
    try:
        with paths.Temporary("run") as local:
            (local / "bundle").write_bytes(protobuf_stream.write(cases))
            (local / "options").write_bytes(options.SerializeToString())
            device.push(local / "bundle", f"{run.path}.bundle", progress=on_push)
            device.push(local / "options", f"{run.path}.options")
        yield run
    finally:
        device.shell(f'rm -f "$ROOT"{run.path}.*')


# ---- results that come by and by ----------------------------------------------------------------


class Background:
    """A runner in the background, looked at through its files: a connection that breaks, or a
    harness that has something else to do, does not disturb it."""

    def __init__(self, device: Device, path: str, command: str, *, commands: bool = False) -> None:
        """With `commands` it takes lines through tell(), else its input is empty."""
        self._input = f'<>"$ROOT"{path}.commands' if commands else "</dev/null"
        self._has_commands = commands
        self._device = device
        self._path = f'"$ROOT"{path}'
        self._command = command
        self._offset = 0
        self.is_running = True
        self.is_complete = False

    def __enter__(self) -> Self:
        files = self._path
        if self._has_commands:
            self._device.shell(f"mkfifo {files}.commands").check()
        inner = (
            f"{self._command} >{files}.log 2>&1 {self._input} & "
            f"echo $! >{files}.new; mv {files}.new {files}.pid; "
            f"wait $!; echo $? >{files}.new; mv {files}.new {files}.exit"
        )
        self._device.shell(
            f"(setsid sh -c {shlex.quote(inner)} >/dev/null 2>&1 </dev/null &)"
        ).check()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self.is_running:
            # The caller has to know the first failure.
            with contextlib.suppress(*(() if kind is None else (DeviceError,))):
                # Its files are whole when its exit code is there.
                self._device.shell(
                    f"for i in 1 2 3 4 5 6 7 8 9 10; do kill -9 $(cat {self._path}.pid); "
                    f"[ -f {self._path}.exit ] && break; sleep 0.1; done"
                )

    def tell(self, line: str) -> None:
        """Returns once it has been taken, not once it has been done."""
        self._device.shell(f"echo {shlex.quote(line)} >{self._path}.commands").check()

    def wait(self, seconds: float) -> None:
        """Until it has written something, or has ended, or so long at most. Asking takes the
        device's time, so it is not asked often."""
        files = self._path
        self._device.shell(
            f"n={int(seconds / _PAUSE)}; while [ $n -gt 0 ] && [ ! -f {files}.exit ] && "
            f"[ $(wc -c <{files}.results 2>/dev/null || echo 0) -le {self._offset} ]; "
            f"do sleep {_PAUSE}; n=$((n - 1)); done",
            timeout=seconds * 10 + _MARGIN,
        )

    def look(self) -> bytes:
        """Its output since the last look. Sees whether it still runs."""
        # The last byte says so, as of before the results were read: they are whole if it is E.
        files = self._path
        said = self._device.exec(
            f"state=R; [ -f {files}.pid ] && ! kill -0 $(cat {files}.pid) && state=G; "
            f"[ -f {files}.exit ] && state=E; "
            f"tail -c +{self._offset + 1} {files}.results 2>/dev/null; printf $state"
        )
        state, results = said[-1:], said[:-1]
        self._offset += len(results)
        self.is_running = state == b"R"
        return results

    def died(self, message: str) -> RunnerDied:
        return RunnerDied(
            f"the runner: {message}", serial=self._device.serial, command=self._command
        )

    def ended(self) -> CommandResult:
        """How it ended, with what it complained of."""
        until = time.monotonic() + _EXIT_CODE
        while True:
            code = self._device.shell(f"cat {self._path}.exit 2>/dev/null").stdout.strip()
            if code or time.monotonic() > until:
                break
            time.sleep(_LOOK_AGAIN[0])
        return CommandResult(
            command=self._command,
            exit_code=int(code) if code else _KILLED,
            stdout="",
            stderr=self._device.shell(f"cat {self._path}.log").stdout,
            seconds=0.0,
            serial=self._device.serial,
        )


def _follow(
    runner: Background, cases: Sequence[pb.TestCase], options: pb.RunOptions
) -> Iterator[pb.CaseResult]:
    """The results until the runner ends."""
    stream = protobuf_stream.Stream(pb.CaseResult)
    missing = set(range(len(cases)))
    standstill = _STANDSTILL + (options.timeout_s or _DEFAULT_TIMEOUT)
    last = time.monotonic()
    while runner.is_running:
        begin = time.monotonic()
        came = False
        for result in _messages(runner, stream):
            if result.index not in missing:
                raise runner.died(f"a result that was not asked for: {result.index}")
            missing.remove(result.index)
            runner.is_complete = not missing
            came = True
            yield result
        now = time.monotonic()
        if came:
            last = now
        elif now - last > standstill:
            raise runner.died(f"no result for {standstill:g} s")
        elif runner.is_running:
            time.sleep(min(max(_LOOK_AGAIN[0], 2 * (now - begin)), _LOOK_AGAIN[1]))


def _messages(
    runner: Background, stream: protobuf_stream.Stream[pb.CaseResult]
) -> Iterator[pb.CaseResult]:
    try:
        yield from stream.feed(runner.look())
        if not runner.is_running:
            # Its output between the look and its end.
            yield from stream.feed(runner.look())
            stream.end()
    except DeviceError:
        raise
    except HalyardError as error:
        raise runner.died(str(error)) from error


def _check(ended: CommandResult, target: Target) -> None:
    if ended.exit_code == _UNREACHABLE:
        raise _error(f"the runner can't reach {target.name}", ended, TargetUnreachable)
    if ended.exit_code >= _KILLED:
        signal = ended.exit_code - _KILLED
        how = f"killed by signal {signal}" if signal else "it is gone, and left no exit code"
        raise _error(f"the runner failed: {how}", ended, RunnerDied)
    if ended.exit_code != 0:
        raise _error("the runner failed", ended)


def _error(
    message: str, ended: CommandResult, kind: type[DeviceError] = DeviceError
) -> DeviceError:
    return kind(
        message,
        serial=ended.serial,
        command=ended.command,
        stdout=ended.stdout,
        stderr=ended.stderr,
        exit_code=ended.exit_code,
    )
