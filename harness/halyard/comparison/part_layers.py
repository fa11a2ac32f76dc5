# SPDX-License-Identifier: Apache-2.0
"""Layers of a model of which NNAPI runs parts: each part by itself, on what side A hands to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from halyard.comparison.layers import Layer, Layers, Verdict, compare_layers
from halyard.comparison.side import Answer, Side, Tensors
from halyard.engines.workload import Workload
from halyard.errors import DeviceError, HalyardError
from halyard.model import Array, NnapiPart, RunnableModel, label
from halyard.model.fitting import fitted
from halyard.model.partitioned import PartitionedModel


def compare_parts(
    model: RunnableModel,
    inputs: Sequence[Array],
    reference: Side,
    other: Side,
    *,
    isolate: bool = False,
    max_error: float | None = None,
    max_steps: int | None = None,
) -> Layers:
    """As compare_layers. Operations are counted on from part to part. What the host runs has no
    layers: its file's own engine runs it on either side."""
    assert isinstance(model, PartitionedModel)
    values: Mapping[str, Array] = {}
    why = ""
    try:
        values = reference.between(model, inputs)
    except DeviceError:
        raise
    except HalyardError as error:
        why = str(error)
    layers: list[Layer] = []
    notes = [f"layers are compared part by part, on what {reference.name} hands from part to part"]
    for number, part in enumerate(model.parts):
        if not isinstance(part, NnapiPart):
            continue
        found = _unknown(part, why)
        if not why:
            try:
                runnable = RunnableModel.of(part.model)
                given = [
                    fitted(values[name], info)
                    for name, info in zip(part.inputs, runnable.inputs, strict=True)
                ]
                found = compare_layers(
                    runnable,
                    given,
                    _OfPart(reference, part, runnable, inputs),
                    _OfPart(other, part, runnable, inputs),
                    isolate=isolate,
                    max_error=max_error,
                    max_steps=max_steps,
                )
            except DeviceError:
                raise
            except (HalyardError, KeyError) as error:
                found = _unknown(part, f"{reference.name} does not give its inputs: {error}")
        notes += [f"part {number + 1}: {note}" for note in found.notes]
        before = len(layers)
        layers += [
            replace(
                each,
                operation=before + each.operation,
                label=f"part {number + 1}: {each.label}",
            )
            for each in found.layers
        ]
    return Layers(layers, isolate, notes)


def _unknown(part: NnapiPart, why: str) -> Layers:
    return Layers(
        [
            Layer(number, label(part.model, number), "", None, None, Verdict.UNKNOWN, why)
            for number in range(len(part.model.main.operations))
        ],
        isolated=False,
    )


@dataclass(frozen=True)
class _OfPart(Side):
    """A side that may have a way of its own to tell what it computes inside the part."""

    side: Side
    part: NnapiPart
    runnable: RunnableModel
    whole: Sequence[Array]  # what goes into the model

    @property
    def name(self) -> str:
        return self.side.name

    @property
    def version(self) -> str:
        return self.side.version

    def run(self, works: Sequence[Workload]) -> list[Answer]:
        return self.side.run(works)

    def inside(self, runnable: RunnableModel, inputs: Sequence[Array]) -> Tensors | None:
        if runnable is self.runnable:
            return self.side.inside_part(self.part, self.whole)
        return self.side.inside(runnable, inputs)
