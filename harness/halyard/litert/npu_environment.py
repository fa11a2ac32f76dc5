# SPDX-License-Identifier: Apache-2.0
"""LiteRT's vendor interface: Halyard as the NPU of CompiledModel."""

from __future__ import annotations

import ctypes
import importlib
import importlib.metadata
import json
import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from halyard.errors import ConfigError, HalyardError, PackageMissing
from halyard.programs import native

PLUGIN = "litert/plugin/libLiteRtCompilerPlugin_Halyard.so"
DISPATCH = "litert/dispatch/libLiteRtDispatch_Halyard.so"

# What both libraries read their options of: LiteRT's Python hands vendors none.
OPTIONS = "HALYARD_LITERT_OPTIONS"

_OLDEST = (2, 2)
_HINT = "pip install 'ai-edge-litert>=2.2'"

_WORDS = 1024

LogLevel = Literal["verbose", "info", "warning", "error"]
File = str | os.PathLike[str]


class NotAccelerated(HalyardError):
    """Nothing of a model came to Halyard, or not all that had to: LiteRT says so in its log alone,
    and runs it with kernels of its own."""


@dataclass(frozen=True)
class Counts:
    """What the dispatch library has done in this process."""

    contexts: int  # islands of operators that were loaded
    live_contexts: int  # and not destroyed yet
    operators: int  # of the model, in all that were loaded
    runs: int  # of islands
    copied_bytes: int  # of their inputs and outputs
    packed_constants: int  # as islands were loaded: of compiled ones there are none
    compiled_when_loaded: int  # islands that were graphs
    mapped_contexts: int  # islands that are used where they lie in a file

    def since(self, before: Counts) -> Counts:
        return Counts(
            *(getattr(self, each.name) - getattr(before, each.name) for each in fields(Counts))
        )


@dataclass(frozen=True)
class Left:
    """An operator that LiteRT's own kernels run, or another accelerator."""

    operator: str
    reason: str


@dataclass(frozen=True)
class Compiled:
    """A model with Halyard in it."""

    model: Any  # LiteRT's CompiledModel
    islands: int
    operators: int  # in the islands
    # None where the model was compiled before: LiteRT does not ask again.
    left: tuple[Left, ...] | None
    loaded: Counts  # what loading took


def plugin_library() -> Path:
    """The compiler plugin's file. ProgramMissing where the package or the build has none."""
    return native.library(PLUGIN)


def dispatch_library() -> Path:
    """The dispatch library's file. ProgramMissing where the package or the build has none."""
    return native.library(DISPATCH)


def counts() -> Counts:
    """Of this process, whoever has made the models."""
    values = (ctypes.c_uint64 * len(fields(Counts)))()
    _dispatch().halyard_litert_dispatch_counts(values, ctypes.c_size_t(len(values)))
    return Counts(*values)


def environment(
    *,
    processor: str | None = None,
    threads: int | None = None,
    fast_math: bool | None = None,
    resizable: bool | None = None,
    report: File | None = None,
    log: LogLevel | None = None,
) -> NpuEnvironment:
    """An environment of LiteRT's whose NPU is Halyard.

    processor  what models are compiled for: "host", or "arm64-cortex-a76" and so on.
    threads    as many as the process may use cores, unless told.
    fast_math  results may leave the official tolerance where that is faster.
    resizable  inputs may get other extents than the model declares, along axes from which no node
               or constant follows: it is compiled for them then.
    report     a file that gets a line of JSON for each subgraph that is compiled: which operators
               were taken, and why not the others.
    log        what the libraries say on stderr.

    They hold for all models that the process makes until the next environment(), or until this one
    is closed, and so go before those of the variable HALYARD_LITERT_OPTIONS, which hold where
    nothing is given. LiteRT loads one dispatch library in a process, the first.

    PackageMissing where there is no LiteRT 2, ConfigError with the library's own words where an
    option is not to its liking.
    """
    given: dict[str, str | int | None] = {
        "processor": processor,
        "threads": threads,
        "fast_math": _switch(fast_math),
        "resizable": _switch(resizable),
        "report": None if report is None else os.fspath(report),
        "log": log,
    }
    options = _text_of({name: value for name, value in given.items() if value is not None})
    plugin, dispatch = plugin_library().parent, dispatch_library().parent
    runtime = _package("environment")
    _check(options)
    found = runtime.Environment.create(
        compiler_plugin_path=str(plugin), dispatch_library_path=str(dispatch)
    )
    made = NpuEnvironment(found, options)
    made.use_options()
    return made


class NpuEnvironment:
    """Stands for LiteRT's Environment wherever that is taken, and compiles models itself."""

    def __init__(self, wrapped: Any, options: str) -> None:
        self._wrapped = wrapped
        self._options = options

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Gives the process its own options back, unless another environment has taken over."""
        self._wrapped.close()
        if os.environ.get(OPTIONS) == self._options:
            if _GIVEN:
                os.environ[OPTIONS] = _GIVEN
            else:
                del os.environ[OPTIONS]

    @property
    def capsule(self) -> Any:
        return self._wrapped.capsule

    @property
    def options(self) -> Any:
        return self._wrapped.options

    def use_options(self) -> None:
        """Has the process use the options of this environment."""
        os.environ[OPTIONS] = self._options

    def compile(
        self, model: bytes | File, *, whole: bool = False, cpu_threads: int = 1
    ) -> Compiled:
        """LiteRT's CompiledModel of a .tflite file, as it is or compiled before.

        NotAccelerated where Halyard takes nothing of it; with `whole`, where it leaves anything.
        What is left runs on as many threads as `cpu_threads` says.
        """
        package = _package("compiled_model")
        options = package.Options(
            hardware_accelerators=package.HardwareAccelerator.NPU | package.HardwareAccelerator.CPU,
            cpu_options=package.CpuOptions(num_threads=cpu_threads),
        )
        if isinstance(model, bytes):

            def make() -> Any:
                return package.CompiledModel.from_buffer(model, environment=self, options=options)
        else:
            path = os.fspath(model)

            def make() -> Any:
                return package.CompiledModel.from_file(path, environment=self, options=options)

        with _ONE_AT_A_TIME, tempfile.TemporaryDirectory() as folder:
            return self._compiled(make, Path(folder) / "report.json", whole)

    def compile_ahead(self, model: File, output: File, *, processor: str = "host") -> None:
        """Writes a .tflite file that takes no compiler plugin to run: the islands in it are
        compiled for the processor, with their constants packed where this one can pack them.

        PackageMissing where LiteRT has no tool for it, NotAccelerated with its last words where
        nothing is taken.
        """
        tool = Path(_package("environment").__file__).parent / "tools" / "apply_plugin_main"
        if not tool.is_file():
            raise PackageMissing(f"this LiteRT can't compile ahead: {tool} is missing")
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.json"
            done = subprocess.run(
                [
                    tool,
                    "--cmd=apply",
                    f"--model={os.fspath(model)}",
                    f"--o={os.fspath(output)}",
                    f"--libs={plugin_library().parent}",
                    "--soc_manufacturer=Halyard",
                    f"--soc_model={processor}",
                ],
                capture_output=True,
                text=True,
                env={
                    **os.environ,
                    OPTIONS: _joined(self._options, f"report={report}"),
                    "LD_LIBRARY_PATH": _joined(
                        str(tool.parents[1]), os.environ.get("LD_LIBRARY_PATH", ""), by=":"
                    ),
                },
            )
            said = self._report(report)
        if done.returncode:
            # The tool opens it before it knows.
            Path(output).unlink(missing_ok=True)
            words = [line for line in done.stderr.splitlines() if line.startswith("E/halyard")]
            words += [f"{each.operator}: {each.reason}" for each in _left(said)[:3]]
            why = "; ".join(words) or done.stderr.strip()[-_WORDS:]
            raise NotAccelerated(f"{os.fspath(model)} for {processor}: {why}")

    def _report(self, path: Path) -> list[Any]:
        """What the plugin has written, which whoever asked for a report gets as well."""
        lines = path.read_text().splitlines() if path.exists() else []
        asked = _value_of(self._options, "report")
        if asked:
            try:
                with Path(asked).open("a") as file:
                    file.writelines(f"{line}\n" for line in lines)
            except OSError as error:
                raise HalyardError(f"the report {asked}: {error.strerror}") from error
        return [json.loads(line) for line in lines]

    def _compiled(self, make: Callable[[], Any], report: Path, whole: bool) -> Compiled:
        os.environ[OPTIONS] = _joined(self._options, f"report={report}")
        before = counts()
        try:
            model = make()
        finally:
            self.use_options()
            said = self._report(report)
        loaded = counts().since(before)
        left = _left(said)
        if loaded.contexts == 0 or (whole and left):
            raise NotAccelerated(_why(left, loaded))
        return Compiled(model, loaded.contexts, loaded.operators, left if said else None, loaded)


# What is counted and what options hold while a model is made is the process's.
_ONE_AT_A_TIME = threading.Lock()
_GIVEN = os.environ.get(OPTIONS, "")


def _left(said: list[Any]) -> tuple[Left, ...]:
    return tuple(Left(each["operator"], each["reason"]) for part in said for each in part["left"])


def _why(left: tuple[Left, ...], loaded: Counts) -> str:
    taken = f"{loaded.operators} operators are Halyard's" if loaded.contexts else "LiteRT runs all"
    if not left:
        return f"{taken}, and its log says why"
    reasons = "; ".join(f"{each.operator}: {each.reason}" for each in left[:3])
    return f"{taken}, and {len(left)} are left: {reasons}" + ("; ..." if len(left) > 3 else "")


def _switch(value: bool | None) -> str | None:
    return None if value is None else "on" if value else "off"


def _text_of(options: dict[str, str | int]) -> str:
    for name, value in options.items():
        if "," in str(value):
            raise ConfigError(f"option {name} can't have a comma: {value}")
    return _joined(_GIVEN, ",".join(f"{name}={value}" for name, value in options.items()))


def _joined(*texts: str, by: str = ",") -> str:
    return by.join(each for each in texts if each)


def _value_of(options: str, name: str) -> str:
    """The last one counts."""
    found = ""
    for each in options.split(","):
        key, _, value = each.partition("=")
        if key == name:
            found = value
    return found


def _check(options: str) -> None:
    words = ctypes.create_string_buffer(_WORDS)
    if _dispatch().halyard_litert_dispatch_check(
        options.encode(), words, ctypes.c_size_t(len(words))
    ):
        raise ConfigError(f"{Path(DISPATCH).name}: {words.value.decode()}")


def _dispatch() -> ctypes.CDLL:
    """The library as LiteRT loads it: the same one of the process."""
    library = ctypes.CDLL(str(dispatch_library()))
    library.halyard_litert_dispatch_check.restype = ctypes.c_size_t
    library.halyard_litert_dispatch_counts.restype = ctypes.c_size_t
    return library


def _package(module: str) -> Any:
    try:
        found = importlib.import_module(f"ai_edge_litert.{module}")
    except ImportError as error:
        raise PackageMissing(f"there is no LiteRT with CompiledModel: {_HINT} ({error})") from error
    try:
        version = importlib.metadata.version("ai-edge-litert")
    except importlib.metadata.PackageNotFoundError:
        # Built by somebody: the libraries look at the tables themselves.
        return found
    numbers = tuple(int(each) for each in re.findall(r"\d+", version)[:2])
    if numbers < _OLDEST:
        # Older ones end the process where a library that they are told of refuses them.
        raise PackageMissing(f"LiteRT {version} has an older vendor interface: {_HINT}")
    return found
