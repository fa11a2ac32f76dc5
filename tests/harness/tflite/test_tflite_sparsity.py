# SPDX-License-Identifier: Apache-2.0
"""Constants that are stored without their zeros."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert.interpreter")

from ai_edge_litert import schema_py_generated as schema

from halyard import tflite
from halyard.errors import HalyardError
from halyard.tflite.reading.sparsity import dense
from tests.harness.tflite_file import GraphFile, packed
from tests.harness.tflite_models import check, operations


def level(size: int = 0, segments: Any = None, indexes: Any = None) -> Any:
    """Dense, with a size; else with the indexes that are there."""
    found = schema.DimensionMetadataT()
    if segments is None:
        found.format, found.denseSize = schema.DimensionType.DENSE, size
        return found
    found.format = schema.DimensionType.SPARSE_CSR
    for name, values in (("arraySegments", segments), ("arrayIndices", indexes)):
        vector = schema.Uint8VectorT()
        vector.values = list(values)
        setattr(found, f"{name}Type", schema.SparseIndexVector.Uint8Vector)
        setattr(found, name, vector)
    return found


def sparsity(order: list[int], levels: list[Any], blocks: list[int] | None = None) -> Any:
    found = schema.SparsityParametersT()
    found.traversalOrder, found.dimMetadata, found.blockMap = order, levels, blocks or []
    return found


ROWS = sparsity([0, 1], [level(3), level(segments=[0, 2, 2, 3], indexes=[0, 3, 2])])
VALUES = np.array([1, 2, 3], np.float32)
WANTED = [[1, 0, 0, 2], [0, 0, 0, 0], [0, 0, 3, 0]]


def test_rows_of_their_elements() -> None:
    assert dense(ROWS, (3, 4), VALUES).tolist() == WANTED


def test_columns_first() -> None:
    columns = sparsity([1, 0], [level(4), level(segments=[0, 1, 1, 2, 3], indexes=[0, 2, 0])])
    assert dense(columns, (3, 4), np.array([1, 3, 2], np.float32)).tolist() == WANTED


def test_blocks_of_two_by_two() -> None:
    """Axes 2 and 3 are inside the blocks of axes 0 and 1."""
    blocked = sparsity(
        [0, 1, 2, 3],
        [level(2), level(segments=[0, 1, 2], indexes=[1, 0]), level(2), level(2)],
        [0, 1],
    )
    values = np.arange(1, 9, dtype=np.int8)
    assert dense(blocked, (4, 4), values).tolist() == [
        [0, 0, 1, 2],
        [0, 0, 3, 4],
        [5, 6, 0, 0],
        [7, 8, 0, 0],
    ]


@pytest.mark.parametrize(
    ("spoilt", "reason"),
    [
        (sparsity([0, 0], [level(3), level(4)]), "its levels are not those"),
        (sparsity([0, 1], [level(3)]), "its levels are not those"),
        (sparsity([0, 1, 2], [level(3), level(4), level(1)], [7]), "blocks are of axes"),
        (sparsity([0, 1], [level(3), level(100)]), "a level of 100, which is more"),
        (sparsity([0, 1], [level(3), level(4)]), "stores fewer values"),
        (sparsity([0, 1], [level(3), level(segments=[0, 1], indexes=[0])]), "fewer segments"),
        (sparsity([0, 1], [level(3), level(segments=[0, 2, 1, 3], indexes=[0] * 3)]), "segments"),
        (sparsity([0, 1], [level(3), level(segments=[0, 2, 2, 9], indexes=[0] * 3)]), "segments"),
        (
            sparsity([0, 1], [level(3), level(segments=[0, 2, 2, 3], indexes=[0, 4, 2])]),
            "not among the 4 of axis 1",
        ),
    ],
)
def test_what_makes_no_sense_is_told(spoilt: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        dense(spoilt, (3, 4), VALUES)


def _layer() -> tuple[GraphFile, int]:
    """A layer of sparse float16 weights, as converters write it: DENSIFY, then DEQUANTIZE."""
    graph = GraphFile()
    source, output = graph.input((2, 4)), graph.tensor((2, 3))
    stored = graph.constant(VALUES, "float16")
    graph.tensors[stored].shape, graph.tensors[stored].sparsity = [3, 4], ROWS
    half, wide = graph.tensor((3, 4), "float16"), graph.tensor((3, 4))
    graph.add("DENSIFY", [stored], [half], "DensifyOptions")
    graph.add("DEQUANTIZE", [half], [wide], "DequantizeOptions")
    graph.add("FULLY_CONNECTED", [source, wide, -1], [output], "FullyConnectedOptions")
    return graph, output


def test_sparse_weights_become_whole_before_anything_runs(tmp_path: Path) -> None:
    graph, output = _layer()
    found = check(graph, [output], tmp_path)
    assert operations(found) == ["FULLY_CONNECTED"]


def test_a_small_file_is_no_large_tensor() -> None:
    graph, output = _layer()
    model = graph.model(output)
    model.subgraphs[0].tensors[2].shape = [2**14, 2**14]
    with pytest.raises(HalyardError, match="filled up with zeros, would come to"):
        tflite.read_conversion(packed(model), Path("spoilt.tflite"))
