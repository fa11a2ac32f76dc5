# SPDX-License-Identifier: Apache-2.0
"""Writes NNAPI models as ONNX files, so that ONNX Runtime runs the very same weights."""

from __future__ import annotations

from halyard.onnx.operators import convert
from halyard.proto import halyard_pb2 as pb

__all__ = ["write"]


def write(model: pb.Model) -> bytes:
    """A float32 model as an ONNX file. NotExpressible where this room has no word for a part.

    Images are NCHW inside, as ONNX has them, with one transpose where they come in or go out.
    """
    return convert(model).serialize()
