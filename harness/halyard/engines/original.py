# SPDX-License-Identifier: Apache-2.0
"""The engines that run files of other formats as they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np

from halyard import paths
from halyard.engines.engine import EngineRefused, Library, Loaded
from halyard.engines.litert import LiteRt
from halyard.engines.onnx_runtime import OnnxRuntime
from halyard.model import Array, Conversion, HostPart, NnapiPart, Source
from halyard.model.fitting import fitted

# By the formats of halyard.conversion. Each takes the number of threads.
ORIGINALS: Mapping[str, Callable[[int], Library]] = {
    "TFLite": LiteRt,
    "ONNX": partial(OnnxRuntime, as_written=True),
}


def engine_of(format_name: str, threads: int) -> Library:
    """EngineMissing where its package is not there."""
    if format_name not in ORIGINALS:
        raise EngineRefused(f"no engine here runs {format_name} files")
    return ORIGINALS[format_name](threads)


def run_file(
    engine: Library, path: Path, inputs: Sequence[Array], count: int, warmup: int
) -> tuple[list[Array], list[int]]:
    """The outputs, and the nanoseconds of each counted run."""
    with engine.load(path, [values.shape for values in inputs]) as loaded:
        return _run(loaded, inputs, count, warmup)


def _run(
    loaded: Loaded, inputs: Sequence[Array], count: int, warmup: int
) -> tuple[list[Array], list[int]]:
    loaded.feed(inputs)
    times = loaded.time(count, warmup)
    return loaded.run(), times


def run_source(
    engine: Library, source: Source, inputs: Sequence[Array], count: int, warmup: int
) -> tuple[list[Array], list[int]]:
    """The same of what a model was read from."""
    with file_of(source) as path:
        return run_file(engine, path, inputs, count, warmup)


@contextmanager
def file_of(source: Source) -> Iterator[Path]:
    """The file that its own engine is to run: in its place where it runs as it is, since it may
    have data beside it."""
    if source.compared is None and source.content is None:
        yield source.path
        return
    with paths.Temporary("source") as folder:
        path = folder / f"model{source.suffix}"
        path.write_bytes(source.reference)
        yield path


def run_part(
    part: HostPart, inputs: Sequence[Array], count: int, warmup: int, threads: int
) -> tuple[list[Array], list[int]]:
    """The same of a part of a file."""
    engine = engine_of(part.format, threads)
    with paths.Temporary("part") as folder:
        path = folder / "part"
        path.write_bytes(part.content)
        # Its inputs are of the part's own types and shapes, which those that come are fitted to.
        with engine.load(path) as loaded:
            return _run(loaded, shaped(part, inputs), count, warmup)


def shaped(part: HostPart, inputs: Sequence[Array]) -> list[Array]:
    """NNAPI has vectors of one for numbers."""
    return [
        values.reshape(part.shapes[name])
        if values.size == math.prod(part.shapes.get(name, (-1,)))
        else values
        for name, values in zip(part.inputs, inputs, strict=True)
    ]


def original_inputs(conversion: Conversion, inputs: Sequence[Array]) -> list[Array]:
    """Of the original file, from those of what it has become: in its types, order and shapes. An
    input that nothing reads may have vanished on the way, and is zero."""
    whole = len(conversion.parts) == 1 and isinstance(conversion.parts[0], NnapiPart)
    names = conversion.parts[0].inputs if whole else [info.name for info in conversion.inputs]
    given = dict(zip(names, inputs, strict=True))
    return [
        fitted(given[info.name], info) if info.name in given else np.zeros(info.shape, info.dtype)
        for info in conversion.inputs
    ]
