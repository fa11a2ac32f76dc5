# SPDX-License-Identifier: Apache-2.0
"""Whether this machine has the GPU that ours is to run on, asked before anything takes long."""

from __future__ import annotations

import re
from collections.abc import Sequence

from halyard.engines.halyard import HalyardProcess
from halyard.engines.workload import Workload
from halyard.errors import HalyardError
from halyard.model import ModelBuilder, RunnableModel, TensorType
from halyard.programs.driver_options import DriverOptions
from halyard.proto import halyard_pb2 as pb

BACKEND = "GpuAcc"
_NOT_USED = re.compile(rf"backend {BACKEND} is not used: (.*)")


def check(backends: Sequence[str]) -> None:
    """HalyardError, with the driver's words, where GpuAcc is all that is asked for and can't be
    had, or where its device is named and is not there."""
    if not any(_is_gpu(name) for name in backends):
        return
    # With its log, which says why.
    options = DriverOptions(backends, threads=1, more=("--verbose",))
    with (
        Workload.seeded(_smallest(), 0) as work,
        HalyardProcess(options).prepare(work) as process,
    ):
        prepared = process.prepared()
        if prepared.failed_stage == pb.STAGE_LOAD:
            raise HalyardError(f"--backends {','.join(backends)}: {prepared.message}")
        missing = _NOT_USED.findall(process.log())
    if missing and all(_is_gpu(name) for name in backends):
        raise HalyardError(f"{BACKEND} can't be measured on this machine: {missing[-1]}")


def _is_gpu(name: str) -> bool:
    return name.partition(":")[0] == BACKEND


def _smallest() -> RunnableModel:
    number = TensorType(pb.OPERAND_TYPE_TENSOR_FLOAT32, (1,))
    builder = ModelBuilder("smallest")
    given = builder.input("input", number)
    result = builder.operation(pb.OPERATION_TYPE_RELU, [given], "output", number)
    return RunnableModel.of(builder.build([result]))
