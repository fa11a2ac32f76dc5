# SPDX-License-Identifier: Apache-2.0
"""The time that a compilation cache saves: `python -m tests.benchmarks.cached_prepare`.

MobileNetV2 on CpuAcc, in the runner's process: prepared, prepared and kept, and found again, each
in a process of its own, in turns; and then prepared and found many times in one process each, as in
a service that lives on. The medians are this machine's; what counts are their ratios.
"""

from __future__ import annotations

import statistics
import tempfile

from halyard.benchmark_model import BenchmarkModel
from halyard.devices import Device
from halyard.devices.host import HostDevice
from halyard.model import DataType
from halyard.programs.driver_options import DriverOptions
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Target, run_cases

_ROUNDS = 7
_TIMES = 20  # in one process
_TYPES = (DataType.FLOAT32, DataType.QUANT8)


def prepare_ms(
    device: Device, case: pb.TestCase, folder: str, *, found: bool, times: int = 1
) -> list[float]:
    """One after the other in one process."""
    driver = DriverOptions(["CpuAcc"])
    options = pb.RunOptions(cache_folder=folder)
    results = run_cases(device, [case] * times, options, Target.in_process(), driver=driver)
    for result in results:
        if result.failed_stage != pb.STAGE_NONE:
            raise SystemExit(result.message)
        if result.prepared_from_cache != found:
            raise SystemExit("the cache has a model that it should not have, or lacks one")
    return [result.prepare_ns / 1e6 for result in results]


def main() -> None:
    with HostDevice() as device:
        for data_type in _TYPES:
            benchmark_model = BenchmarkModel.of_zoo("mobilenet_v2", data_type, None, 1.0)
            model = benchmark_model.runnable
            case = pb.TestCase(name="model", model=model.model, examples=[model.example(0)])
            alone, kept, found = [], [], []
            anew, again = [], []
            for _ in range(_ROUNDS):
                with tempfile.TemporaryDirectory() as folder:
                    alone += prepare_ms(device, case, "", found=False)
                    kept += prepare_ms(device, case, folder, found=False)
                    found += prepare_ms(device, case, folder, found=True)
                    anew += prepare_ms(device, case, "", found=False, times=_TIMES)[1:]
                    again += prepare_ms(device, case, folder, found=True, times=_TIMES)[1:]
            first, written, cached = map(statistics.median, (alone, kept, found))
            other, later = map(statistics.median, (anew, again))
            print(f"{benchmark_model}, CpuAcc")
            print(f"  prepared            {first:8.2f} ms")
            print(f"  prepared and kept   {written:8.2f} ms")
            print(f"  found in the cache  {cached:8.2f} ms, {first / cached:.1f} times as fast")
            print(f"  prepared again      {other:8.2f} ms, in the same process")
            print(f"  found again         {later:8.2f} ms, {other / later:.1f} times as fast")
            print(f"                      and {first / later:.1f} times as fast as at first")


if __name__ == "__main__":
    main()
