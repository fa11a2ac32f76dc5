# SPDX-License-Identifier: Apache-2.0
"""Random .tflite graphs of TFLite's operators, with all of their options, in the types and ranks
that LiteRT takes. A new operator is a function and a row in its family's file."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from ai_edge_litert.interpreter import OpResolverType

from tests.harness.tflite_file import packed
from tests.random_tflite import data_movement, elementwise, recurrent, reduction, weighted
from tests.random_tflite.sketch import (
    Maker,
    RandomGraph,
    Refused,
    Sketch,
    Value,
    interpreted,
)

MAKERS: dict[str, Maker] = {
    **elementwise.MAKERS,
    **reduction.MAKERS,
    **weighted.MAKERS,
    **recurrent.MAKERS,
    **data_movement.MAKERS,
}
KINDS = tuple(MAKERS)


def graph(seed: int, number: int, kind: str = "") -> RandomGraph:
    """The graph of this number. Refused where LiteRT does not take what was tried.

    Quantised values are moved, and then computed with once: a step of one operator would decide
    many of the next one's.
    """
    random = np.random.default_rng([seed, number])
    sketch = Sketch(random)
    for _ in range(sketch.among([0, 0, 0, 1, 2])):
        MAKERS[sketch.among(list(data_movement.MAKERS))](sketch)
        _with_shapes(sketch)
    MAKERS[kind or sketch.among(KINDS)](sketch)
    _with_shapes(sketch)
    content = sketch.graph.content(*sketch.outputs)
    try:
        by_xnnpack = interpreted(content, sketch.feeds, OpResolverType.AUTO)[1]
    except Refused:
        by_xnnpack = None
    try:
        expected = interpreted(content, sketch.feeds, OpResolverType.BUILTIN_REF)[1]
    except Refused:
        # Some operators have no reference kernel.
        if by_xnnpack is None:
            raise
        expected = by_xnnpack
    if by_xnnpack is not None and [each.shape for each in by_xnnpack] != [
        each.shape for each in expected
    ]:
        # Of a window that is larger than its image, one has nothing and the other a row.
        raise Refused("LiteRT's kernels disagree about shapes")
    return RandomGraph(tuple(sketch.kinds), content, sketch.feeds, expected, by_xnnpack)


def _with_shapes(sketch: Sketch) -> None:
    """Gives tensors the shapes that LiteRT finds."""
    content = packed(copy.deepcopy(sketch.graph).model(*sketch.outputs))
    try:
        interpreter, _ = interpreted(content, sketch.feeds, OpResolverType.BUILTIN_REF)
    except Refused:
        interpreter, _ = interpreted(content, sketch.feeds, OpResolverType.AUTO)
    found = {
        each["index"]: tuple(int(extent) for extent in each["shape"])
        for each in interpreter.get_tensor_details()
    }
    for index, tensor in enumerate(sketch.graph.tensors):
        tensor.shape = list(found.get(index, tensor.shape))
    sketch.last = [
        Value(each.index, found[each.index], each.dtype, each.scale, each.zero_point)
        for each in sketch.last
    ]


@contextmanager
def silence() -> Iterator[None]:
    """Without what LiteRT writes of each graph that it refuses."""
    kept, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(null)
