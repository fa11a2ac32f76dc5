# SPDX-License-Identifier: Apache-2.0
"""Operands of one model that lie at the same location, which a client may let any constants do:
each operation reads them in the shapes of its own operands."""

from collections.abc import Sequence

import numpy as np
import pytest

from halyard import reference
from halyard.devices.host import HostDevice
from halyard.model import ModelBuilder, TensorType
from halyard.model.call import Call
from halyard.programs.driver_options import DriverOptions
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Target, run_cases

_F32 = pb.OPERAND_TYPE_TENSOR_FLOAT32
_INPUT_SIZE = 5


def _lstm(
    builder: ModelBuilder, source: np.random.Generator, units: int, outputs: int
) -> list[int]:
    """An LSTM with projection; its weights are the operands 1 to 8 and 16 of the operation."""

    def constant(*shape: int) -> int:
        values = source.uniform(-0.2, 0.2, shape).astype(np.float32)
        return builder.constant("", TensorType(_F32, shape), values)

    def state(*shape: int) -> int:
        return builder.input("", TensorType(_F32, shape))

    inputs = [state(2, _INPUT_SIZE)]
    inputs += [constant(units, _INPUT_SIZE) for _ in range(4)]
    inputs += [constant(units, outputs) for _ in range(4)]
    inputs += [builder.omitted(TensorType(_F32, ())) for _ in range(3)]
    inputs += [constant(units) for _ in range(4)]
    inputs += [constant(outputs, units), builder.omitted(TensorType(_F32, ()))]
    inputs += [state(2, outputs), state(2, units)]
    inputs += [builder.int32(4), builder.float32(0), builder.float32(0)]
    shapes = [(2, 4 * units), (2, outputs), (2, units), (2, outputs)]
    return builder.operation_n(
        pb.OPERATION_TYPE_LSTM, inputs, [("", TensorType(_F32, shape)) for shape in shapes]
    )


def _at_one_location(model: pb.Model, operations: Sequence[pb.Operation]) -> None:
    """The recurrent weights of all gates of all operations."""
    [pool] = model.pools
    names = [f"recurrent_to_{gate}_weights" for gate in ("input", "forget", "cell", "output")]
    first = Call(model, operations[0]).operand(names[0]).location
    for operation in operations:
        for name in names:
            operand = Call(model, operation).operand(name)
            assert operand.location.length == first.length
            operand.location.CopyFrom(first)
            operand.lifetime = pb.OPERAND_LIFE_TIME_CONSTANT_REFERENCE
    assert first.offset + first.length <= len(pool)


@pytest.mark.parametrize("backends", [["CpuAcc", "CpuRef"], ["CpuRef"]], ids=["acc", "ref"])
@pytest.mark.parametrize("sizes", [(8, 17), (17, 8), (1, 400), (400, 1)], ids=str)
def test_weights_of_two_cells_in_other_rows(sizes: tuple[int, int], backends: list[str]) -> None:
    source = np.random.default_rng(7)
    builder = ModelBuilder("shared")
    outputs = _lstm(builder, source, *sizes) + _lstm(builder, source, *reversed(sizes))
    model = builder.build([*outputs[1:4], *outputs[5:]])
    _at_one_location(model, model.main.operations)
    values = []
    for index in model.main.input_indexes:
        shape = tuple(model.main.operands[index].dimensions)
        values.append(pb.InputValue(data=source.uniform(-1, 1, shape).astype("<f4").tobytes()))
    example = pb.Example(inputs=values)
    expected = reference.run(model, values)
    for result in expected:
        example.outputs.add(byte_size=result.nbytes)
    with HostDevice() as host:
        [found] = run_cases(
            host,
            [pb.TestCase(name="shared", model=model, examples=[example])],
            pb.RunOptions(timeout_s=60),
            Target.in_process(),
            driver=DriverOptions(backends),
        )
    assert found.failed_stage == pb.STAGE_NONE, found.message
    for output, wanted in zip(found.examples[0].outputs, expected, strict=True):
        result = np.frombuffer(output.data, np.float32).reshape(wanted.shape)
        np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)
