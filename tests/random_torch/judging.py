# SPDX-License-Identifier: Apache-2.0
"""Whether an exported module computes what PyTorch computes of the module itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch

from halyard.conversion.formats import format_of
from halyard.devices.host import HostDevice
from halyard.errors import HalyardError
from halyard.model import Array, Conversion, HostPart, NnapiPart
from halyard.model.read_options import USUAL
from tests.harness.on_many_parts import Run, run_all
from tests.random_onnx.judging import shown_nodes
from tests.random_torch.exporting import WAYS, Exported, NotExported, exported

# Sums in another order, and functions that are composed of others.
_TOLERANCE = 2e-4
# Of what float's last bits do to the whole.
_SPREAD = 30.0


@dataclass
class _Tried:
    number: int
    made: Exported
    run: Run
    # Of outputs whose channels NNAPI has last.
    axes: Mapping[str, Sequence[int]]


def check(host: HostDevice, seed: int, numbers: Sequence[int], tally: Counter[str]) -> list[str]:
    """Exports and runs modules of these numbers, and says what is wrong with them."""
    wrong: list[str] = []
    tried: list[_Tried] = []
    for number in numbers:
        way = WAYS[number % len(WAYS)]
        try:
            made = exported(seed, number, way)
        except NotExported as error:
            tally[f"{way}: not exported"] += 1
            tally[f"{way}: {str(error).splitlines()[0][:110]}"] += 0
            continue
        try:
            conversion = format_of(made.path).read(made.content, made.path, USUAL)
        except HalyardError as error:
            if made.path.suffix == ".onnx" and _by_onnx_runtime(made) is None:
                tally["the exporter's fault"] += 1
            else:
                wrong.append(_told(number, made, f"refused: {error}"))
            continue
        kinds = {type(part) for part in conversion.parts}
        where = "whole" if kinds == {NnapiPart} else "host" if kinds == {HostPart} else "parts"
        tally[f"{way}: {where}"] += 1
        inputs = _inputs(made, conversion)
        tried.append(_Tried(number, made, Run(conversion, inputs), _axes(made, conversion)))
    run_all(host, [each.run for each in tried])
    for each in tried:
        fault = _concluded(each)
        if fault and _is_exporters(each):
            tally["the exporter's fault"] += 1
        elif fault:
            wrong.append(_told(each.number, each.made, fault))
    return wrong


def _told(number: int, made: Exported, fault: str) -> str:
    inputs = [tuple(each.shape) for each in made.net.inputs]
    text = f"graph {number} ({made.way}: {', '.join(made.net.words)} of {inputs}): {fault}"
    if made.path.suffix == ".onnx":
        text += f"\n{shown_nodes(onnx.load_from_string(made.content))}"
    return text


def _inputs(made: Exported, conversion: Conversion) -> list[Array]:
    """Those that the file has kept, in its order, with channels last where NNAPI has them."""
    given = [each.contiguous().numpy() for each in made.net.inputs]
    if made.path.suffix == ".onnx":
        names = [each.name for each in onnx.load_from_string(made.content).graph.input]
        named = dict(zip(names, given, strict=True))
        return [named[info.name] for info in conversion.inputs]
    part = conversion.whole
    indexes = part.model.main.input_indexes
    return [
        _permuted(values, part.permutations.get(index))
        for index, values in zip(indexes, given, strict=True)
    ]


def _axes(made: Exported, conversion: Conversion) -> dict[str, Sequence[int]]:
    if made.path.suffix == ".onnx":
        return {}
    part = conversion.whole
    indexes = part.model.main.output_indexes
    return {
        info.name: part.permutations[index]
        for info, index in zip(conversion.outputs, indexes, strict=True)
        if index in part.permutations
    }


def _permuted(values: Array, axes: Sequence[int] | None) -> Array:
    return values if axes is None else np.ascontiguousarray(values.transpose(axes))


def _concluded(tried: _Tried) -> str:
    run, made = tried.run, tried.made
    if "NOT_IMPLEMENTED" in run.fault:
        return ""  # ONNX Runtime has no kernel of it, which is the host's engine.
    if run.fault:
        return run.fault
    if made.net.stages is not None:
        return _staged(tried)
    for name, found, wanted, exact in zip(*_outputs(tried), made.expected, made.exact, strict=True):
        axes = tried.axes.get(name)
        if reason := _apart(found, _array(wanted, axes), _array(exact, axes)):
            return f"{name}: {reason}"
    return ""


def _outputs(tried: _Tried) -> tuple[list[str], list[Array]]:
    """As many as the module has: the file may name one twice."""
    run = tried.run
    names = [info.name for info in run.conversion.outputs]
    found = dict(zip(names, run.outputs, strict=True))
    if tried.made.path.suffix == ".onnx":
        names = [each.name for each in onnx.load_from_string(tried.made.content).graph.output]
    return names, [found[name] for name in names]


def _staged(tried: _Tried) -> str:
    """Each layer of 8 bits by itself: PyTorch is given what came out of the one before."""
    made = tried.made
    assert made.net.stages is not None
    names, outputs = _outputs(tried)
    values: list[Any] = []
    for name, found, own in zip(names, outputs, made.expected, strict=True):
        axes = tried.axes.get(name)
        plain = found if axes is None else found.transpose(np.argsort(axes))
        wanted = made.net.stages(made.net.inputs[0], values)
        if reason := _apart(plain, _array(wanted, None), _array(wanted, None)):
            return f"{name}, layer {len(values)}: {reason}"
        whole = torch.from_numpy(np.ascontiguousarray(plain))
        values.append(
            torch._make_per_tensor_quantized_tensor(whole, own.q_scale(), own.q_zero_point())
        )
    return ""


def _array(tensor: Any, axes: Sequence[int] | None) -> Array:
    plain = tensor.int_repr() if tensor.is_quantized else tensor
    return _permuted(plain.detach().contiguous().numpy(), axes)


def _apart(found: Array, wanted: Array, exact: Array) -> str:
    """8 bits may be a step apart, floats as far as sums in another order are."""
    if found.shape != wanted.shape:
        return f"it has the shape {found.shape}, expected {wanted.shape}"
    if found.dtype != wanted.dtype:
        return f"it is of {found.dtype}, expected {wanted.dtype}"
    a, b = found.astype("f8"), wanted.astype("f8")
    if wanted.dtype == np.uint8:
        good = np.abs(a - b) <= 1
    elif wanted.dtype.kind != "f":
        good = found == wanted
    else:
        spread = np.abs(b - exact.astype("f8")).max(initial=0.0)
        scale = np.abs(b[np.isfinite(b)]).max(initial=1.0)
        with np.errstate(invalid="ignore"):
            near = np.abs(a - b) <= _TOLERANCE * (np.abs(b) + scale * 0.05) + _SPREAD * spread
        good = near | (a == b) | (np.isnan(a) & np.isnan(b))
    bad = np.argwhere(~good)
    if not len(bad):
        return ""
    shown = "; ".join(
        f"{place.tolist()} is {found[tuple(place)]}, expected {wanted[tuple(place)]}"
        for place in bad[:6]
    )
    return f"{len(bad)} of {found.size} elements are off: {shown}"


def _is_exporters(tried: _Tried) -> bool:
    """Whether the file says what the module does not: ONNX Runtime gives of it what was found, or
    does not run it."""
    if tried.made.path.suffix != ".onnx":
        return False
    results = _by_onnx_runtime(tried.made)
    if results is None or tried.run.fault:
        return results is None
    found = _outputs(tried)[1]
    return all(not _apart(*each) for each in zip(found, results, results, strict=True))


def _by_onnx_runtime(made: Exported) -> list[Array] | None:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    names = [each.name for each in onnx.load_from_string(made.content).graph.input]
    given = [each.contiguous().numpy() for each in made.net.inputs]
    try:
        session = onnxruntime.InferenceSession(
            made.content, options, providers=["CPUExecutionProvider"]
        )
        results = session.run(None, dict(zip(names, given, strict=True)))
    # Its exceptions have no class of their own in common.
    except Exception:  # noqa: BLE001
        return None
    return [np.asarray(each) for each in results]
