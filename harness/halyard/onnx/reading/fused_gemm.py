# SPDX-License-Identifier: Apache-2.0
"""Dynamically quantised GEMMs as ONNX Runtime's optimiser fuses them: DynamicQuantizeMatMul and
MatMulIntegerToFloat, written as the operators of ONNX that they stand for, with real numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from onnx import ModelProto, NodeProto, helper

_DOMAIN = "com.microsoft"
# Since when DequantizeLinear has a scale for each channel.
_PER_CHANNEL = 13


@dataclass(frozen=True)
class _Form:
    """The places of the inputs."""

    data_scale: int  # -1: none, as the operator quantises its input itself
    scale: int
    data_zero_point: int
    zero_point: int
    bias: int


_FORMS: Mapping[str, _Form] = {
    "DynamicQuantizeMatMul": _Form(-1, 2, -1, 3, 4),
    "MatMulIntegerToFloat": _Form(2, 3, 4, 5, 6),
}


def with_plain_gemms(model: ModelProto) -> tuple[ModelProto, list[str]]:
    """The model with plain operators in their places, and what is to be said of it."""
    if not any(_is_fused(node) for node in model.graph.node):
        return model, []
    extents = {each.name: tuple(each.dims) for each in model.graph.initializer}
    opset = max(
        (each.version for each in model.opset_import if each.domain in ("", "ai.onnx")), default=0
    )
    nodes: list[NodeProto] = []
    notes = []
    for node in model.graph.node:
        written = _plain(node, extents, opset) if _is_fused(node) else None
        if written is None:
            nodes.append(node)
            continue
        nodes += written
        notes.append(
            f"{node.op_type} {node.name!r}: computed with FLOAT32, its weights dequantised and its "
            "input rounded to 8 bits as the file says; sums are rounded as FLOAT32 are, those of "
            "the file are exact"
        )
    made = ModelProto()
    made.CopyFrom(model)
    made.graph.ClearField("node")
    made.graph.node.extend(nodes)
    return made, notes


def _is_fused(node: NodeProto) -> bool:
    return node.domain == _DOMAIN and node.op_type in _FORMS


def _plain(
    node: NodeProto, extents: Mapping[str, Sequence[int]], opset: int
) -> list[NodeProto] | None:
    """None where DequantizeLinear has no word for what its weights have."""
    form = _FORMS[node.op_type]

    def given(place: int) -> str:
        return node.input[place] if 0 <= place < len(node.input) else ""

    weights, scale, zero_point = given(1), given(form.scale), given(form.zero_point)
    whole, scales = extents.get(weights), extents.get(scale)
    if whole is None or scales is None or (zero_point and extents.get(zero_point) != scales):
        return None
    per_channel = scales not in ((), (1,))
    if per_channel and (len(whole) != 2 or scales != whole[1:] or opset < _PER_CHANNEL):
        return None
    name = node.output[0]
    made: list[NodeProto] = []
    if form.data_scale < 0:
        parts = [f"{name}/{word}" for word in ("whole", "scale", "zero_point")]
        made.append(helper.make_node("DynamicQuantizeLinear", [given(0)], parts, name=parts[0]))
    else:
        parts = [given(0), given(form.data_scale)]
        if given(form.data_zero_point):
            parts.append(given(form.data_zero_point))
    made.append(helper.make_node("DequantizeLinear", parts, [f"{name}/rounded"], name=name))
    parts = [weights, scale, *([zero_point] if zero_point else [])]
    made.append(helper.make_node("DequantizeLinear", parts, [f"{name}/weights"], name=name))
    if per_channel:
        made[-1].attribute.append(helper.make_attribute("axis", 1))
    bias = given(form.bias)
    product = f"{name}/product" if bias else name
    factors = [f"{name}/rounded", f"{name}/weights"]
    made.append(helper.make_node("MatMul", factors, [product], name=node.name))
    if bias:
        made.append(helper.make_node("Add", [product, bias], [name], name=f"{node.name}/bias"))
    return made
