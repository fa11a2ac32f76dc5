# SPDX-License-Identifier: Apache-2.0
"""The process of a peer, or of Halyard in LiteRT: `python -m halyard.engines.worker NAME MODEL CASE
THREADS [OPTIONS]`.

It speaks as `halyard-runner --serve` does: results to stdout, commands from stdin. With `NAME
--version` it prints the peer's version, or with exit code 1 why there is none.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from halyard.engines import libraries
from halyard.engines.engine import EngineMissing, EngineRefused, Loaded
from halyard.programs import protobuf_stream
from halyard.proto import halyard_pb2 as pb

_PR_SET_PDEATHSIG = 1


def serve(
    name: str,
    model: Path,
    case: Path,
    threads: int,
    send: Callable[[pb.CaseResult], None],
    options: str = "",
) -> Loaded | None:
    """Prepares the peer, executes it once and sends what came out. None where it refused."""
    library = libraries.library(name, threads, options)
    result = pb.CaseResult(target=name, version_string=library.version)
    [test_case] = protobuf_stream.read(case.read_bytes(), pb.TestCase)
    given = test_case.examples[0].inputs
    inputs = [item.data for item in given]
    shapes = [tuple(item.dimensions) for item in given]
    result.memory.base_rss_bytes = memory_before()
    start = time.perf_counter_ns()
    try:
        loaded = library.load(model, shapes)
        result.prepare_ns = time.perf_counter_ns() - start
        loaded.bind(inputs)
        example = pb.ExampleResult(timings=timings_of(loaded, 1))
    except EngineRefused as error:
        result.failed_stage = pb.STAGE_PREPARE
        result.message = str(error)
        send(result)
        return None
    # Before the outputs are copied.
    result.memory.peak_rss_bytes = status("VmHWM")
    for output in loaded.run():
        values = np.ascontiguousarray(output)
        example.outputs.add(data=values.tobytes(), dimensions=output.shape, is_sufficient=True)
    result.examples.append(example)
    send(result)
    return loaded


def timings_of(loaded: Loaded, count: int, warmup: int = 0) -> list[pb.Timing]:
    return [pb.Timing(wall_ns=each) for each in loaded.time(count, warmup)]


def _execute(loaded: Loaded, count: int, least_s: float, most_s: float) -> list[pb.Timing]:
    """At least so often and so long, and no longer than that, if it is not 0."""
    times: list[tuple[int, int]] = []
    start = time.monotonic()
    while (passed := time.monotonic() - start) < least_s or len(times) < count:
        if times and 0 < most_s <= passed:
            break
        begin = time.monotonic_ns()
        loaded.execute()
        times.append((begin, time.monotonic_ns() - begin))
    return [pb.Timing(begin_ns=begin, wall_ns=wall) for begin, wall in times]


def memory_before() -> int:
    """Bytes that the process has; its peak is counted from now on."""
    Path("/proc/self/clear_refs").write_text("5")
    return status("VmRSS")


def status(name: str) -> int:
    """Bytes, of a line of /proc/self/status; 0 where there is none."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    return 0


def _load(loaded: Loaded, from_ns: int, until_ns: int) -> pb.CaseResult:
    """As `load` of halyard-runner, for the one client of this process."""
    before = [output.tobytes() for output in loaded.run()]
    example = pb.ExampleResult()
    times = []
    while (begin := time.monotonic_ns()) < until_ns:
        loaded.execute()
        end = time.monotonic_ns()
        if end > from_ns:
            times.append((begin, end - begin))
    for begin, wall in times:
        example.timings.add(begin_ns=begin, wall_ns=wall)
    result = pb.CaseResult(examples=[example])
    if before != [output.tobytes() for output in loaded.run()]:
        result.failed_stage = pb.STAGE_EXECUTE
        result.message = "the outputs beside other clients are not those of the first execution"
    return result


def main(arguments: Sequence[str]) -> int:
    if arguments[1] == "--version":
        try:
            print(libraries.library(arguments[0]).version)
        except EngineMissing as error:
            print(error)
            return 1
        return 0
    send = results()
    name, model, case, threads, *options = arguments
    loaded = serve(name, Path(model), Path(case), int(threads), send, *options)
    if loaded is not None:
        obey(name, loaded, send)
    return 0


def results() -> Callable[[pb.CaseResult], None]:
    """The sender of answers. The process ends with the harness from then on."""
    # Stopped between its turns, it would outlive a harness that is killed then.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # A runtime's own output is no result.
    stream = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    def send(result: pb.CaseResult) -> None:
        stream.write(protobuf_stream.write([result]))
        stream.flush()

    return send


def obey(name: str, loaded: Loaded, send: Callable[[pb.CaseResult], None]) -> None:
    """Until there are no more commands."""
    for line in sys.stdin:
        command, *words = line.split()
        if command == "load":
            send(_load(loaded, int(words[0]), int(words[1])))
            continue
        count, warmup, *seconds = words
        timings = (
            _execute(loaded, int(count), float(seconds[0]), float(seconds[1]))
            if seconds
            else timings_of(loaded, int(count), int(warmup))
        )
        send(pb.CaseResult(target=name, examples=[pb.ExampleResult(timings=timings)]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
