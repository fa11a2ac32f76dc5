# SPDX-License-Identifier: Apache-2.0
"""Models whose constants lie in the same bytes, wholly or in part, as operands of one model may:
two operations of a kind, in one model, whose weights overlap."""

from __future__ import annotations

import numpy as np

from halyard import reference
from halyard.model import dtype_of
from halyard.proto import halyard_pb2 as pb
from tests.random_models.sketch import GENERATORS, RandomCase, Sketch, generate

# Those whose constants are weights: any of the type's values will do for one.
OPERATIONS = (
    "BIDIRECTIONAL_SEQUENCE_LSTM",
    "BIDIRECTIONAL_SEQUENCE_RNN",
    "CONV_2D",
    "DEPTHWISE_CONV_2D",
    "FULLY_CONNECTED",
    "GROUPED_CONV_2D",
    "LSTM",
    "QUANTIZED_16BIT_LSTM",
    "QUANTIZED_LSTM",
    "RNN",
    "SVDF",
    "TRANSPOSE_CONV_2D",
    "UNIDIRECTIONAL_SEQUENCE_LSTM",
    "UNIDIRECTIONAL_SEQUENCE_RNN",
)

_CONSTANTS = (pb.OPERAND_LIFE_TIME_CONSTANT_COPY, pb.OPERAND_LIFE_TIME_CONSTANT_REFERENCE)
_PLACES = 3
_ALIGNMENT = 64
# Those that decide extents.
_EARLY_DRAWS = 5


def generate_aliased(operation: str, seed: int, number: int) -> RandomCase:
    """The same case for the same arguments."""
    source = np.random.default_rng([seed, number, len(operation)])
    cases = _partners(operation, seed, number)
    test_case = pb.TestCase(name=f"{operation}_ALIASED_{number}")
    test_case.examples.add()
    for case in cases:
        _append(test_case, case.test_case)
    _freeze(test_case, source)
    _alias(test_case.model, source)
    expected = reference.run(test_case.model, test_case.examples[0].inputs)
    first = len(cases[0].expected)
    ignored = {*cases[0].ignored, *(first + index for index in cases[1].ignored)}
    return RandomCase(
        test_case,
        tuple(expected),
        frozenset(ignored),
        most_steps=max(case.most_steps for case in cases),
    )


class _Recorded(Sketch):
    """Keeps the whole numbers that were drawn."""

    def __init__(self, operation: str, source: np.random.Generator) -> None:
        super().__init__(operation, source)
        self.drawn: list[int] = []

    def integer(self, low: int, high: int) -> int:
        self.drawn.append(super().integer(low, high))
        return self.drawn[-1]


class _Swapped(Sketch):
    """Draws the same, but for two numbers that take each other's place."""

    def __init__(
        self, operation: str, source: np.random.Generator, drawn: list[int], pair: tuple[int, int]
    ) -> None:
        super().__init__(operation, source)
        self._drawn = drawn
        self._places = {pair[0]: pair[1], pair[1]: pair[0]}
        self._count = 0

    def integer(self, low: int, high: int) -> int:
        own = super().integer(low, high)
        other = self._places.get(self._count)
        self._count += 1
        return own if other is None else min(max(self._drawn[other], low), high)


def _partners(operation: str, seed: int, number: int) -> list[RandomCase]:
    """Two cases that differ in which of two extents comes first, so that weights with as many
    elements have other rows."""

    def source() -> np.random.Generator:
        return np.random.default_rng([seed, number, len(operation)])

    recorded = _Recorded(operation, source())
    first = GENERATORS[operation](recorded)
    early = range(min(_EARLY_DRAWS, len(recorded.drawn)))
    pairs = [(a, b) for a in early for b in early if recorded.drawn[a] < recorded.drawn[b]]
    if not pairs:
        return [first, generate(operation, seed, number)]
    pair = pairs[int(source().integers(len(pairs)))]
    return [first, GENERATORS[operation](_Swapped(operation, source(), recorded.drawn, pair))]


def _append(test_case: pb.TestCase, other: pb.TestCase) -> None:
    """The operations of another case behind those that are there."""
    model, added = test_case.model, pb.Model()
    added.CopyFrom(other.model)
    operands = len(model.main.operands)
    values = model.operand_values + bytes(-len(model.operand_values) % _ALIGNMENT)
    for operand in added.main.operands:
        if operand.lifetime == pb.OPERAND_LIFE_TIME_CONSTANT_COPY:
            operand.location.offset += len(values)
        elif operand.lifetime == pb.OPERAND_LIFE_TIME_CONSTANT_REFERENCE:
            operand.location.pool_index += len(model.pools)
    model.main.operands.extend(added.main.operands)
    model.operand_values = values + added.operand_values
    model.pools.extend(added.pools)
    for operation in added.main.operations:
        model.main.operations.add(
            type=operation.type,
            inputs=[operands + index for index in operation.inputs],
            outputs=[operands + index for index in operation.outputs],
        )
    model.main.input_indexes.extend(operands + index for index in added.main.input_indexes)
    model.main.output_indexes.extend(operands + index for index in added.main.output_indexes)
    test_case.examples[0].MergeFrom(other.examples[0])


def _freeze(test_case: pb.TestCase, source: np.random.Generator) -> None:
    """Most inputs become constants, so that there are weights to pack; the data of an operation,
    its first operand, stays what it is."""
    model, example = test_case.model, test_case.examples[0]
    data = {operation.inputs[0] for operation in model.main.operations}
    some = source.random() < 0.2
    values = bytearray(model.operand_values)
    kept = pb.Example()
    indexes = []
    for index, value in zip(model.main.input_indexes, example.inputs, strict=True):
        operand = model.main.operands[index]
        stays = index in data or (some and source.random() < 0.2)
        if stays or value.has_no_value or value.dimensions:
            indexes.append(index)
            kept.inputs.append(value)
            continue
        values += bytes(-len(values) % _ALIGNMENT)
        operand.lifetime = pb.OPERAND_LIFE_TIME_CONSTANT_COPY
        operand.location.offset, operand.location.length = len(values), len(value.data)
        values += value.data
    del model.main.input_indexes[:]
    model.main.input_indexes.extend(indexes)
    model.operand_values = bytes(values)
    del example.inputs[:]
    example.inputs.extend(kept.inputs)


def _alias(model: pb.Model, source: np.random.Generator) -> None:
    """Constants of a type lie in one region, at one of a few places near its beginning."""
    tensors = [
        operand
        for operand in model.main.operands
        if operand.lifetime in _CONSTANTS and operand.dimensions
    ]
    spread = source.random() < 0.4
    pool = bytearray()
    moved: list[tuple[pb.Operand, int]] = []
    for operand_type in sorted({operand.type for operand in tensors}):
        those = [operand for operand in tensors if operand.type == operand_type]
        if operand_type == pb.OPERAND_TYPE_TENSOR_BOOL8:
            continue
        if operand_type == pb.OPERAND_TYPE_TENSOR_INT32:
            # Shapes and axes are no weights; the biases of quantised sums have a scale.
            those = [operand for operand in those if operand.scale != 0]
        width = np.dtype(dtype_of(operand_type)).itemsize
        region = b"".join(_content(model, operand) for operand in those)
        begin = len(pool)
        for operand in those:
            most = len(region) - operand.location.length
            behind = int(source.integers(_PLACES)) if spread else 0
            moved.append((operand, begin + min(behind * width, most)))
        pool += region + bytes(-len(region) % _ALIGNMENT)
    for operand, offset in moved:
        operand.lifetime = pb.OPERAND_LIFE_TIME_CONSTANT_REFERENCE
        operand.location.pool_index = len(model.pools)
        operand.location.offset = offset
    if pool:
        model.pools.append(bytes(pool))


def _content(model: pb.Model, operand: pb.Operand) -> bytes:
    place = operand.location
    reference_ = operand.lifetime == pb.OPERAND_LIFE_TIME_CONSTANT_REFERENCE
    block = model.pools[place.pool_index] if reference_ else model.operand_values
    return block[place.offset : place.offset + place.length]
