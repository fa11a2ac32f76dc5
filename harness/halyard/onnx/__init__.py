# SPDX-License-Identifier: Apache-2.0
"""NNAPI models as ONNX files, so that ONNX Runtime runs the very same weights; and back.

The messages are those of the onnx package, which is imported when a file is written or read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from halyard.errors import HalyardError, PackageMissing
from halyard.model import Conversion
from halyard.model.read_options import USUAL, ReadOptions
from halyard.proto import halyard_pb2 as pb

__all__ = ["read", "read_conversion", "write"]


def write(model: pb.Model) -> bytes:
    """A float32 model as an ONNX file. NotExpressible where this room has no word for a part.

    Images are NCHW inside, as ONNX has them, with one transpose where they come in or go out.
    """
    try:
        from halyard.onnx.graph import packed
        from halyard.onnx.operators import convert
    except ImportError as error:
        raise _missing("write", error) from error
    return packed(convert(model).model())


def read(content: bytes, folder: Path | None = None) -> Any:
    """An ONNX file as a ModelProto that its checker finds no fault with, with the data that lies
    beside it in `folder`. HalyardError where it is none."""
    try:
        from halyard.onnx.graph import checked, parsed
        from halyard.onnx.reading.file import embed_external_data
    except ImportError as error:
        raise _missing("read", error) from error
    try:
        model = parsed(content)
        if folder is not None:
            embed_external_data(model, folder)
        checked(model)
        return model
    except ValueError as error:
        raise HalyardError(f"this is no ONNX file: {error}") from error


def read_conversion(content: bytes, path: Path, options: ReadOptions = USUAL) -> Conversion:
    """The model of an ONNX file. What NNAPI has no words for is left to ONNX Runtime. HalyardError
    where it is none, or damaged."""
    try:
        from halyard.onnx.reading.convert_onnx import converted
    except ImportError as error:
        raise _missing("read", error) from error
    return converted(content, path, options)


def _missing(verb: str, error: ImportError) -> PackageMissing:
    return PackageMissing(
        f"to {verb} an ONNX file takes the package onnx: pip install 'halyard[peers]' ({error})"
    )
