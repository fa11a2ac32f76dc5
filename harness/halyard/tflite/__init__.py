# SPDX-License-Identifier: Apache-2.0
"""Writes NNAPI models as .tflite files, so that TFLite runs the very same weights."""

from __future__ import annotations

from halyard.proto import halyard_pb2 as pb
from halyard.tflite.operators import convert

__all__ = ["write"]


def write(model: pb.Model) -> bytes:
    """The model as a .tflite file. NotExpressible where TFLite has no word for a part of it."""
    return convert(model).serialize()
