# SPDX-License-Identifier: Apache-2.0
"""An engine's process that does as it is told: what a benchmark meets, without a runtime.

python fake_engine.py CASE OUTPUTS DEED: OUTPUTS is a file that holds an ExampleResult.
"""

import os
import signal
import struct
import sys
import time
from pathlib import Path

from halyard.programs import protobuf_stream
from halyard.proto import halyard_pb2 as pb

# Each execution takes so long, if one looks at the times.
NANOSECONDS = 1_500_000


def send(result: pb.CaseResult) -> None:
    sys.stdout.buffer.write(protobuf_stream.write([result]))
    sys.stdout.flush()


def prepared(outputs: Path, deed: str) -> pb.CaseResult:
    example = pb.ExampleResult()
    example.ParseFromString(outputs.read_bytes())
    del example.timings[:]
    example.timings.add(wall_ns=NANOSECONDS)
    if deed == "lies":
        # Every value of the first output is another one.
        data = example.outputs[0].data
        example.outputs[0].data = bytes(len(data))
    if deed == "disputes":
        # One float of the first output is a little off.
        data = bytearray(example.outputs[0].data)
        data[:4] = struct.pack("<f", struct.unpack("<f", data[:4])[0] + 0.01)
        example.outputs[0].data = bytes(data)
    if deed == "cuts":
        example.outputs[0].data = example.outputs[0].data[:-4]
    result = pb.CaseResult(prepare_ns=2_000_000, examples=[example], version_string="1.2")
    result.memory.peak_rss_bytes = 3 << 20
    result.memory.base_rss_bytes = 1 << 20
    if deed == "refuses":
        result = pb.CaseResult(failed_stage=pb.STAGE_PREPARE, message="no such operator")
    return result


def loaded(from_ns: int, until_ns: int, deed: str) -> pb.CaseResult:
    """Without a pause from before the window to behind it, by its own clock."""
    if deed == "fails under load":
        return pb.CaseResult(failed_stage=pb.STAGE_EXECUTE, message="out of breath")
    example = pb.ExampleResult()
    for begin in range(from_ns - NANOSECONDS // 2, until_ns, NANOSECONDS):
        example.timings.add(begin_ns=begin, wall_ns=NANOSECONDS)
    return pb.CaseResult(examples=[example])


def main() -> None:
    _, _, outputs, deed = sys.argv
    if deed == "dies":
        print("out of luck", file=sys.stderr)
        sys.exit(7)
    if deed == "hangs":
        time.sleep(600)
    if deed == "babbles":
        sys.stdout.buffer.write(b"\x05hello world")
        sys.stdout.flush()
    send(prepared(Path(outputs), deed))
    if deed == "refuses":
        return
    clock = 1
    for line in sys.stdin:
        command, *words = line.split()
        if command == "load":
            send(loaded(int(words[0]), int(words[1]), deed))
            continue
        count = words[0]
        if deed == "dies later" and int(count) > 1:
            os.kill(os.getpid(), signal.SIGKILL)
        executions = int(count)
        if words[2:]:
            # As many as have the time, by its own clock.
            least, most = (int(float(word) * 1e9 / NANOSECONDS) for word in words[2:])
            executions = min(max(executions, least), most or executions)
        times = [
            pb.Timing(wall_ns=NANOSECONDS, begin_ns=clock + number * NANOSECONDS)
            for number in range(executions)
        ]
        clock += executions * NANOSECONDS
        send(pb.CaseResult(examples=[pb.ExampleResult(timings=times)]))


if __name__ == "__main__":
    main()
