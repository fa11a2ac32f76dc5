# SPDX-License-Identifier: Apache-2.0
"""PyTorch as a side: a TorchScript file, which is the model as it was before it was converted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from halyard.comparison.side import Answer, Side, Tensors
from halyard.engines.engine import EngineRefused
from halyard.engines.in_process import imported
from halyard.engines.workload import Workload
from halyard.errors import HalyardError
from halyard.model import Array, Conversion, NnapiPart, RunnableModel
from halyard.model.fitting import fitted
from halyard.model.partitioned import PartitionedModel
from halyard.proto import halyard_pb2 as pb

# No operand.
_NONE = -1


class TorchSide(Side):
    """It gives outputs alone: a script does not show what it computes inside."""

    def __init__(
        self, name: str, path: Path, runnable: RunnableModel, conversion: Conversion | None
    ) -> None:
        """`conversion` says how the axes of inputs and outputs come from PyTorch's. EngineMissing
        without the package; EngineRefused for what it does not load."""
        self._torch: Any = imported("torch", "pip install torch")
        self._name = name
        self._path = path
        self._runnable = runnable
        try:
            self._module = self._torch.jit.load(str(path), map_location="cpu").eval()
        except (RuntimeError, ValueError, OSError) as error:
            raise EngineRefused(f"{path}: PyTorch does not load it: {error}") from error
        parts = conversion.parts if conversion else ()
        part = parts[0] if len(parts) == 1 and isinstance(parts[0], NnapiPart) else None
        self._permutations = part.permutations if part else {}

    @property
    def name(self) -> str:
        return self._name

    @property
    def version(self) -> str:
        return f"PyTorch {self._torch.__version__}, {self._path.name}"

    def run(self, works: Sequence[Workload]) -> list[Answer]:
        return [self._answer(work) for work in works]

    def inside(self, runnable: RunnableModel, inputs: Sequence[Array]) -> Tensors | None:
        answer = self._answer(Workload(runnable, inputs))
        ends = list(runnable.model.main.output_indexes)
        computed = {index for each in runnable.model.main.operations for index in each.outputs}
        reasons = dict.fromkeys(computed, "PyTorch's script shows its outputs alone")
        values = dict(zip(ends, answer.outputs, strict=True)) if answer.outputs is not None else {}
        return Tensors(values, reasons)

    def _answer(self, work: Workload) -> Answer:
        if work.model is not self._runnable:
            return Answer(reason="PyTorch runs its own file alone, not models that are made of it")
        # The whole of parts has the axes that its file has.
        main = pb.Subgraph()
        if not isinstance(work.model, PartitionedModel):
            main = work.model.model.main
        before = main.input_indexes or [_NONE] * len(work.inputs)
        behind = main.output_indexes or [_NONE] * len(work.model.outputs)
        try:
            given = [
                self._torch.from_numpy(self._original(index, values).copy())
                for index, values in zip(before, work.inputs, strict=True)
            ]
            with self._torch.no_grad():
                found = self._module(*given)
            tensors = list(found) if isinstance(found, (tuple, list)) else [found]
            outputs = [
                fitted(self._ours(index, _array(tensor)), info)
                for index, tensor, info in zip(behind, tensors, work.model.outputs, strict=True)
            ]
        except (RuntimeError, ValueError, TypeError, HalyardError) as error:
            return Answer(reason=f"PyTorch can't run {self._path.name} on these inputs: {error}")
        return Answer(outputs)

    def _original(self, index: int, values: Array) -> Array:
        axes = self._permutations.get(index)
        return values if axes is None else np.transpose(values, np.argsort(axes))

    def _ours(self, index: int, values: Array) -> Array:
        axes = self._permutations.get(index)
        return values if axes is None else np.transpose(values, axes)


def _array(tensor: Any) -> Array:
    found: Array = (tensor.int_repr() if tensor.is_quantized else tensor).numpy()
    return found
