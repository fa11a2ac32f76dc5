# SPDX-License-Identifier: Apache-2.0
"""ONNX files as messages: parsed, with the data that lies in files beside, and checked."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, helper
from onnx.external_data_helper import ExternalDataInfo, uses_external_data
from onnx.inliner import inline_local_functions

from halyard.errors import HalyardError
from halyard.model.budget import Budget, OverBudget, excerpt
from halyard.onnx.graph import checked, parsed
from halyard.onnx.reading.naming import put_in_order

# The largest message that protobuf takes.
_MAX_BYTES = 2**31 - 1


def model_of(content: bytes, path: Path) -> ModelProto:
    """Without functions of its own and without data elsewhere. HalyardError for what is no model,
    or has data that is not there."""
    try:
        model = parsed(content)
        embed_external_data(model, path.parent)
        put_in_order(model.graph)
        _check(model)
        if not model.functions:
            return model
        _take_functions(model, Budget(len(content)))
        return inline_local_functions(model)
    except OverBudget as error:
        raise HalyardError(f"{path}: {error}") from error
    except ValueError as error:
        raise HalyardError(f"{path}: this is no ONNX file: {error}") from error
    except RecursionError as error:
        raise HalyardError(f"{path}: its graphs lie too deep in each other") from error


def _check(model: ModelProto) -> None:
    """The checker wants a type and a shape of each output, which inference finds and ONNX Runtime
    does without."""
    typeless = [info for info in model.graph.output if info.type.WhichOneof("value") is None]
    for info in typeless:
        info.type.tensor_type.elem_type = TensorProto.FLOAT
    tensors = [info.type.tensor_type for info in model.graph.output if _is_tensor(info.type)]
    bare = [tensor for tensor in tensors if not tensor.HasField("shape")]
    for tensor in bare:
        tensor.shape.SetInParent()
    try:
        checked(model)
    finally:
        for tensor in bare:
            tensor.ClearField("shape")
        for info in typeless:
            info.ClearField("type")


def _is_tensor(proto: TypeProto) -> bool:
    return bool(proto.HasField("tensor_type"))


def _take_functions(model: ModelProto, budget: Budget) -> None:
    """The nodes that its functions come to in their places: those that call each other twice double
    with each. ValueError for one that calls itself."""
    bodies = {(each.domain, each.name): each.node for each in model.functions}
    counts: dict[tuple[str, str], int] = {}
    open_ones: set[tuple[str, str]] = set()

    def of_all(nodes: Iterable[NodeProto]) -> int:
        return sum(of_one(node) for node in nodes)

    def of_one(node: NodeProto) -> int:
        inside = sum(
            of_all(graph.node) for each in node.attribute for graph in (each.g, *each.graphs)
        )
        called = (node.domain, node.op_type)
        if called not in bodies:
            return 1 + inside
        if called in open_ones:
            raise ValueError(f"its function {excerpt(node.op_type)!r} calls itself")
        if called not in counts:
            open_ones.add(called)
            counts[called] = of_all(bodies[called])
            open_ones.remove(called)
        return counts[called] + inside

    budget.take_nodes(of_all(model.graph.node), "its graph, with functions in their places,")


def tensors_of(graph: GraphProto) -> Iterator[TensorProto]:
    """Those that a file holds, of subgraphs too."""
    yield from graph.initializer
    for node in graph.node:
        yield from _tensors_of_node(node)


def _tensors_of_node(node: NodeProto) -> Iterator[TensorProto]:
    for attribute in node.attribute:
        if attribute.type == AttributeProto.TENSOR:
            yield attribute.t
        yield from attribute.tensors
        for graph in (attribute.g, *attribute.graphs):
            yield from tensors_of(graph)


def embed_external_data(model: ModelProto, folder: Path) -> None:
    """Puts what lies in files beside into the model. ValueError where it is not there."""
    tensors = [*tensors_of(model.graph)]
    for function in model.functions:
        for node in function.node:
            tensors.extend(_tensors_of_node(node))
    total = 0
    for tensor in tensors:
        if uses_external_data(tensor):
            tensor.raw_data = _external_data(tensor, folder, _MAX_BYTES - total)
            total += len(tensor.raw_data)
            tensor.ClearField("external_data")
            tensor.data_location = TensorProto.DEFAULT


def _external_data(tensor: TensorProto, folder: Path, room: int) -> bytes:
    """A file may name any other: it is read from its own folder and below, and nothing else is."""
    try:
        info = ExternalDataInfo(tensor)
        offset, given = int(info.offset or 0), info.length
        size = math.prod(tensor.dims) * helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize
        length = size if given is None else int(given)
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(
            f"tensor {tensor.name!r}: external data is not described: {error}"
        ) from error
    what = f"tensor {tensor.name!r}: its data in {info.location!r}"
    root = folder.resolve()
    try:
        file = (root / info.location).resolve()
        if not file.is_relative_to(root) or file == root:
            raise ValueError(f"{what} lies outside of the model's folder")
        if not file.is_file():
            raise ValueError(f"{what} is not there: keep the file beside the model")
        if offset < 0 or length != size or offset + length > file.stat().st_size:
            raise ValueError(
                f"{what}: {length} bytes from {offset} on, where {size} are needed and the file "
                f"has {file.stat().st_size}"
            )
        if length > room:
            raise ValueError(f"{what} makes more than 2 GiB of the whole")
        with file.open("rb") as stream:
            stream.seek(offset)
            return stream.read(length)
    except OSError as error:
        raise ValueError(f"{what}: {error.strerror}") from error
