# SPDX-License-Identifier: Apache-2.0
"""A model's own file, in the engine that it is for: what was read of it can't be wrong on both
sides alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from halyard import onnx, paths, tflite
from halyard.comparison.side import Answer, LibrarySide, Tensors, by_halves
from halyard.comparison.spread import Spread, variations
from halyard.engines.engine import EngineRefused, Library
from halyard.engines.original import file_of, original_inputs
from halyard.engines.workload import Workload
from halyard.errors import HalyardError
from halyard.model import Array, Conversion, NnapiPart, RunnableModel, Source, tensor_infos
from halyard.model.fitting import fitted
from halyard.model.partitioned import PartitionedModel


class OriginalSide(LibrarySide):
    """Other models, single layers above all, run as Halyard writes them for the engine."""

    def __init__(
        self, name: str, engine: Library, conversion: Conversion, runnable: RunnableModel
    ) -> None:
        super().__init__(name, engine)
        self._conversion = conversion
        self._runnable = runnable

    @property
    def version(self) -> str:
        return f"{super().version}, {self._conversion.source.path.name} as it is"

    def _answer(self, work: Workload) -> Answer:
        if work.model is not self._runnable:
            return super()._answer(work)
        with file_of(self._conversion.source) as path:
            found = self._file(path, work.inputs)
        if isinstance(found, str):
            return Answer(reason=found)
        try:
            infos = self._runnable.outputs
            return Answer([fitted(*each) for each in zip(found.values(), infos, strict=True)])
        except (HalyardError, ValueError) as error:
            return Answer(reason=str(error))

    def spread(
        self, runnable: RunnableModel, inputs: Sequence[Array], outputs: Sequence[Array]
    ) -> Spread | None:
        if runnable is not self._runnable:
            return super().spread(runnable, inputs, outputs)
        given = original_inputs(self._conversion, inputs)
        source = self._conversion.source
        others = variations(self._engine, lambda: file_of(source), given, runnable.outputs)
        return Spread(runnable.outputs, outputs, others)

    def inside(self, runnable: RunnableModel, inputs: Sequence[Array]) -> Tensors | None:
        """By a file whose tensors are outputs; those that an operand stands for."""
        parts = self._conversion.parts
        if runnable is not self._runnable or len(parts) != 1 or not isinstance(parts[0], NnapiPart):
            return None
        return self.inside_part(parts[0], inputs)

    def between(self, model: PartitionedModel, inputs: Sequence[Array]) -> Mapping[str, Array]:
        given = self._given(inputs)
        read = [name for part in model.parts if isinstance(part, NnapiPart) for name in part.inputs]
        found = self._exposed([name for name in dict.fromkeys(read) if name not in given], inputs)
        if isinstance(found, str):
            raise EngineRefused(found)
        return {**found, **given}

    def _given(self, inputs: Sequence[Array]) -> dict[str, Array]:
        """The file's inputs, by its names."""
        arrays = original_inputs(self._conversion, inputs)
        infos = self._conversion.inputs
        return {info.name: each for info, each in zip(infos, arrays, strict=True)}

    def inside_part(self, part: NnapiPart, inputs: Sequence[Array]) -> Tensors:
        computed = {index for each in part.model.main.operations for index in each.outputs}
        names = {index: name for index, name in part.tensor_names.items() if index in computed}
        values: dict[int, Array] = {}
        reasons = dict.fromkeys(computed - names.keys(), "the file has no such tensor")
        given = self._given(inputs)
        requests = 0

        def ask(batch: Sequence[Sequence[int]]) -> list[Answer]:
            answers = []
            for each in batch:
                wanted = [names[index] for index in each]
                exposed = self._exposed([name for name in wanted if name not in given], inputs)
                if isinstance(exposed, str):
                    answers.append(Answer(reason=exposed))
                    continue
                # An operand may hold an input with other axes.
                found = {**exposed, **given}
                missing = [name for name in wanted if name not in found]
                answers.append(
                    Answer(reason=f"it has no {missing[0]!r}")
                    if missing
                    else Answer([found[name] for name in wanted])
                )
            return answers

        for asked, answer in by_halves(sorted(names), ask):
            requests += 1
            if answer.outputs is None:
                reasons |= dict.fromkeys(asked, answer.reason)
                continue
            for index, tensor in zip(asked, answer.outputs, strict=True):
                axes = part.permutations.get(index)
                [info] = tensor_infos(part.model, [index])
                try:
                    values[index] = fitted(np.transpose(tensor, axes) if axes else tensor, info)
                except (HalyardError, ValueError) as error:
                    reasons[index] = str(error)
        return Tensors(values, reasons, requests=requests)

    def _exposed(self, names: Sequence[str], inputs: Sequence[Array]) -> Mapping[str, Array] | str:
        """The values of these names as the file computes them."""
        source = self._conversion.source
        try:
            content = _EXPOSERS[source.format](source, names)
            with paths.Temporary("original") as folder:
                path = folder / f"model{source.suffix}"
                path.write_bytes(content)
                return self._file(path, inputs)
        except (HalyardError, OSError) as error:
            return str(error)

    def _file(self, path: Path, inputs: Sequence[Array]) -> Mapping[str, Array] | str:
        """A file's results, by the names of its outputs; or why it gives nothing."""
        try:
            given = original_inputs(self._conversion, inputs)
            with self._engine.load(path, [each.shape for each in given]) as loaded:
                loaded.feed(given)
                outputs = loaded.run()
                infos = loaded.tensors.outputs
        except (EngineRefused, HalyardError, ValueError) as error:
            return str(error)
        return {info.name: values for info, values in zip(infos, outputs, strict=True)}


def _expose_tflite(source: Source, names: Sequence[str]) -> bytes:
    from halyard.tflite.graph import packed

    model = tflite.read(source.reference)
    graph = model.subgraphs[0]
    places = {
        tensor.name.decode(errors="replace"): place for place, tensor in enumerate(graph.tensors)
    }
    there = [int(place) for place in graph.outputs]
    more = [places[name] for name in names if name in places]
    graph.outputs = there + [place for place in dict.fromkeys(more) if place not in there]
    # They name the outputs that there were.
    model.signatureDefs = None
    return packed(model)


def _expose_onnx(source: Source, names: Sequence[str]) -> bytes:
    """With the data that lies beside the file."""
    from halyard.onnx.graph import packed

    model = onnx.read(source.reference, source.path.parent)
    there = {value.name for value in model.graph.output}
    computed = {name for node in model.graph.node for name in node.output}
    for name in dict.fromkeys(names):
        if name in computed and name not in there:
            # The engine finds out the type.
            model.graph.output.add().name = name
    return packed(model)


# By the formats of halyard.conversion.
_EXPOSERS: Mapping[str, Callable[[Source, Sequence[str]], bytes]] = {
    "TFLite": _expose_tflite,
    "ONNX": _expose_onnx,
}
