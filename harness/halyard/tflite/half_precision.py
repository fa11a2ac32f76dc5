# SPDX-License-Identifier: Apache-2.0
"""A .tflite file that lets LiteRT compute its float32 in half precision, which its metadata say."""

from __future__ import annotations

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from halyard.model.budget import Budget
from halyard.tflite.graph import made, packed, unpacked

_NAME = "reduced_precision_support"
_HALF = b"fp16accfp16"  # values in half precision, and sums as well


def in_half_precision(content: bytes) -> bytes:
    """The same model. ValueError where the content is no .tflite file."""
    model = unpacked(content, Budget(len(content)))
    entry = made(schema.MetadataT, name=_NAME, buffer=len(model.buffers))
    model.buffers = [*model.buffers, made(schema.BufferT, data=np.frombuffer(_HALF, np.uint8))]
    model.metadata = [*(model.metadata or []), entry]
    return packed(model)
