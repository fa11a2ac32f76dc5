# SPDX-License-Identifier: Apache-2.0
"""The external delegate: Halyard for interpreters of TFLite's and LiteRT's runtimes."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from halyard.errors import ConfigError, PackageMissing
from halyard.programs import native

DELEGATE = "libhalyard_delegate.so"

# Where `load_delegate` is, in the packages that have it; the first that is there is taken.
_RUNTIMES = ("ai_edge_litert.interpreter", "tflite_runtime.interpreter", "tensorflow.lite")

LogLevel = Literal["silent", "error", "warning", "info", "verbose"]
Permission = Literal["tiles", "processes"]
File = str | os.PathLike[str]


def delegate_library() -> Path:
    """The delegate's file, for `benchmark_model --external_delegate_path` and other hosts.

    ProgramMissing where the package or the build folder has none.
    """
    return native.library(DELEGATE)


def delegate(
    *,
    backends: str | Sequence[str] = "CpuAcc",
    threads: int | None = None,
    cache_dir: File | None = None,
    fast_math: bool = False,
    min_nodes: int = 1,
    report: File | None = None,
    profile: File | None = None,
    log: LogLevel = "warning",
    permit: Sequence[Permission] = (),
    runtime: ModuleType | None = None,
) -> Any:
    """The delegate, as the runtime's own load_delegate() gives it.

    backends   "GpuAcc,CpuAcc:features=avx2", or one of a list each, in order of preference. What
               CpuRef alone would run is left to the runtime, unless it is named.
    threads    None: as many as the interpreter has; 0: one per core.
    cache_dir  a folder of compiled programs, which no other user may write to.
    fast_math  results may leave the official tolerance where that is faster.
    min_nodes  partitions of fewer operators are left to the runtime.
    report     a file that says which operators were taken, why not the others and what a run
               copies; JSON where it is called *.json.
    profile    a file that gets each node's time, when interpreters end.
    permit     what may be asked of the whole process: AMX's tiles, processes to compile in.
    runtime    the module with load_delegate; None: LiteRT, TFLite's runtime or TensorFlow.

    PackageMissing where there is no runtime, ConfigError with the library's own words where an
    option is not to its liking.
    """
    options = {
        "backends": backends if isinstance(backends, str) else ",".join(backends),
        "fast_math": int(fast_math),
        "min_nodes": min_nodes,
        "log": log,
    }
    given = {"threads": threads, "cache_dir": cache_dir, "report": report, "profile": profile}
    for name, value in given.items():
        if value is not None:
            options[name] = os.fspath(value) if isinstance(value, os.PathLike) else value
    if permit:
        options["permit"] = ",".join(permit)
    library = delegate_library()
    module: Any = runtime or _runtime()
    try:
        if hasattr(module, "load_delegate"):
            return module.load_delegate(str(library), options)
        return module.experimental.load_delegate(str(library), options)
    except ValueError as error:
        # The runtime's first line names the library, the rest is what that said.
        said = str(error).partition("\n")[2].strip() or str(error)
        raise ConfigError(f"{library.name}: {said.removeprefix('Halyard: ')}") from error


def _runtime() -> ModuleType:
    """What the program has imported already goes first."""
    for name in _RUNTIMES:
        if name in sys.modules:
            return sys.modules[name]
    for name in _RUNTIMES:
        if importlib.util.find_spec(name.partition(".")[0]) is not None:
            return importlib.import_module(name)
    raise PackageMissing(
        "there is no runtime to load the delegate: pip install 'halyard[peers]' (or ai-edge-litert)"
    )
