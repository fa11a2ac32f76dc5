# SPDX-License-Identifier: Apache-2.0
"""How fast a device's driver is beside a plain CPU path, per operand type: what its service claims
with --capabilities."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from halyard.devices.device import Device
from halyard.errors import HalyardError
from halyard.model import ModelBuilder, RunnableModel, TensorType
from halyard.programs.case_status import failures
from halyard.programs.driver_options import DriverOptions
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Target, run_cases

# The stand-in for the path that the framework takes where no driver is faster: the reference
# kernels on one thread.
BASELINE = DriverOptions(backends=("CpuRef",), threads=1)

# Those that no operation has as its first operand go by what they are computed with.
_LIKE = {
    "FLOAT32": "TENSOR_FLOAT32",
    "INT32": "TENSOR_INT32",
    "UINT32": "TENSOR_INT32",
    "BOOL": "TENSOR_BOOL8",
    "TENSOR_QUANT16_SYMM": "TENSOR_QUANT8_ASYMM",
    "FLOAT16": "TENSOR_FLOAT16",
    "TENSOR_QUANT16_ASYMM": "TENSOR_QUANT8_ASYMM",
    "RELAXED_SCALAR": "RELAXED_TENSOR",
}

_SEED = 7
_SMALLEST = 1e-6


@dataclass(frozen=True)
class Ratios:
    """To the baseline's; below 1 is better."""

    exec_time: float
    power_usage: float


@dataclass(frozen=True)
class Extent:
    """Of the models: pixels of an image's edge, its channels, iterations of a loop."""

    size: int = 32
    channels: int = 32
    iterations: int = 50


def calibrate(
    device: Device, driver: DriverOptions, extent: Extent, runs: int
) -> Mapping[str, Ratios]:
    """By the names that the driver reads. The models run in the runner's process on the device.

    The power that an execution takes is the time of all threads that `driver` has, busy or not: at
    most so much. HalyardError where a model does not run.
    """
    cases = [_case(name, model) for name, model in models(extent)]
    times = _medians(device, cases, driver, runs)
    baseline = _medians(device, cases, BASELINE, runs)
    ratios = {}
    for name, time in times.items():
        ratio = max(time / baseline[name], _SMALLEST)
        ratios[name] = Ratios(ratio, ratio * max(driver.threads, 1))
    return ratios | {name: ratios[like] for name, like in _LIKE.items()}


def as_text(ratios: Mapping[str, Ratios], remarks: Sequence[str] = ()) -> str:
    """The file that --capabilities reads."""
    lines = [f"# {remark}" for remark in remarks]
    lines += [
        f"{name} {ratio.exec_time:.4g} {ratio.power_usage:.4g}" for name, ratio in ratios.items()
    ]
    return "\n".join(lines) + "\n"


def _case(name: str, model: pb.Model) -> pb.TestCase:
    runnable = RunnableModel.of(model, name)
    return pb.TestCase(name=name, model=model, examples=[runnable.example(_SEED)])


def _medians(
    device: Device, cases: Sequence[pb.TestCase], driver: DriverOptions, runs: int
) -> dict[str, float]:
    """Nanoseconds of each case's executions."""
    options = pb.RunOptions(mode=pb.EXECUTION_MODE_SYNC, warmup=1, repeat=runs)
    results = run_cases(device, cases, options, Target.within(device), driver=driver)
    medians = {}
    for case, result in zip(cases, results, strict=True):
        if problems := failures(result):
            raise HalyardError(f"{case.name} can't be measured: {'; '.join(problems)}")
        medians[case.name] = statistics.median(
            timing.wall_ns for timing in result.examples[0].timings
        )
    return medians


# ---- models -------------------------------------------------------------------------------------


def models(extent: Extent) -> Iterator[tuple[str, pb.Model]]:
    """The models to measure, by the name that it is measured for."""
    for name in ("TENSOR_FLOAT32", "TENSOR_FLOAT16"):
        yield name, _convolution(name, extent)
    yield "RELAXED_TENSOR", _convolution("TENSOR_FLOAT32", extent, relaxed=True)
    for name in ("TENSOR_QUANT8_ASYMM", "TENSOR_QUANT8_ASYMM_SIGNED"):
        yield name, _convolution(name, extent)
    per_channel = "TENSOR_QUANT8_SYMM_PER_CHANNEL"
    yield per_channel, _convolution("TENSOR_QUANT8_ASYMM_SIGNED", extent, weights=per_channel)
    shape = (1, extent.size, extent.size, extent.channels)
    numbers = TensorType(pb.OPERAND_TYPE_TENSOR_INT32, shape)
    yield "TENSOR_INT32", _binary(pb.OPERATION_TYPE_ADD, numbers, fused=True)
    flags = TensorType(pb.OPERAND_TYPE_TENSOR_BOOL8, shape)
    yield "TENSOR_BOOL8", _binary(pb.OPERATION_TYPE_LOGICAL_AND, flags)
    builder = ModelBuilder("TENSOR_QUANT8_SYMM")
    symmetric = builder.input("x", TensorType(pb.OPERAND_TYPE_TENSOR_QUANT8_SYMM, shape, 0.5))
    floats = TensorType(pb.OPERAND_TYPE_TENSOR_FLOAT32, shape)
    whole = builder.operation(pb.OPERATION_TYPE_DEQUANTIZE, [symmetric], "y", floats)
    yield "TENSOR_QUANT8_SYMM", builder.build([whole])
    yield "IF", _if(extent)
    yield "WHILE", _while(extent)


def _convolution(
    name: str, extent: Extent, *, weights: str = "", relaxed: bool = False
) -> pb.Model:
    channels = extent.channels
    code = pb.OperandType.Value(f"OPERAND_TYPE_{name}")
    quantized = "QUANT8" in name
    builder = ModelBuilder(name, relaxed=relaxed)
    shape = (1, extent.size, extent.size, channels)
    x = builder.input("x", TensorType(code, shape, 0.5 if quantized else 0.0))
    kernel = (channels, 3, 3, channels)
    if weights:
        scales = (0.25,) * channels
        filter_type = TensorType(
            pb.OperandType.Value(f"OPERAND_TYPE_{weights}"), kernel, channel_scales=scales
        )
    else:
        filter_type = TensorType(code, kernel, 0.25 if quantized else 0.0)
    ones = np.ones(kernel, {"FLOAT32": "<f4", "FLOAT16": "<f2"}.get(name[7:], "i1"))
    if code == pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM:
        ones = ones.astype("u1")
    bias_code = pb.OPERAND_TYPE_TENSOR_INT32 if quantized else code
    bias_scale = 0.125 if quantized and not weights else 0.0
    bias = np.zeros(channels, "<i4" if quantized else ones.dtype)
    inputs = [
        x,
        builder.constant("weights", filter_type, ones),
        builder.constant("bias", TensorType(bias_code, (channels,), bias_scale), bias),
        *map(builder.int32, (1, 1, 1, 0)),
    ]
    output = TensorType(code, shape, 64.0 if quantized else 0.0)
    return builder.build([builder.operation(pb.OPERATION_TYPE_CONV_2D, inputs, "y", output)])


def _binary(operation: int, tensor: TensorType, *, fused: bool = False) -> pb.Model:
    builder = ModelBuilder("")
    inputs = [builder.input("a", tensor), builder.input("b", tensor)]
    inputs += [builder.int32(0)] if fused else []
    return builder.build([builder.operation(operation, inputs, "y", tensor)])


class _Nested:
    """A model with graphs inside, whose constants are small."""

    def __init__(self) -> None:
        self._model = pb.Model()

    def graph(self, builder: ModelBuilder, outputs: Sequence[int]) -> int:
        """The number of a new graph inside."""
        self._model.referenced.append(self._own(builder.build(outputs)))
        return len(self._model.referenced) - 1

    def finish(self, builder: ModelBuilder, outputs: Sequence[int]) -> pb.Model:
        self._model.main.CopyFrom(self._own(builder.build(outputs)))
        return self._model

    def _own(self, built: pb.Model) -> pb.Subgraph:
        before = len(self._model.operand_values)
        for operand in built.main.operands:
            if operand.lifetime == pb.OPERAND_LIFE_TIME_CONSTANT_COPY:
                operand.location.offset += before
        self._model.operand_values += built.operand_values
        return built.main

    @staticmethod
    def reference(builder: ModelBuilder, graph: int) -> int:
        operand = builder.omitted(TensorType(pb.OPERAND_TYPE_SUBGRAPH, ()))
        builder.operand(operand).lifetime = pb.OPERAND_LIFE_TIME_SUBGRAPH
        builder.operand(operand).location.offset = graph
        return operand


def _if(extent: Extent) -> pb.Model:
    """One of two activations."""
    tensor = TensorType(
        pb.OPERAND_TYPE_TENSOR_FLOAT32, (1, extent.size, extent.size, extent.channels)
    )
    nested = _Nested()
    graphs = []
    for operation in (pb.OPERATION_TYPE_RELU, pb.OPERATION_TYPE_TANH):
        builder = ModelBuilder("")
        result = builder.operation(operation, [builder.input("x", tensor)], "y", tensor)
        graphs.append(nested.graph(builder, [result]))
    builder = ModelBuilder("IF")
    condition = builder.input("condition", TensorType(pb.OPERAND_TYPE_TENSOR_BOOL8, (1,)))
    x = builder.input("x", tensor)
    branches = [nested.reference(builder, graph) for graph in graphs]
    result = builder.operation(pb.OPERATION_TYPE_IF, [condition, *branches, x], "y", tensor)
    return nested.finish(builder, [result])


def _while(extent: Extent) -> pb.Model:
    """Counts, and adds."""
    tensor = TensorType(pb.OPERAND_TYPE_TENSOR_FLOAT32, (extent.channels,))
    count = TensorType(pb.OPERAND_TYPE_TENSOR_INT32, (1,))
    flag = TensorType(pb.OPERAND_TYPE_TENSOR_BOOL8, (1,))
    nested = _Nested()
    builder = ModelBuilder("")
    iteration, _ = builder.input("iteration", count), builder.input("x", tensor)
    iterations = builder.constant("iterations", count, np.array([extent.iterations], "<i4"))
    goes_on = builder.operation(pb.OPERATION_TYPE_LESS, [iteration, iterations], "goes_on", flag)
    condition = nested.graph(builder, [goes_on])
    builder = ModelBuilder("")
    iteration, x = builder.input("iteration", count), builder.input("x", tensor)
    one = builder.constant("one", count, np.ones(1, "<i4"))
    next_iteration = builder.operation(
        pb.OPERATION_TYPE_ADD, [iteration, one, builder.int32(0)], "next_iteration", count
    )
    more = builder.operation(pb.OPERATION_TYPE_ADD, [x, x, builder.int32(0)], "more", tensor)
    body = nested.graph(builder, [next_iteration, more])
    builder = ModelBuilder("WHILE")
    begin = builder.constant("begin", count, np.zeros(1, "<i4"))
    x = builder.input("x", tensor)
    graphs = [nested.reference(builder, graph) for graph in (condition, body)]
    results = builder.operation_n(
        pb.OPERATION_TYPE_WHILE, [*graphs, begin, x], [("iteration", count), ("y", tensor)]
    )
    return nested.finish(builder, results)
