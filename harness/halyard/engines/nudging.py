# SPDX-License-Identifier: Apache-2.0
"""The same model on all but the same numbers: floats an ulp away, which no result may hang on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from halyard import tflite
from halyard.model import Array

# Of a weight's elements. Smaller constants may be extents or thresholds, and others for an ulp.
_LEAST = 16
_SEED = 0
# The error of a layer's sums in another order, as a share of them.
_SUMS = 2**-20
# ONNX's operators, and ONNX Runtime's, whose first input is rounded.
_ROUNDING = (
    "DynamicQuantizeLSTM",
    "DynamicQuantizeLinear",
    "DynamicQuantizeMatMul",
    "QuantizeLinear",
)


def nudged(values: Array) -> Array:
    """Each float32 or float64 goes up or down by an ulp, the same ones every time. What is 0 stays,
    and what has another type."""
    if values.dtype not in (np.float32, np.float64):
        return values
    random = np.random.default_rng(_SEED)
    ends = np.where(random.integers(0, 2, values.shape), np.inf, -np.inf).astype(values.dtype)
    return np.where((values == 0) | ~np.isfinite(values), values, np.nextafter(values, ends))


def nudged_file(path: Path) -> bytes | None:
    """The file with other weights. None for one without any that are floats, or of another format;
    OSError, ValueError or a HalyardError where it can't be read."""
    nudge = _FORMATS.get(path.suffix)
    return nudge(path.read_bytes()) if nudge is not None else None


def _tflite(content: bytes) -> bytes | None:
    from ai_edge_litert.schema_py_generated import TensorType

    from halyard.tflite.graph import packed

    model = tflite.read(content)
    floats = {
        tensor.buffer
        for graph in model.subgraphs
        for tensor in graph.tensors
        if tensor.type == TensorType.FLOAT32
    }
    changed = False
    for place in floats:
        buffer = model.buffers[place]
        # Those of large files lie behind the model.
        if buffer.data is None or len(buffer.data) < 4 * _LEAST or len(buffer.data) % 4:
            continue
        weights = np.frombuffer(bytes(buffer.data), "<f4")
        buffer.data = np.frombuffer(nudged(weights).tobytes(), np.uint8)
        changed = True
    return packed(model) if changed else None


def _onnx(content: bytes) -> bytes | None:
    from onnx import TensorProto

    from halyard.onnx.graph import packed, parsed

    model = parsed(content)
    changed = False
    for tensor in model.graph.initializer:
        if tensor.data_type != TensorProto.FLOAT or tensor.external_data:
            continue
        if len(tensor.raw_data) >= 4 * _LEAST and len(tensor.raw_data) % 4 == 0:
            weights = np.frombuffer(tensor.raw_data, "<f4")
            tensor.raw_data = nudged(weights).tobytes()
            changed = True
        elif len(tensor.float_data) >= _LEAST:
            tensor.float_data[:] = nudged(np.array(tensor.float_data, np.float32)).tolist()
            changed = True
    return packed(model) if changed else None


def rounding_otherwise(path: Path, seed: int) -> bytes | None:
    """The file with all that is rounded to 8 bits while it runs a little away, so that what lies
    between two steps goes to the other one. None where nothing is, or of another format than ONNX;
    OSError or ValueError where it can't be read."""
    if path.suffix != ".onnx":
        return None
    from onnx import helper, numpy_helper

    from halyard.onnx.graph import packed, parsed

    model = parsed(path.read_bytes())
    graph = model.graph
    random = np.random.default_rng(seed)

    def constant(name: str, value: float) -> str:
        graph.initializer.append(numpy_helper.from_array(np.array(value, np.float32), name))
        return name

    def moved(value: str, prefix: str) -> str:
        """Each element on its own: the scale of a dynamic rounding goes with the whole."""
        places = [f"{prefix}_{place}" for place in ("phase", "sine", "share", "factor", "product")]
        frequency = constant(f"{prefix}_frequency", random.uniform(1e3, 1e5))
        share = constant(f"{prefix}_most", _SUMS)
        one = constant(f"{prefix}_one", 1.0)
        for kind, inputs, output in (
            ("Mul", [value, frequency], places[0]),
            ("Sin", [places[0]], places[1]),
            ("Mul", [places[1], share], places[2]),
            ("Add", [places[2], one], places[3]),
            ("Mul", [value, places[3]], places[4]),
        ):
            graph.node.append(helper.make_node(kind, inputs, [output]))
        return places[4]

    computed = {name for node in graph.node for name in node.output}
    nodes = list(graph.node)
    del graph.node[:]
    for number, node in enumerate(nodes):
        if node.op_type in _ROUNDING and node.input[0] in computed:
            node.input[0] = moved(node.input[0], f"nudge_{number}")
        graph.node.append(node)
    return packed(model) if len(graph.node) > len(nodes) else None


_FORMATS: Mapping[str, Callable[[bytes], bytes | None]] = {".tflite": _tflite, ".onnx": _onnx}
