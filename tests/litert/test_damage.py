# SPDX-License-Identifier: Apache-2.0
"""Damaged .tflite files: those that the runtime takes all the same are computed, refused or left,
and never end the process.

The runtime itself does not survive all of them, so each file is tried in a process of its own
making, first without the delegate.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert.interpreter")

from tests.harness import tflite_models
from tests.litert.interpreting import inputs_of, interpreter, new_delegate, run

_FILES = 150
_SECONDS = 60


def _mutants(seed: int) -> Iterator[bytes]:
    random = np.random.default_rng(seed)
    contents = []
    for make in (tflite_models.conv_net, tflite_models.per_channel, tflite_models.half_weights):
        graph, outputs = make()
        contents.append(graph.content(*outputs))
    for number in range(_FILES):
        content = bytearray(contents[number % len(contents)])
        if number % 10 == 0:
            yield bytes(content[: int(random.integers(len(content)))])
            continue
        # What describes the model lies behind the weights, towards the end.
        for _ in range(int(random.integers(1, 4))):
            place = int(random.integers(len(content) // 2, len(content)))
            content[place] = int(random.choice([0, 1, 2, 127, 128, 255, random.integers(256)]))
        yield bytes(content)


def _in_a_child(work: Callable[[Callable[[str], None]], None]) -> tuple[list[str], int]:
    """What it said, and how the process ended."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(_SECONDS)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            work(lambda text: os.write(writing, f"{text}\n".encode()) and None)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        said = stream.read().split()
    return said, os.waitpid(child, 0)[1]


def test_damaged_files_do_not_end_the_process(
    steady_seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    delegate = new_delegate(log="silent")
    tally: Counter[str] = Counter()
    for content in _mutants(steady_seed):

        def work(say: Callable[[str], None], content: bytes = content) -> None:
            try:
                plain = interpreter(content)
                inputs = inputs_of(plain, 1)
                run(plain, inputs)
            except (RuntimeError, ValueError):
                say("refused")
                return
            say("run")
            try:
                run(interpreter(content, delegate), inputs)
            except RuntimeError as error:
                say("error" if "Halyard" in str(error) else "unnamed")
                return
            say("ours")

        said, status = _in_a_child(work)
        tally[said[-1] if said else "the runtime ended"] += 1
        if "run" in said:
            assert status == 0, f"seed {steady_seed}: {tally.total()} ended with {status}"
            assert said[-1] in ("ours", "error")
    with capsys.disabled():
        print(f" seed {steady_seed}: {dict(tally)} ")
    assert tally["ours"] > 5
    assert tally["refused"] > 5
