# SPDX-License-Identifier: Apache-2.0
"""Whether a converted graph computes what ONNX Runtime computes of it with its optimiser off, or
onnx's reference where that has no kernel."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
from onnx import ModelProto, NodeProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from halyard import onnx
from halyard.devices.host import HostDevice
from halyard.errors import HalyardError
from halyard.model import Array, HostPart, NnapiPart
from tests.harness.on_many_parts import Run, run_all
from tests.random_onnx.sketch import RandomGraph, generate

# Sums in another order, and functions that are composed of others.
_TOLERANCE = 2e-4
# The operators that changed with operator set 7, and the attributes that went.
_PLACED = (
    "Add", "And", "Div", "Equal", "Greater", "Less", "Mul", "Or", "Pow", "Sub",
)  # fmt: skip
_OLD = (*_PLACED, "BatchNormalization", "Dropout", "Gemm")
_OLD_ATTRIBUTES = ("axis", "broadcast", "is_test")
# Reasons that must not be given for a graph that runs.
_CONTRADICTIONS = ("it contradicts itself", "contradicts itself:")


@dataclass
class Judgement:
    graph: RandomGraph
    expected: list[Array] | None = None  # None where no reference takes the graph
    run: Run | None = None
    where: str = ""  # whole, parts, host or refused
    reasons: tuple[str, ...] = ()
    fault: str = ""


def upgraded(graph: RandomGraph) -> ModelProto:
    """The same of operator set 7, in which ONNX Runtime's kernels begin: what stands at an axis is
    reshaped to stand there."""
    model = ModelProto()
    model.CopyFrom(graph.model)
    model.opset_import[0].version = 7
    del model.graph.node[:]
    for node in graph.model.graph.node:
        made = NodeProto()
        made.CopyFrom(node)
        if node.op_type in _OLD:
            del made.attribute[:]
            kept = [each for each in node.attribute if each.name not in _OLD_ATTRIBUTES]
            made.attribute.extend(kept)
        if len(node.input) == 2 and node.input[1] in graph.placed and node.op_type in _PLACED:
            shape = np.array(graph.placed[node.input[1]], "i8")
            words = f"{node.input[1]}/shape", f"{node.input[1]}/placed"
            model.graph.initializer.append(numpy_helper.from_array(shape, words[0]))
            model.graph.node.append(
                helper.make_node("Reshape", [node.input[1], words[0]], [words[1]])
            )
            made.input[1] = words[1]
        model.graph.node.append(made)
    return model


def computed_as_written(model: ModelProto, inputs: Mapping[str, Array]) -> list[Array]:
    """By ONNX Runtime, with real numbers between DequantizeLinear and QuantizeLinear. Its
    exceptions have no class of their own in common."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return [np.asarray(each) for each in session.run(None, dict(inputs))]


def reference_outputs(graph: RandomGraph) -> list[Array] | None:
    """None where no engine computes it: what was drawn may make no sense."""
    model, inputs = graph.model, graph.inputs
    if model.opset_import[0].version < 7:
        model = upgraded(graph)
    try:
        return computed_as_written(model, inputs)
    # Its exceptions have no class of their own in common, nor have the reference's.
    except Exception as error:  # noqa: BLE001
        if "NOT_IMPLEMENTED" not in str(error) and "Not implemented" not in str(error):
            return None
    try:
        with np.errstate(all="ignore"):
            return [np.asarray(each) for each in ReferenceEvaluator(model).run(None, dict(inputs))]
    except Exception:  # noqa: BLE001
        return None


def judged(graph: RandomGraph) -> Judgement:
    """Converted, and held to a reference as soon as it has run."""
    judgement = Judgement(graph, reference_outputs(graph))
    for end, values in zip(graph.model.graph.output, judgement.expected or [], strict=False):
        shape = helper.make_tensor_type_proto(end.type.tensor_type.elem_type, values.shape)
        end.type.CopyFrom(shape)
    try:
        conversion = onnx.read_conversion(graph.model.SerializeToString(), Path("random.onnx"))
    except HalyardError as error:
        judgement.where, judgement.reasons = "refused", (str(error),)
    except Exception as error:  # noqa: BLE001
        judgement.fault = f"the importer fails: {type(error).__name__}: {error}"
        return judgement
    else:
        judgement.reasons = tuple(each.text() for each in conversion.unmapped)
        kinds = {type(part) for part in conversion.parts}
        judgement.where = (
            "whole" if kinds == {NnapiPart} else "host" if kinds == {HostPart} else "parts"
        )
        if judgement.where != "host" and judgement.expected is not None:
            inputs = [graph.inputs[info.name] for info in conversion.inputs]
            judgement.run = Run(conversion, inputs)
    if judgement.expected is not None:
        wrong = [
            reason
            for reason in judgement.reasons
            if any(word in reason for word in _CONTRADICTIONS)
        ]
        if wrong:
            judgement.fault = f"it runs, but is said to make no sense: {wrong}"
    return judgement


def conclude(judgement: Judgement) -> str:
    """Why it is wrong, after it has run; empty if it is not."""
    if judgement.fault or judgement.run is None or judgement.expected is None:
        return judgement.fault
    run = judgement.run
    if "NOT_IMPLEMENTED" in run.fault:
        # The host's engine has no kernel of that version either.
        return ""
    if run.fault:
        return run.fault
    infos = run.conversion.outputs
    for info, found, wanted in zip(infos, run.outputs, judgement.expected, strict=True):
        reason = _apart(found, wanted, judgement.graph.steps.get(info.name, 0.0))
        if reason:
            return f"{info.name}: {reason}"
    return ""


def check(host: HostDevice, seed: int, numbers: Sequence[int], tally: Counter[str]) -> list[str]:
    """Runs graphs of these numbers together, of any operator, and says what is wrong with them."""
    judgements = [(number, judged(generate(seed, number))) for number in numbers]
    run_all(host, [each.run for _, each in judgements if each.run is not None])
    wrong = []
    for number, judgement in judgements:
        tally[judgement.where if judgement.expected is not None else "without a reference"] += 1
        if fault := conclude(judgement):
            wrong.append(f"graph {number}: {fault}\n{described(judgement.graph)}")
    return wrong


def _apart(found: Array, wanted: Array, step: float) -> str:
    """Quantised values may be a step apart, floats a little, and others not at all."""
    if found.shape != wanted.shape:
        return f"it has the shape {found.shape}, expected {wanted.shape}"
    if wanted.dtype.kind != "f":
        good = found == wanted
    else:
        a, b = found.astype("f8"), wanted.astype("f8")
        scale = np.abs(b[np.isfinite(b)]).max(initial=1.0)
        allowed = step * 1.01 if step else _TOLERANCE * (np.abs(b) + scale * 0.05)
        with np.errstate(invalid="ignore"):
            good = (np.abs(a - b) <= allowed) | (a == b) | (np.isnan(a) & np.isnan(b))
    wrong = np.argwhere(~good)
    if not len(wrong):
        return ""
    shown = _shown(wrong, found, wanted)
    return f"{len(wrong)} of {found.size} elements are off: {shown}"


def _shown(wrong: Sequence[Array], found: Array, wanted: Array) -> str:
    return "; ".join(
        f"{place.tolist()} is {found[tuple(place)]}, expected {wanted[tuple(place)]}"
        for place in wrong[:8]
    )


def described(graph: RandomGraph) -> str:
    """Its nodes, and the shapes of what they read."""
    inputs = [f"{name}: {each.dtype}{list(each.shape)}" for name, each in graph.inputs.items()]
    return "\n".join([*inputs, shown_nodes(graph.model)])


def shown_nodes(model: ModelProto) -> str:
    lines = [f"operator set {model.opset_import[0].version}"]
    for tensor in model.graph.initializer:
        shown = ""
        if np.prod(tensor.dims) <= 16:
            shown = f" = {numpy_helper.to_array(tensor).tolist()}"
        lines.append(f"{tensor.name}: constant{list(tensor.dims)}{shown}")
    for node in model.graph.node:
        attributes = ", ".join(str(each).replace("\n", " ") for each in node.attribute)
        lines.append(f"{list(node.output)} = {node.op_type}({list(node.input)}) {attributes}")
    return "\n".join(lines)
