# SPDX-License-Identifier: Apache-2.0
"""The process of a part that the host runs: `python -m halyard.engines.part_worker FORMAT FOLDER
THREADS`.

FOLDER has the part's file and its inputs as HostProcess writes them, and gets its outputs, whose
types and shapes may not be known before. Else it speaks as worker.py does.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from halyard.engines.engine import EngineMissing, EngineRefused, Loaded
from halyard.engines.original import engine_of
from halyard.engines.worker import memory_before, obey, results, status, timings_of
from halyard.errors import HalyardError
from halyard.model import Array
from halyard.proto import halyard_pb2 as pb

# Of what lies in the folder.
PART, INPUTS, OUTPUTS = "part", "inputs.npz", "outputs.npz"


def serve(
    format_name: str, folder: Path, threads: int, send: Callable[[pb.CaseResult], None]
) -> Loaded | None:
    """Prepares the part, executes it once and writes what came out. None where it failed."""
    result = pb.CaseResult(target=format_name)
    inputs = read_arrays(folder / INPUTS)
    try:
        engine = engine_of(format_name, threads)
        result.memory.base_rss_bytes = memory_before()
        start = time.perf_counter_ns()
        loaded = engine.load(folder / PART)
        result.prepare_ns = time.perf_counter_ns() - start
        loaded.feed(inputs)
        example = pb.ExampleResult(timings=timings_of(loaded, 1))
        # Before the outputs are copied.
        result.memory.peak_rss_bytes = status("VmHWM")
        write_arrays(folder / OUTPUTS, loaded.run())
    except (EngineMissing, EngineRefused, HalyardError, ValueError) as error:
        result.failed_stage = pb.STAGE_PREPARE
        result.message = str(error)
        send(result)
        return None
    result.examples.append(example)
    send(result)
    return loaded


def write_arrays(path: Path, arrays: Sequence[Array]) -> None:
    np.savez(path, *arrays)


def read_arrays(path: Path) -> list[Array]:
    with np.load(path, allow_pickle=False) as held:
        return [held[f"arr_{number}"] for number in range(len(held.files))]


def main(arguments: Sequence[str]) -> int:
    send = results()
    format_name, folder, threads = arguments
    loaded = serve(format_name, Path(folder), int(threads), send)
    if loaded is not None:
        obey(format_name, loaded, send)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
