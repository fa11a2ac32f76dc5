# SPDX-License-Identifier: Apache-2.0
"""LiteRT's CompiledModel with Halyard as its NPU, in this process."""

from __future__ import annotations

import importlib.metadata
import itertools
import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from halyard import paths
from halyard.engines.engine import EngineMissing, EngineRefused, Library, Loaded, Shapes
from halyard.engines.in_process import imported, timed, without_chatter
from halyard.engines.litert import LiteRt
from halyard.engines.litert_options import PLAIN, LiteRtOptions
from halyard.engines.litert_report import HALYARD, Graph, Part, Report, Unmapped
from halyard.engines.parts import HOST
from halyard.engines.workload import Workload
from halyard.errors import ConfigError, HalyardError, ProgramMissing
from halyard.litert import (
    NotAccelerated,
    NpuEnvironment,
    counts,
    dispatch_library,
    environment,
    plugin_library,
)
from halyard.model import Array, TensorInfo, Tensors

if TYPE_CHECKING:
    # It takes LiteRT's package, without which the command line works as well.
    from halyard.tflite.reading import file as tflite_file

_HINT = "pip install 'halyard[peers]' (or ai-edge-litert>=2.2)"


class LiteRtNpu(Library):
    """What Halyard does not take runs on LiteRT's kernels, which have as many threads."""

    title = "Halyard as LiteRT's NPU"

    def __init__(self, threads: int = 1, options: LiteRtOptions = PLAIN) -> None:
        imported("ai_edge_litert.compiled_model", _HINT)
        self.version = importlib.metadata.version("ai-edge-litert")
        self._threads = threads
        self._options = options
        try:
            plugin_library()
            dispatch_library()
        except ProgramMissing as error:
            raise EngineMissing(str(error)) from error

    def load(self, path: Path, shapes: Shapes = ()) -> _Compiled:
        """Compiled for this machine, in the shapes that the file has."""
        tensors = LiteRt().tensors(path)
        if shapes and list(shapes) != [info.shape for info in tensors.inputs]:
            raise EngineRefused(
                "LiteRT's CompiledModel has buffers for the shapes of the file alone"
            )
        from halyard.tflite.reading import file as tflite_file

        try:
            file = tflite_file.read(path.read_bytes())
        except HalyardError as error:
            raise EngineRefused(str(error)) from error
        if any(tensor.is_variable for graph in file.graphs for tensor in graph.tensors):
            raise EngineRefused(
                "it has states, which nothing puts back to zero in LiteRT's CompiledModel"
            )
        with paths.Temporary("npu") as folder, without_chatter():
            lines = folder / "lines"
            try:
                npu = environment(
                    threads=self._threads, fast_math=self._options.fast_math, report=lines
                )
                compiled = npu.compile(path, cpu_threads=self._threads)
            except NotAccelerated as error:
                said = lines.read_text().splitlines() if lines.exists() else []
                reason = _report(file, said).nothing() if said else str(error)
                raise EngineRefused(reason) from error
            except (ConfigError, RuntimeError, ValueError) as error:
                raise EngineRefused(str(error)) from error
            if compiled.left is None:
                raise EngineRefused("it was compiled before, and tells nothing of its operators")
            report = _report(file, lines.read_text().splitlines())
        return _Compiled(npu, compiled.model, file.graphs[0], tensors, report, self._options.report)

    def prepare(self, work: Workload) -> _Compiled:
        loaded = self.load(work.tflite(), work.shapes)
        loaded.bind([array.tobytes() for array in work.inputs])
        return loaded

    def otherwise(self) -> Library | None:
        """Its kernels are Halyard's own choice."""
        return None


class _Compiled(Loaded):
    """Of the first signature, which has to be the graph that interpreters run."""

    def __init__(
        self,
        npu: NpuEnvironment,
        model: Any,
        graph: tflite_file.Graph,
        tensors: Tensors,
        report: Report,
        report_path: str,
    ) -> None:
        self._npu = npu
        self._model = model
        self._tensors = tensors
        self._report: Report | None = report if report_path else None
        self._report_path = Path(report_path)
        [key, *_] = (signatures := model.get_signature_list())
        try:
            self._given = model.create_input_buffers(0)
            self._results = model.create_output_buffers(0)
        except (RuntimeError, ValueError) as error:
            raise EngineRefused(f"LiteRT has no buffers for the model: {error}") from error
        given = _indexes(signatures[key]["inputs"], model.get_input_tensor_details(key))
        results = _indexes(signatures[key]["outputs"], model.get_output_tensor_details(key))
        if {*given} != {*graph.inputs} or {*results} != {*graph.outputs}:
            raise EngineRefused(f"its signature {key} is not of the graph's inputs and outputs")
        # In the file's order.
        self._inputs = [self._given[given.index(each)] for each in graph.inputs]
        self._outputs = [self._results[results.index(each)] for each in graph.outputs]

    @property
    def tensors(self) -> Tensors:
        return self._tensors

    def bind(self, inputs: Sequence[bytes]) -> None:
        for info, buffer, data in zip(self._tensors.inputs, self._inputs, inputs, strict=True):
            if len(data) != _size(info):
                raise EngineRefused(
                    f"LiteRT does not take the inputs: {info.name} has {_size(info)} bytes, and "
                    f"not {len(data)}"
                )
            try:
                # As bytes: LiteRT's Python has no numbers of 64 bits.
                buffer.write(np.frombuffer(data, np.int8))
            except (RuntimeError, ValueError) as error:
                raise EngineRefused(f"LiteRT does not take the inputs: {error}") from error

    def run(self) -> list[Array]:
        self.execute()
        found = []
        for info, buffer in zip(self._tensors.outputs, self._outputs, strict=True):
            values = np.array(buffer.read(_size(info), np.int8))
            found.append(values.view(info.dtype).reshape(info.shape))
        return found

    def execute(self) -> None:
        try:
            self._model.run_by_index(0, self._given, self._results)
        except RuntimeError as error:
            raise EngineRefused(f"LiteRT does not run the model: {error}") from error

    def time(self, count: int, warmup: int = 0) -> list[int]:
        before = counts()
        times = timed(self.execute, count, warmup)
        if self._report is not None:
            copied = counts().since(before).copied_bytes // max(count + warmup, 1)
            self._report.write(self._report_path, copied)
            self._report = None
        return times

    def close(self) -> None:
        self._given = self._results = self._inputs = self._outputs = []
        self._model.close()
        self._npu.close()


def _size(info: TensorInfo) -> int:
    """Bytes."""
    return math.prod(info.shape) * info.dtype.itemsize


def _indexes(names: Sequence[str], details: dict[str, Any]) -> list[int]:
    """Of the file's tensors, in the signature's order."""
    return [int(details[name]["index"]) for name in names]


def _report(file: tflite_file.File, lines: Sequence[str]) -> Report:
    """`lines`: the compiler plugin's, one for each subgraph, which name what it left. Operators
    that are taken and lie together in the file stand for a part."""
    try:
        graphs = tuple(
            _graph([operator.kind for operator in graph.operators], json.loads(line))
            for graph, line in zip(file.graphs, lines, strict=True)
        )
    except (ValueError, KeyError, TypeError) as error:
        raise EngineRefused(f"Halyard's report is not of this file: {error}") from error
    return Report(importlib.metadata.version("halyard"), graphs)


def _graph(kinds: Sequence[str], said: dict[str, Any]) -> Graph:
    if said["operators"] != len(kinds):
        raise ValueError(f"it has {len(kinds)} operators, and not {said['operators']}")
    left = {_number(each["operator"]): each["reason"] for each in said["left"]}
    parts = [
        Part(HOST if is_left else HALYARD, [kinds[each] for each in numbers])
        for is_left, numbers in itertools.groupby(range(len(kinds)), left.__contains__)
    ]
    unmapped = [
        Unmapped(f"operator {number} ({kinds[number]})", reason) for number, reason in left.items()
    ]
    return Graph(len(kinds), len(kinds) - len(left), parts, unmapped)


def _number(label: str) -> int:
    """1, of "operator 1 (COS)"."""
    found = re.match(r"operator (\d+)\b", label)
    if found is None:
        raise ValueError(f"{label!r} is no operator")
    return int(found[1])
