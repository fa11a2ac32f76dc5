# SPDX-License-Identifier: Apache-2.0
"""Small .tflite files for Halyard in LiteRT's runtime."""

from __future__ import annotations

from pathlib import Path

from tests.harness.tflite_file import GraphFile

# An operator that LiteRT runs and Halyard has not.
STRANGE = "COS"


def chain(folder: Path, *kinds: str, extents: tuple[int, ...] = (2, 8)) -> Path:
    """A file with these operators of one float32 input each, one behind the other."""
    graph = GraphFile()
    last = graph.input(extents)
    for kind in kinds:
        following = graph.tensor(extents)
        graph.add(kind, [last], [following])
        last = following
    path = folder / f"{'-'.join(kinds).lower()}.tflite"
    path.write_bytes(graph.content(last))
    return path


def integers(folder: Path) -> Path:
    """A file whose input is int64, as NNAPI's never is."""
    graph = GraphFile()
    data, cast = graph.input((2, 3), "int64"), graph.tensor((2, 3))
    graph.add("CAST", [data], [cast], "CastOptions", inDataType=4, outDataType=0)
    doubled = graph.tensor((2, 3))
    graph.add("ADD", [cast, cast], [doubled], "AddOptions")
    path = folder / "integers.tflite"
    path.write_bytes(graph.content(doubled))
    return path


def unread(folder: Path) -> Path:
    """A file with an input that nothing reads, and so none of NNAPI's model."""
    graph = GraphFile()
    data, _, result = graph.input((2, 3)), graph.input((4,)), graph.tensor((2, 3))
    graph.add("NEG", [data], [result])
    path = folder / "unread.tflite"
    path.write_bytes(graph.content(result))
    return path
