# SPDX-License-Identifier: Apache-2.0
"""Types that operators write: onnx's shape inference goes before the file's declarations, which
count where inference knows less."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onnx import (
    ModelProto,
    NodeProto,
    OperatorSetIdProto,
    TensorProto,
    TypeProto,
    ValueInfoProto,
    defs,
    helper,
    inliner,
    shape_inference,
)

from halyard.onnx.reading import extents

_NOTHING: Mapping[str, TypeProto] = {}


def inferred(
    node: NodeProto,
    opset: int,
    imports: Sequence[OperatorSetIdProto],
    types: Mapping[str, TypeProto],
    constants: Mapping[str, TensorProto],
) -> Mapping[str, TypeProto]:
    """Of an operator's outputs, as far as they follow from the types of what it reads and from the
    values that are known. ValueError where those contradict each other."""
    has_graphs = any(each.HasField("g") or each.graphs for each in node.attribute)
    try:
        version = extents.version_to_infer_by(node, opset)
        schema = defs.get_schema(node.op_type, version, node.domain)
    except defs.SchemaError:
        return extents.of_onnx_runtime(node, types)
    found = _NOTHING if has_graphs else _by_schema(schema, node, imports, types, constants)
    # Which the package's own stubs leave out.
    attributes = ("has_function", "has_context_dependent_function")
    is_function = any(getattr(schema, name, False) for name in attributes)
    known = all(name in found and is_ranked(found[name]) for name in node.output if name)
    if known or not (has_graphs or is_function):
        return found
    return {**found, **_by_model(node, imports, types, constants)}


def _by_schema(
    schema: defs.OpSchema,
    node: NodeProto,
    imports: Sequence[OperatorSetIdProto],
    types: Mapping[str, TypeProto],
    constants: Mapping[str, TensorProto],
) -> Mapping[str, TypeProto]:
    if any(name and name not in types for name in node.input):
        return _NOTHING
    try:
        found = shape_inference.infer_node_outputs(
            schema, node, dict(types), dict(constants), opset_imports=list(imports)
        )
    # Of the checker's or of inference, whose classes have nothing in common.
    except Exception as error:
        raise ValueError(str(error)) from error
    return extents.corrected(node, types, found)


def _by_model(
    node: NodeProto,
    imports: Sequence[OperatorSetIdProto],
    types: Mapping[str, TypeProto],
    constants: Mapping[str, TensorProto],
) -> Mapping[str, TypeProto]:
    """By the body of a function, or by the graphs that the operator has, which may read values
    around them."""
    outputs = [name for name in node.output if name]
    model = ModelProto(ir_version=10, opset_import=imports)
    model.graph.name = "node"
    model.graph.node.append(node)
    model.graph.initializer.extend(constants.values())
    for name, proto in types.items():
        if name not in constants:
            model.graph.input.append(ValueInfoProto(name=name, type=proto))
    model.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in outputs)
    try:
        # Values that a body computes a shape by are looked at in a graph alone.
        model = inliner.inline_selected_functions(
            model, [], exclude=True, inline_schema_functions=True
        )
        whole = shape_inference.infer_shapes(model, data_prop=True)
    # As above. An error in a body is known when it runs.
    except Exception:  # noqa: BLE001
        return _NOTHING
    return {info.name: info.type for info in whole.graph.output if info.type.WhichOneof("value")}


def is_ranked(proto: TypeProto) -> bool:
    return proto.HasField("tensor_type") and proto.tensor_type.HasField("shape")


def without_shape(proto: TypeProto) -> TypeProto:
    """A tensor's type with its elements alone."""
    bare = TypeProto()
    bare.CopyFrom(proto)
    if bare.HasField("tensor_type"):
        bare.tensor_type.ClearField("shape")
    return bare


def merged(found: TypeProto | None, declared: TypeProto | None) -> TypeProto | None:
    """The inferred type, with the extents that only the declaration has."""
    if found is None or declared is None or not found.HasField("tensor_type"):
        return found or declared
    if not is_ranked(declared):
        return found
    whole = TypeProto()
    whole.CopyFrom(found)
    if not is_ranked(found):
        whole.tensor_type.shape.CopyFrom(declared.tensor_type.shape)
        return whole
    mine, theirs = whole.tensor_type.shape.dim, declared.tensor_type.shape.dim
    if len(mine) == len(theirs):
        for extent, other in zip(mine, theirs, strict=True):
            if not extent.HasField("dim_value") and other.HasField("dim_value"):
                extent.CopyFrom(other)
    return whole
