# SPDX-License-Identifier: Apache-2.0
"""The cost of a call through binder: `python -m tests.benchmarks.call_cost [DEVICE]`.

A model of one small operation is executed through the service and, in turns, in the runner's
process on the same device; the difference of the medians is what binder and its two processes add
to a call. The arithmetic of an emulated device is not this machine's: MobileNetV2 is timed here,
and the last lines compare the two.
"""

from __future__ import annotations

import statistics
import sys

from halyard.benchmark_model import BenchmarkModel
from halyard.devices import Device, ServiceOptions, config_of, open_config
from halyard.devices.host import HostDevice
from halyard.model import DataType, ModelBuilder, TensorType
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Target, run_cases

_ROUNDS = 5
_CALLS = 200
_OPTIONS = pb.RunOptions(mode=pb.EXECUTION_MODE_SYNC, warmup=20, repeat=_CALLS)


def one_operation() -> pb.TestCase:
    """RELU of four numbers."""
    builder = ModelBuilder("relu")
    numbers = TensorType(pb.OPERAND_TYPE_TENSOR_FLOAT32, (4,))
    source = builder.input("source", numbers)
    result = builder.operation(pb.OPERATION_TYPE_RELU, [source], "result", numbers)
    example = pb.Example(
        inputs=[pb.InputValue(data=bytes(16))], outputs=[pb.OutputBuffer(byte_size=16)]
    )
    return pb.TestCase(name="relu", model=builder.build([result]), examples=[example])


def median_ms(device: Device, case: pb.TestCase, target: Target, options: pb.RunOptions) -> float:
    [result] = run_cases(device, [case], options, target)
    if result.failed_stage != pb.STAGE_NONE:
        raise SystemExit(f"{target.name}: {result.message}")
    return statistics.median(timing.wall_ns for timing in result.examples[0].timings) / 1e6


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else "vm"
    case = one_operation()
    inside, through = [], []
    with (
        open_config(config_of(name)) as device,
        device.start_service(ServiceOptions(verbose=False)) as service,
    ):
        for _ in range(_ROUNDS):
            inside.append(median_ms(device, case, Target.in_process(), _OPTIONS))
            through.append(median_ms(device, case, Target.hidl(service.instance), _OPTIONS))
    binder = statistics.median(through) - statistics.median(inside)
    print(f"one operation on {name}, in-process  {statistics.median(inside):8.3f} ms")
    print(f"one operation on {name}, by binder   {statistics.median(through):8.3f} ms")
    print(f"binder's share of a call            {binder:8.3f} ms")
    benchmark_model = BenchmarkModel.of_zoo("mobilenet_v2", DataType.FLOAT32, None, 1.0)
    model = benchmark_model.runnable
    whole = pb.TestCase(name="model", model=model.model, examples=[model.example(0)])
    options = pb.RunOptions(mode=pb.EXECUTION_MODE_SYNC, warmup=3, repeat=30)
    with HostDevice() as host:
        arithmetic = median_ms(host, whole, Target.in_process(), options)
        here = median_ms(host, case, Target.in_process(), _OPTIONS)
    slowness = max(statistics.median(inside) / here, 1.0)
    print(f"one operation here, in-process      {here:8.3f} ms, {slowness:.1f} times as fast")
    print(f"{benchmark_model} here, in-process  {arithmetic:.3f} ms")
    print(f"by binder it would take {1 + binder / arithmetic:.3f} of that at most,")
    print(f"and {1 + binder / slowness / arithmetic:.3f} if binder were as much faster here")


if __name__ == "__main__":
    main()
