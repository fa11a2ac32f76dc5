# SPDX-License-Identifier: Apache-2.0
"""Float32 models in float16, and back: the same operations on the same numbers."""

from __future__ import annotations

import numpy as np

from halyard.model.operands import is_constant
from halyard.proto import halyard_pb2 as pb

_WIDE = np.dtype("<f4")
_NARROW = np.dtype("<f2")
_TO_NARROW = {
    pb.OPERAND_TYPE_TENSOR_FLOAT32: pb.OPERAND_TYPE_TENSOR_FLOAT16,
    pb.OPERAND_TYPE_FLOAT32: pb.OPERAND_TYPE_FLOAT16,
}
# As ModelBuilder aligns constants.
_ALIGNMENT = 4
_POOL_ALIGNMENT = 64


def narrow(model: pb.Model) -> pb.Model:
    """Every float32 operand in float16, its constants rounded to the nearest."""
    return _converted(model, dict(_TO_NARROW), _WIDE, _NARROW)


def widen(model: pb.Model) -> pb.Model:
    """Every float16 operand in float32, with the same values."""
    types = {narrow_type: wide for wide, narrow_type in _TO_NARROW.items()}
    return _converted(model, types, _NARROW, _WIDE)


def _converted(
    model: pb.Model,
    types: dict[pb.OperandType, pb.OperandType],
    source: np.dtype[np.floating],
    target: np.dtype[np.floating],
) -> pb.Model:
    made = pb.Model()
    made.CopyFrom(model)
    values = bytearray()
    pools = [bytearray() for _ in model.pools]
    for graph in (made.main, *made.referenced):
        for operand in graph.operands:
            is_changed = operand.type in types
            operand.type = types.get(operand.type, operand.type)
            if not is_constant(operand):
                continue
            place = operand.location
            inside = operand.lifetime == pb.OPERAND_LIFE_TIME_CONSTANT_COPY
            old = model.operand_values if inside else model.pools[place.pool_index]
            new = values if inside else pools[place.pool_index]
            data = old[place.offset : place.offset + place.length]
            if is_changed:
                data = np.frombuffer(data, source).astype(target).tobytes()
            new.extend(bytes(-len(new) % (_ALIGNMENT if inside else _POOL_ALIGNMENT)))
            place.offset, place.length = len(new), len(data)
            new.extend(data)
    made.operand_values = bytes(values)
    made.pools[:] = [bytes(pool) for pool in pools]
    return made
