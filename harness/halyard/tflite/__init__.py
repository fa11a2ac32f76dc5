# SPDX-License-Identifier: Apache-2.0
"""NNAPI models as .tflite files, so that TFLite runs the very same weights.

The file format's objects are those of LiteRT's package, which is imported when a file is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from halyard.errors import HalyardError, PackageMissing
from halyard.model import Conversion
from halyard.model.budget import Budget
from halyard.model.read_options import USUAL, ReadOptions
from halyard.proto import halyard_pb2 as pb

__all__ = ["in_half_precision", "read", "read_conversion", "write"]


def write(model: pb.Model) -> bytes:
    """The model as a .tflite file. NotExpressible where TFLite has no word for a part of it."""
    try:
        from halyard.tflite.graph import packed
        from halyard.tflite.operators import convert
    except ImportError as error:
        raise _missing("write", error) from error
    return packed(convert(model))


def in_half_precision(content: bytes) -> bytes:
    """The same file with leave to compute its float32 in half precision, which LiteRT takes where
    the processor can. HalyardError where it is no .tflite file."""
    try:
        from halyard.tflite.half_precision import in_half_precision as marked
    except ImportError as error:
        raise _missing("write", error) from error
    try:
        return marked(content)
    except ValueError as error:
        raise HalyardError(f"this is no .tflite file: {error}") from error


def read(content: bytes) -> Any:
    """A .tflite file as a ModelT of the schema. HalyardError where it is none. Its contents are not
    checked: read_conversion does that."""
    try:
        from halyard.tflite.graph import unpacked
    except ImportError as error:
        raise _missing("read", error) from error
    try:
        return unpacked(content, Budget(len(content)))
    except ValueError as error:
        raise HalyardError(f"this is no .tflite file: {error}") from error


def read_conversion(content: bytes, path: Path, options: ReadOptions = USUAL) -> Conversion:
    """The model of a .tflite file, mapped as TFLite's NNAPI delegate does. HalyardError where it is
    none, or damaged."""
    try:
        from halyard.tflite.reading.convert_tflite import converted
    except ImportError as error:
        raise _missing("read", error) from error
    return converted(content, path, options)


def _missing(verb: str, error: ImportError) -> PackageMissing:
    return PackageMissing(
        f"to {verb} a .tflite file takes the package ai-edge-litert: "
        f"pip install 'halyard[peers]' ({error})"
    )
