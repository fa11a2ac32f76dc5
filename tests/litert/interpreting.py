# SPDX-License-Identifier: Apache-2.0
"""LiteRT's interpreter on .tflite files, with a delegate or without."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert.interpreter")

from ai_edge_litert.interpreter import Interpreter, OpResolverType

import halyard.litert
from halyard.errors import ProgramMissing
from halyard.model import Array

PLAIN = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
REFERENCE = OpResolverType.BUILTIN_REF
WITH_XNNPACK = OpResolverType.AUTO


def new_delegate(**options: Any) -> Any:
    """Skips the test where the build has no delegate: those with sanitizers have none."""
    try:
        halyard.litert.delegate_library()
    except ProgramMissing as error:
        pytest.skip(str(error))
    return halyard.litert.delegate(**options)


def interpreter(
    content: bytes,
    delegate: Any = None,
    kernels: Any = PLAIN,
    *,
    threads: int = 1,
    shapes: Sequence[Sequence[int]] = (),
) -> Interpreter:
    found = Interpreter(
        model_content=content,
        num_threads=threads,
        experimental_op_resolver_type=kernels,
        experimental_delegates=None if delegate is None else [delegate],
    )
    for detail, shape in zip(found.get_input_details(), shapes, strict=bool(shapes)):
        found.resize_tensor_input(detail["index"], shape)
    found.allocate_tensors()
    return found


def run(found: Interpreter, inputs: Sequence[Array]) -> list[Array]:
    for detail, values in zip(found.get_input_details(), inputs, strict=True):
        found.set_tensor(detail["index"], values)
    found.invoke()
    return [found.get_tensor(detail["index"]) for detail in found.get_output_details()]


def inputs_of(found: Interpreter, seed: int) -> list[Array]:
    random = np.random.default_rng(seed)
    values = []
    for detail in found.get_input_details():
        shape, dtype = detail["shape"], detail["dtype"]
        if np.issubdtype(dtype, np.floating):
            values.append(random.uniform(-1, 1, shape).astype(dtype))
        elif dtype == np.bool_:
            values.append(random.integers(0, 2, shape).astype(dtype))
        else:
            limits = np.iinfo(dtype)
            least, most = max(limits.min, -999), min(limits.max, 999)
            values.append(random.integers(least, most + 1, shape).astype(dtype))
    return values


def plan(found: Interpreter) -> list[str]:
    """The operators that the interpreter runs, by name; ours are DELEGATE."""
    # The package says so in no other way.
    return [each["op_name"] for each in found._get_ops_details()]


def report_of(path: Path) -> Any:
    """Of the last graph."""
    return json.loads(path.read_text())["graphs"][-1]


def apart(ours: Sequence[Array], theirs: Sequence[Array]) -> str:
    """Empty where two runs agree: floats as sums in another order do, quantised numbers within a
    step, all else exactly."""
    for number, (left, right) in enumerate(zip(ours, theirs, strict=True)):
        if left.shape != right.shape or left.dtype != right.dtype:
            return f"output {number}: {left.shape} {left.dtype}, not {right.shape} {right.dtype}"
        if left.dtype.kind == "f":
            largest = float(np.abs(right).max(initial=0.0))
            good = np.allclose(left, right, rtol=1e-4, atol=1e-5 * max(1.0, largest))
        elif left.dtype.itemsize == 1 and left.dtype != np.bool_:
            good = bool(np.all(np.abs(left.astype(int) - right.astype(int)) <= 1))
        else:
            good = np.array_equal(left, right)
        if not good:
            return f"output {number}:\n{left}\n{right}"
    return ""
