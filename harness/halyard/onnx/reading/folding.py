# SPDX-License-Identifier: Apache-2.0
"""Operators on constants, computed by onnx's own reference in numpy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import ModelProto, NodeProto, helper
from onnx.reference import ReferenceEvaluator

from halyard.errors import NotExpressible
from halyard.model import Array

# The operators that exporters compute shapes and weights with: nothing that draws random numbers or
# takes long.
FOLDABLE = frozenset(
    {
        "Abs",
        "Add",
        "And",
        "Cast",
        "CastLike",
        "Ceil",
        "Clip",
        "Concat",
        "Constant",
        "ConstantOfShape",
        "DequantizeLinear",
        "Div",
        "Equal",
        "Erf",
        "Exp",
        "Expand",
        "Flatten",
        "Floor",
        "Gather",
        "GatherElements",
        "Greater",
        "GreaterOrEqual",
        "Identity",
        "Less",
        "LessOrEqual",
        "Log",
        "Max",
        "Min",
        "Mod",
        "Mul",
        "Neg",
        "NonZero",
        "Not",
        "Or",
        "Pad",
        "Pow",
        "QuantizeLinear",
        "Range",
        "Reciprocal",
        "ReduceMax",
        "ReduceMin",
        "ReduceProd",
        "ReduceSum",
        "Reshape",
        "Round",
        "ScatterND",
        "Sigmoid",
        "Sign",
        "Size",
        "Slice",
        "Softmax",
        "Split",
        "Sqrt",
        "Squeeze",
        "Sub",
        "Sum",
        "Tanh",
        "Tile",
        "Transpose",
        "Trilu",
        "Unsqueeze",
        "Where",
    }
)


# Operators that the reference has in newer versions alone, which mean the same in the older ones.
_OLDEST = {"DequantizeLinear": 19}


def evaluated(node: NodeProto, opset: int, inputs: Sequence[Array]) -> list[Array]:
    """NotExpressible where the reference does not compute it, or not as that version says."""
    if node.op_type == "Softmax" and opset < 13:
        raise NotExpressible("the reference has no softmax of several dimensions as one")
    if opset < 7 and any(each.name == "broadcast" and each.i for each in node.attribute):
        raise NotExpressible("the reference does not broadcast along an axis")
    names = [name for name in node.input if name]
    try:
        with np.errstate(all="ignore"):
            version = max(opset, _OLDEST.get(node.op_type, opset))
            evaluator = ReferenceEvaluator(_model_of(node, version))
            results = evaluator.run(None, dict(zip(names, inputs, strict=True)))
            return [np.asarray(each) for each in results]
    # It raises whatever numpy does, and classes of its own.
    except Exception as error:
        raise NotExpressible(f"it can't be computed beforehand: {error}") from error


def _model_of(node: NodeProto, opset: int) -> ModelProto:
    """Of the node alone, which the reference would take for one of its newest operator set."""
    inputs, outputs = (
        [helper.make_empty_tensor_value_info(name) for name in names if name]
        for names in (dict.fromkeys(node.input), node.output)
    )
    graph = helper.make_graph([node], "node", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
