# SPDX-License-Identifier: Apache-2.0
"""Signals of three dimensions, (N, C, L), as images of one row, which NNAPI convolves and pools."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from onnx import NodeProto, helper

from halyard.errors import NotExpressible
from halyard.onnx.reading.mapper import MAX_RANK, SIGNAL_RANK, Mapper
from halyard.onnx.reading.network import Node

# The attributes' parts for the row.
_OF_A_ROW: Mapping[str, Callable[[Sequence[int]], list[int]]] = {
    "dilations": lambda given: [1, *given],
    "kernel_shape": lambda given: [1, *given],
    "output_padding": lambda given: [0, *given],
    "output_shape": lambda given: [1, *given],
    "pads": lambda given: [0, *given[:1], 0, *given[1:]],
    "strides": lambda given: [1, *given],
}


def of_image(mapper: Mapper, node: Node) -> Node:
    """The operator as it is of images. NotExpressible where its input is neither."""
    rank = len(mapper.shape(node.input(0)))
    if rank == MAX_RANK:
        return node
    if rank != SIGNAL_RANK:
        raise NotExpressible(
            f"its input has {rank} dimensions, and NNAPI's images have 4, signals among them 3"
        )
    proto = NodeProto()
    proto.CopyFrom(node.proto)
    for attribute in proto.attribute:
        if attribute.name in _OF_A_ROW:
            given = helper.get_attribute_value(attribute)
            attribute.ints[:] = _OF_A_ROW[attribute.name](list(given))
    return replace(node, proto=proto)
