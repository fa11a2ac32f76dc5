# SPDX-License-Identifier: Apache-2.0
"""A side that is LiteRT's runtime with Halyard inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from halyard.comparison.original_side import OriginalSide
from halyard.comparison.side import Answer, Side, Tensors
from halyard.engines.in_litert import InLiteRt
from halyard.engines.workload import Workload
from halyard.errors import HalyardError
from halyard.model import Array, Conversion, NnapiPart, RunnableModel
from halyard.model.partitioned import PartitionedModel
from halyard.programs.case_status import failures


class LiteRtSide(Side):
    """A .tflite file runs as it is; other models, single layers above all, as Halyard writes them.
    A model of which Halyard takes nothing has no answer."""

    def __init__(
        self,
        name: str,
        engine: InLiteRt,
        runnable: RunnableModel | None = None,
        conversion: Conversion | None = None,
    ) -> None:
        """`conversion`: of the file that `runnable` was read from."""
        self._name = name
        self._engine = engine
        self._runnable = runnable
        self._conversion = conversion
        self._version = ""
        self._original: OriginalSide | None = None
        if runnable is not None and conversion is not None and conversion.source.format == "TFLite":
            self._original = OriginalSide(name, engine, conversion, runnable)

    @property
    def name(self) -> str:
        return self._name

    @property
    def version(self) -> str:
        return self._version

    def run(self, works: Sequence[Workload]) -> list[Answer]:
        return [self._answer(work) for work in works]

    def _answer(self, given: Workload) -> Answer:
        conversion = self._conversion if given.model is self._runnable else None
        try:
            with (
                Workload(given.model, given.inputs, given.name, conversion) as work,
                self._engine.prepare(work) as process,
            ):
                result = process.prepared()
                self._version = result.version_string or self._version
                if problems := failures(result):
                    return Answer(reason="; ".join(problems))
                outputs = process.run()
        except HalyardError as error:
            return Answer(reason=str(error))
        backends = dict(enumerate(row.backend for row in result.placement))
        return Answer(outputs, backends=backends)

    def inside(self, runnable: RunnableModel, inputs: Sequence[Array]) -> Tensors | None:
        return self._original.inside(runnable, inputs) if self._original is not None else None

    def between(self, model: PartitionedModel, inputs: Sequence[Array]) -> Mapping[str, Array]:
        if self._original is None:
            return super().between(model, inputs)
        return self._original.between(model, inputs)

    def inside_part(self, part: NnapiPart, inputs: Sequence[Array]) -> Tensors | None:
        return self._original.inside_part(part, inputs) if self._original is not None else None
