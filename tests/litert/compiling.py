# SPDX-License-Identifier: Apache-2.0
"""LiteRT's CompiledModel on .tflite files, with Halyard as its NPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert.compiled_model")

import halyard.litert
from halyard.errors import ProgramMissing
from halyard.litert import NpuEnvironment
from halyard.model import Array


def new_environment(**options: Any) -> NpuEnvironment:
    """Skips the test where the build has no such libraries: those with sanitizers have none."""
    try:
        halyard.litert.plugin_library()
    except ProgramMissing as error:
        pytest.skip(str(error))
    return halyard.litert.environment(**{"threads": 1, **options})


def run(model: Any, inputs: Sequence[Array]) -> list[Array]:
    """One run of a CompiledModel, whose first signature counts."""
    [signature] = model.get_signature_list()
    given = model.create_input_buffers(0)
    results = model.create_output_buffers(0)
    for buffer, values in zip(given, inputs, strict=True):
        buffer.write(np.ascontiguousarray(values))
    model.run_by_index(0, given, results)
    details = model.get_output_tensor_details(signature).values()
    return [
        np.array(
            buffer.read(int(np.prod(detail["shape"])), np.dtype(detail["dtype"]).type)
        ).reshape(detail["shape"])
        for buffer, detail in zip(results, details, strict=True)
    ]
