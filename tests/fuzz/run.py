# SPDX-License-Identifier: Apache-2.0
"""Runs the fuzz targets of a build for a time, as many at once as there are cores. What a target
finds is printed with the command that replays it."""

import argparse
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

_SOURCES = Path(__file__).parent
# Of one input, by the clock, which runs on while a busy machine leaves the target waiting: this is
# for what stands still. What takes too much processor time says so itself.
_SECONDS_PER_INPUT = 120
_MIB = 3072
_LONGEST_INPUT = 4096
_REASON = re.compile(
    r"^(FINDING: .*|SUMMARY: .*|.*runtime error: .*|==\d+== ?ERROR: .*)$", re.MULTILINE
)
_FOUND = re.compile(r"Test unit written to (\S+)")
_EXECUTIONS = re.compile(r"stat::number_of_executed_units: (\d+)")


@dataclass(frozen=True)
class Run:
    """One target's."""

    name: str
    seconds: float
    processor_seconds: float  # of all its threads
    executions: int
    reason: str  # empty: nothing was found
    reproducer: Path | None
    log: Path


def _environment() -> dict[str, str]:
    # Failing allocations are answered by the code under test, up to the limit that libFuzzer sets.
    options = "allocator_may_return_null=1:handle_sigbus=0:detect_leaks=1:allow_addr2line=1"
    return {
        **os.environ,
        "ASAN_OPTIONS": options,
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }


def _run(target: Path, build: Path, seconds: int) -> Run:
    name = target.name.removesuffix("_fuzzer")
    growing = build / "corpus" / name
    findings = build / "findings"
    growing.mkdir(parents=True, exist_ok=True)
    findings.mkdir(exist_ok=True)
    log = build / f"{name}.log"
    command = [
        str(target),
        f"-max_total_time={seconds}",
        f"-timeout={_SECONDS_PER_INPUT}",
        f"-rss_limit_mb={_MIB}",
        f"-max_len={_LONGEST_INPUT}",
        f"-artifact_prefix={findings}/{name}-",
        "-print_final_stats=1",
        str(growing),
    ]
    committed = _SOURCES / "corpus" / name
    if committed.is_dir():
        command.append(str(committed))
    start = time.monotonic()
    with log.open("wb") as file:
        fuzzer = subprocess.Popen(
            command, stdout=file, stderr=subprocess.STDOUT, env=_environment()
        )
        _, status, used = os.wait4(fuzzer.pid, 0)
        fuzzer.returncode = os.waitstatus_to_exitcode(status)
    text = log.read_text(errors="replace")
    executions = _EXECUTIONS.findall(text)
    found = _FOUND.findall(text)
    reason = ""
    if fuzzer.returncode != 0:
        reasons = _REASON.findall(text)
        reason = reasons[0] if reasons else f"it ended with {fuzzer.returncode}"
    return Run(
        name=name,
        seconds=time.monotonic() - start,
        processor_seconds=used.ru_utime + used.ru_stime,
        executions=int(executions[-1]) if executions else 0,
        reason=reason,
        reproducer=Path(found[-1]) if found else None,
        log=log,
    )


def _report(run: Run, build: Path) -> None:
    print(
        f"{run.name:24}{run.executions:12} executions in {run.seconds:.0f} s, "
        f"{run.processor_seconds:.0f} s of processor time",
        flush=True,
    )
    if run.reason:
        print(f"  found:   {run.reason}")
        print(f"  log:     {run.log}")
        if run.reproducer is not None:
            print(f"  input:   {run.reproducer}")
            print(f"  replay:  {build / (run.name + '_fuzzer')} {run.reproducer}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path, help="with the preset `fuzz`")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--target", default="", help="only this one")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="targets at once")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    names = sorted(path.stem for path in _SOURCES.glob("*_fuzzer.cc"))
    if arguments.target:
        names = [name for name in names if name == f"{arguments.target}_fuzzer"]
    if not names:
        print(f"there is no fuzz target {arguments.target}", file=sys.stderr)
        return 2
    with ThreadPoolExecutor(arguments.jobs) as pool:
        runs = [pool.submit(_run, build / name, build, arguments.seconds) for name in names]
        failed = False
        for future in runs:
            run = future.result()
            _report(run, build)
            failed = failed or bool(run.reason)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
