# SPDX-License-Identifier: Apache-2.0
"""Whether each operator of a converted graph gives what ONNX Runtime makes, with real numbers, of
the values that came to it."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from halyard import onnx
from halyard.devices.host import HostDevice
from halyard.errors import HalyardError
from halyard.model import Array, NnapiPart
from tests.harness.on_many_parts import Run, run_all
from tests.random_onnx.judging import shown_nodes
from tests.random_qdq.sketch import QuantizedGraph, computed, generate

FILE = Path("quantized.onnx")
# Real numbers are a multiple of the step but for their last bits.
_STEPS = 1.01


def check(host: HostDevice, seed: int, numbers: Sequence[int], tally: Counter[str]) -> list[str]:
    """Runs graphs of these numbers together, and says what is wrong with them."""
    wrong: list[str] = []
    runs: list[tuple[int, QuantizedGraph, Run]] = []
    for number in numbers:
        graph = generate(seed, number)
        try:
            conversion = onnx.read_conversion(graph.model.SerializeToString(), FILE)
        except HalyardError as error:
            wrong.append(f"graph {number}: refused: {error}\n{shown_nodes(graph.model)}")
            continue
        whole = len(conversion.parts) == 1 and isinstance(conversion.parts[0], NnapiPart)
        some = any(isinstance(part, NnapiPart) for part in conversion.parts)
        tally["whole" if whole else "parts" if some else "host"] += 1
        if some:
            inputs = [graph.inputs[info.name] for info in conversion.inputs]
            runs.append((number, graph, Run(conversion, inputs)))
    run_all(host, [run for *_, run in runs])
    for number, graph, run in runs:
        if fault := concluded(graph, run, tally):
            wrong.append(f"graph {number}: {fault}\n{shown_nodes(graph.model)}")
    return wrong


def concluded(graph: QuantizedGraph, run: Run, tally: Counter[str]) -> str:
    if run.fault:
        return run.fault
    names = [info.name for info in run.conversion.outputs]
    found = dict(zip(names, run.outputs, strict=True))
    values: dict[str, Array] = {**graph.values, **found}
    for stage in graph.stages:
        wanted = computed(stage.model, {name: values[name] for name in stage.reads})
        if wanted is None:
            return f"{stage.operator}: ONNX Runtime does not take what came to it"
        ours, theirs = found[stage.gives], wanted[0]
        if (ours.dtype, ours.shape) != (theirs.dtype, theirs.shape):
            kinds = f"{ours.dtype}{ours.shape}, expected {theirs.dtype}{theirs.shape}"
            return f"{stage.operator}: {kinds}"
        steps = np.abs(ours.astype("f8") - theirs.astype("f8")) / stage.step
        tally["values"] += steps.size
        tally["a step off"] += int((steps > 0.5).sum())
        if steps.size and not steps.max() <= _STEPS:
            place = tuple(int(each) for each in np.unravel_index(int(steps.argmax()), steps.shape))
            return (
                f"{stage.operator}: {int((steps > _STEPS).sum())} values are off, by up to "
                f"{steps.max():.2f} steps: {list(place)} is {ours[place]}, expected {theirs[place]}"
            )
    return ""
