# SPDX-License-Identifier: Apache-2.0
"""Round trips in each way of execution: `python -m tests.benchmarks.round_trips [DEVICE]`.

A model of one small operation is executed through one service in every way of HIDL 1.3 and of AIDL
4, in turns; medians, and their ratios to the synchronous way of the same interface.
"""

from __future__ import annotations

import statistics
import sys

from halyard.devices import ServiceOptions, config_of, open_config
from halyard.devices.device import Wire
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Target
from tests.benchmarks.call_cost import median_ms, one_operation

_ROUNDS = 5
_CALLS = 300
_WAYS = {
    pb.HAL_VERSION_1_3: (
        pb.EXECUTION_MODE_SYNC,
        pb.EXECUTION_MODE_ASYNC,
        pb.EXECUTION_MODE_BURST,
    ),
    pb.HAL_VERSION_AIDL_4: (
        pb.EXECUTION_MODE_SYNC,
        pb.EXECUTION_MODE_BURST,
        pb.EXECUTION_MODE_REUSABLE,
    ),
}


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else "vm"
    case = one_operation()
    taken: dict[tuple[pb.HalVersion, pb.ExecutionMode], list[float]] = {}
    with (
        open_config(config_of(name)) as device,
        device.start_service(ServiceOptions(verbose=False, wires=tuple(Wire))) as service,
    ):
        for _ in range(_ROUNDS):
            for version, modes in _WAYS.items():
                is_aidl = version >= pb.HAL_VERSION_AIDL_1
                target = Target.service(service.instance, Wire.AIDL if is_aidl else Wire.HIDL)
                for mode in modes:
                    options = pb.RunOptions(
                        hal_version=version, mode=mode, warmup=30, repeat=_CALLS
                    )
                    taken.setdefault((version, mode), []).append(
                        median_ms(device, case, target, options)
                    )
    for version, modes in _WAYS.items():
        whole = statistics.median(taken[version, pb.EXECUTION_MODE_SYNC])
        for mode in modes:
            median = statistics.median(taken[version, mode])
            way = pb.ExecutionMode.Name(mode).removeprefix("EXECUTION_MODE_").lower()
            number = pb.HalVersion.Name(version).removeprefix("HAL_VERSION_")
            print(f"{number:7} {way:9} {median:8.3f} ms  {median / whole:5.2f} of synchronous")


if __name__ == "__main__":
    main()
