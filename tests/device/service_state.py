# SPDX-License-Identifier: Apache-2.0
"""What a service on a device holds: as the kernel counts it, and as the service does."""

import time
from dataclasses import dataclass
from typing import Self

from halyard.devices import Device, Service


@dataclass(frozen=True)
class ServiceState:
    seconds: float  # when it was looked at
    memory: int  # resident, in KiB
    threads: int
    descriptors: int
    mappings: int
    models: int  # prepared ones that are alive
    reserved: int  # bytes of the service's budget of memory

    @classmethod
    def of(cls, device: Device, service: Service) -> Self:
        proc = f"/proc/{service.pid}"
        lines = (
            device.shell(
                f"cat {proc}/status; echo descriptors: $(ls {proc}/fd | wc -l); "
                f"echo mappings: $(wc -l <{proc}/maps)"
            )
            .check()
            .stdout.splitlines()
        )
        counts = {name: rest.split() for name, _, rest in (line.partition(":") for line in lines)}
        report = service.report()
        return cls(
            seconds=time.monotonic(),
            memory=int(counts["VmRSS"][0]),
            threads=int(counts["Threads"][0]),
            descriptors=int(counts["descriptors"][0]),
            mappings=int(counts["mappings"][0]),
            models=int(report["live_models"][0]),
            reserved=int(report["memory"][0].split("\t")[0]),
        )
