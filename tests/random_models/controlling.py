# SPDX-License-Identifier: Apache-2.0
"""IF and WHILE over vectors whose length the model leaves open: what runs fits it, and what does
not run need not."""

from __future__ import annotations

import numpy as np

from halyard import reference
from halyard.model import Array, ModelBuilder, TensorType
from halyard.proto import halyard_pb2 as pb
from tests.random_models.sketch import B8, F32, I32, RandomCase, Sketch, generator

_LENGTHS = (1, 2, 3, 4, 17)
_BINARY = (pb.OPERATION_TYPE_ADD, pb.OPERATION_TYPE_MUL, pb.OPERATION_TYPE_SUB)
_UNARY = (pb.OPERATION_TYPE_RELU, pb.OPERATION_TYPE_TANH, pb.OPERATION_TYPE_NEG)
_OPEN = TensorType(F32, (0,))
_FLAG = TensorType(B8, (1,))
_COUNT = TensorType(I32, (1,))


class _Nest:
    """A model with graphs inside, each of which is built as a model of its own."""

    def __init__(self, sketch: Sketch) -> None:
        self.sketch = sketch
        self.model = pb.Model(name=sketch.operation)

    def graph(self, builder: ModelBuilder, outputs: list[int]) -> int:
        """The number of a new graph inside. Its constants join the model's."""
        built = builder.build(outputs)
        assert not built.pools
        before = self.model.operand_values
        before += bytes(-len(before) % 4)
        for operand in built.main.operands:
            if operand.lifetime == pb.OPERAND_LIFE_TIME_CONSTANT_COPY:
                operand.location.offset += len(before)
        self.model.operand_values = before + built.operand_values
        self.model.referenced.append(built.main)
        return len(self.model.referenced) - 1

    def body(self, builder: ModelBuilder, x: int, depth: int) -> int:
        """A few operations on x; the result's length is x's, where it fits. What the graph itself
        says of the length is no contradiction."""
        sketch = self.sketch
        length = sketch.pick(_LENGTHS)
        for _ in range(sketch.integer(1, 3)):
            if sketch.chance(0.3):
                x = builder.operation(sketch.pick(_UNARY), [x], "", _OPEN)
                continue
            values = sketch.grid((length,), 2, 1 / 4).astype(np.float32)
            constant = builder.constant("", TensorType(F32, (length,)), values)
            x = builder.operation(sketch.pick(_BINARY), [x, constant, builder.int32(0)], "", _OPEN)
        return self.branch(builder, x, depth - 1) if depth > 0 and sketch.chance() else x

    def branch(self, builder: ModelBuilder, x: int, depth: int) -> int:
        """An IF whose condition is a constant of the graph around it."""
        flag = builder.constant("", _FLAG, np.array([self.sketch.chance()], np.uint8))
        graphs = [self.branch_graph(depth) for _ in range(2)]
        return self.operation(builder, pb.OPERATION_TYPE_IF, [flag], graphs, [x], [_OPEN])[0]

    def branch_graph(self, depth: int) -> int:
        builder = ModelBuilder("")
        x = builder.input("", _OPEN)
        return self.graph(builder, [self.body(builder, x, depth)])

    @staticmethod
    def operation(
        builder: ModelBuilder,
        code: int,
        before: list[int],
        graphs: list[int],
        behind: list[int],
        outputs: list[TensorType],
    ) -> list[int]:
        operands = []
        for graph in graphs:
            operand = builder.omitted(TensorType(pb.OPERAND_TYPE_SUBGRAPH, ()))
            builder.operand(operand).lifetime = pb.OPERAND_LIFE_TIME_SUBGRAPH
            builder.operand(operand).location.offset = graph
            operands.append(operand)
        return builder.operation_n(
            code, [*before, *operands, *behind], [("", output) for output in outputs]
        )

    def finish(
        self, builder: ModelBuilder, outputs: list[int], values: list[Array]
    ) -> RandomCase | None:
        """None where what runs does not fit."""
        main = builder.build(outputs)
        assert not main.pools
        model = pb.Model()
        model.CopyFrom(self.model)
        before = model.operand_values + bytes(-len(model.operand_values) % 4)
        for operand in main.main.operands:
            if operand.lifetime == pb.OPERAND_LIFE_TIME_CONSTANT_COPY:
                operand.location.offset += len(before)
        model.main.CopyFrom(main.main)
        model.operand_values = before + main.operand_values
        inputs = [pb.InputValue(data=value.tobytes(), dimensions=value.shape) for value in values]
        try:
            expected = reference.run(model, inputs)
        except ValueError:
            return None
        example = pb.Example(inputs=inputs)
        for result in expected:
            example.outputs.add(byte_size=max(1, result.nbytes))
        test_case = pb.TestCase(name=self.sketch.operation, model=model, examples=[example])
        return RandomCase(test_case, tuple(expected))


def _vector(sketch: Sketch) -> Array:
    length = sketch.pick(_LENGTHS)
    return sketch.grid((length,), 2, 1 / 4).astype(np.float32)


def _type_of_x(sketch: Sketch, value: Array) -> TensorType:
    return TensorType(F32, (len(value) if sketch.chance(0.3) else 0,))


@generator("IF")
def if_(sketch: Sketch) -> RandomCase:
    while True:
        nest, builder, x = _Nest(sketch), ModelBuilder("IF"), _vector(sketch)
        flag = builder.input("", _FLAG)
        operand = builder.input("", _type_of_x(sketch, x))
        graphs = [nest.branch_graph(2) for _ in range(2)]
        outputs = nest.operation(builder, pb.OPERATION_TYPE_IF, [flag], graphs, [operand], [_OPEN])
        case = nest.finish(builder, outputs, [np.array([sketch.chance()], np.uint8), x])
        if case is not None:
            return case


@generator("WHILE")
def while_(sketch: Sketch) -> RandomCase:
    """A count goes up to a limit, which may be below it from the beginning."""
    while True:
        nest, builder, x = _Nest(sketch), ModelBuilder("WHILE"), _vector(sketch)
        condition = ModelBuilder("")
        condition.input("", _OPEN)
        count = condition.input("", _COUNT)
        limit = condition.constant("", _COUNT, np.array([sketch.integer(0, 3)], "<i4"))
        less = condition.operation(pb.OPERATION_TYPE_LESS, [count, limit], "", _FLAG)
        body = ModelBuilder("")
        value, number = body.input("", _OPEN), body.input("", _COUNT)
        one = body.constant("", _COUNT, np.array([1], "<i4"))
        result = nest.body(body, value, 1)
        following = body.operation(pb.OPERATION_TYPE_ADD, [number, one, body.int32(0)], "", _COUNT)
        graphs = [nest.graph(condition, [less]), nest.graph(body, [result, following])]
        operands = [
            builder.input("", _type_of_x(sketch, x)),
            builder.input("", _COUNT),
        ]
        outputs = nest.operation(
            builder, pb.OPERATION_TYPE_WHILE, [], graphs, operands, [_OPEN, _COUNT]
        )
        start = np.array([sketch.integer(0, 3)], "<i4")
        case = nest.finish(builder, outputs, [x, start])
        if case is not None:
            return case
