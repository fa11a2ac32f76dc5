# SPDX-License-Identifier: Apache-2.0
"""Random models by the thousand, by the generators that the tests draw a few from:

    .venv/bin/python -m tests.campaign qdq --graphs 10000 --seed 1 --processes 8 --log qdq.jsonl

The kinds are onnx (single operators), mixed (several, in parts), qdq, tflite and torch. What is
found is printed with its seed and number, from which `--first` makes it again, and is in the log
with what each bundle came to. 1 is the exit code where anything is wrong.
"""

import argparse
import json
import multiprocessing
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from halyard.devices.host import HostDevice

# Of a seed, runs graphs of such numbers, counts what becomes of them, and says what is wrong.
Check = Callable[[HostDevice, int, Sequence[int], Counter[str]], list[str]]

_BUNDLE = 25
_GRAPHS = "graphs"


def _onnx() -> Check:
    from tests.random_onnx.judging import check

    return check


def _qdq() -> Check:
    from tests.random_qdq.judging import check

    return check


def _mixed() -> Check:
    from tests.harness.onnx import test_onnx_mixed_graphs as mixed

    def check(
        host: HostDevice, seed: int, numbers: Sequence[int], counts: Counter[str]
    ) -> list[str]:
        tally = mixed.Tally()
        wrong = mixed.check(host, seed, numbers, tally)
        counts["in parts"] += tally.parts
        counts["on the host"] += tally.hosts
        counts["without a reference"] += tally.refused
        return wrong

    return check


def _tflite() -> Check:
    from tests.harness.tflite import test_tflite_random as tflite

    def check(
        host: HostDevice, seed: int, numbers: Sequence[int], counts: Counter[str]
    ) -> list[str]:
        tally = tflite.Tally()
        tflite.check(host, seed, numbers, tally)
        counts["whole"] += tally.whole
        counts["in parts"] += tally.parts
        counts["on the host"] += tally.host
        counts["without a reference"] += tally.refused
        counts["values a step off"] += tally.step_off
        return tally.wrong

    return check


def _torch() -> Check:
    from tests.random_torch.judging import check

    return check


KINDS: dict[str, Callable[[], Check]] = {
    "mixed": _mixed,
    "onnx": _onnx,
    "qdq": _qdq,
    "tflite": _tflite,
    "torch": _torch,
}


@dataclass(frozen=True)
class Share:
    """The share of one process of several in a campaign."""

    kind: str
    seed: int
    first: int
    graphs: int
    ends: float
    number: int
    processes: int
    log: Path


def _run(share: Share) -> None:
    warnings.simplefilter("ignore")
    check = KINDS[share.kind]()
    last = share.first + share.graphs
    with HostDevice() as host:
        starts = range(share.first, last, _BUNDLE)[share.number :: share.processes]
        for start in starts:
            if time.time() > share.ends:
                return
            numbers = range(start, min(start + _BUNDLE, last))
            counts = Counter({_GRAPHS: len(numbers)})
            try:
                found = check(host, share.seed, numbers, counts)
            # The others go on.
            except Exception:  # noqa: BLE001
                found = [f"graphs {numbers}: {traceback.format_exc()}"]
            line = {"kind": share.kind, "seed": share.seed, "first": start, "counts": counts,
                    "found": found}  # fmt: skip
            # One write, so that lines of several processes stay whole.
            with share.log.open("a") as log:
                log.write(json.dumps(line) + "\n")
            for text in found:
                print(f"--seed {share.seed}: {text}", flush=True)


def summary(log: Path, kind: str) -> tuple[Counter[str], int]:
    """The results of a log's bundles, and the count of wrong ones."""
    total, wrong = Counter[str](), 0
    for text in log.read_text().splitlines():
        line = json.loads(text)
        if line["kind"] == kind:
            total.update(line["counts"])
            wrong += len(line["found"])
    return total, wrong


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign")
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("--graphs", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first graph")
    parser.add_argument("--seconds", type=float, default=3600.0, help="after which no more begin")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--log", type=Path, default=Path("campaign.jsonl"), help="added to")
    given = parser.parse_args(words)
    ends = time.time() + given.seconds
    # Each process imports for itself: some of the libraries do not live through a fork.
    context = multiprocessing.get_context("spawn")
    workers = [
        context.Process(
            target=_run,
            args=(
                Share(given.kind, given.seed, given.first, given.graphs, ends, number,
                      given.processes, given.log),
            ),
        )
        for number in range(given.processes)
    ]  # fmt: skip
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    died = sum(worker.exitcode != 0 for worker in workers)
    total, wrong = summary(given.log, given.kind) if given.log.exists() else (Counter[str](), 0)
    words_of = ", ".join(f"{count} {what}" for what, count in total.most_common())
    print(f"{given.kind}: {words_of}; {wrong} wrong, {died} processes died ({given.log})")
    return 1 if wrong or died else 0


if __name__ == "__main__":
    sys.exit(main())
