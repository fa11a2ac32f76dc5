# SPDX-License-Identifier: Apache-2.0
"""One real model, put through the commands as a user would: `halyard convert` tells what runs
where, `halyard run` runs it in-process beside the engine that its format belongs to."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np

from halyard import records
from halyard.model import Array
from halyard.records.convert import Convert, Tensor
from halyard.records.run import Agreement, Run
from tests.real.catalog import Model

# Of one command, which has a model of a hundred layers prepared and run by two engines.
TIMEOUT_S = 300
_RUNS = 5

D = TypeVar("D", Convert, Run)


class Failed(Exception):
    """A command did not do what it is for."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a model, and its file: the list may name another one since.

    `error` is the largest of all outputs as a share of the output's largest value, or of 1 where
    all are smaller, as the limits are; `steps` is in quantisation steps. Either is None where no
    output is of that kind. `ratio` is the time here as a share of the reference's.
    """

    sha256: str
    operators: int  # of NNAPI, and of the file where the host runs them
    device_parts: int
    host_parts: int
    host: dict[str, int]  # operators that the host runs, and how many of each
    reference: str
    error: float | None
    steps: int | None
    ratio: float | None

    @property
    def is_whole(self) -> bool:
        return not self.host_parts


def failure(model: Model, file: Path) -> str:
    """The message about a model that is listed as one that fails. Failed if it does not, or ends in
    a traceback."""
    done = _halyard(["run", str(file), "--device", "host", "--repeat", "1", *model.options])
    if done.returncode == 0:
        raise Failed(f"{model.name} is listed as one that fails, and it runs")
    return " ".join(_said(done).split())


def attempt(model: Model, file: Path) -> Outcome:
    """Failed with what the command said, unless all goes well."""
    with tempfile.TemporaryDirectory(prefix="halyard-real-") as work:
        json = Path(work) / "record.json"
        converted = _record(
            ["convert", str(file), *model.options, "--json", str(json)], json, Convert
        )
        words = ["run", str(file), "--device", "host", "--repeat", str(_RUNS), *model.options]
        words += _inputs(model, converted, Path(work))
        ran = _record([*words, "--json", str(json)], json, Run, may_fail=model.disputed > 0)
    _check_dispute(model, ran)
    if ran.agreement is None:
        raise Failed(f"{model.name} was compared with nothing")
    if not any(each.nonzero for each in ran.agreement.outputs):
        raise Failed(f"{model.name} gives zeros alone, which says nothing")
    error, steps = _errors(ran.agreement)
    if model.disputed and (error or 0.0) > model.disputed:
        raise Failed(f"{model.name} is {error:.2g} off, and {model.disputed:g} is listed")
    host = [part for part in converted.parts if part.runs_on == "host"]
    return Outcome(
        sha256=model.sha256,
        operators=sum(len(part.operations) for part in converted.parts),
        device_parts=len(converted.parts) - len(host),
        host_parts=len(host),
        host=dict(
            sorted(Counter(_operator(text) for part in host for text in part.operations).items())
        ),
        reference=ran.agreement.with_,
        error=error,
        steps=steps,
        ratio=_ratio(ran),
    )


def _operator(text: str) -> str:
    """The kind of "12 Conv 'name'", as an operator of a file is told."""
    number, _, rest = text.partition(" ")
    return rest.partition(" ")[0] if number.isdigit() else text


def _check_dispute(model: Model, ran: Run) -> None:
    others = [each for each in ran.problems if not each.startswith("disagrees with ")]
    if model.disputed and others:
        raise Failed(f"{model.name}: {'; '.join(others)}")
    if model.disputed and ran.ok:
        raise Failed(f"{model.name} is listed as disputed, and it agrees")


def _errors(agreement: Agreement) -> tuple[float | None, int | None]:
    steps = [each.max_steps for each in agreement.outputs if each.max_steps is not None]
    errors = [
        float(each.max_abs_error) / max(each.largest or 0.0, 1.0)
        for each in agreement.outputs
        if each.max_steps is None and each.elements
    ]
    return max(errors, default=None), max(steps, default=None)


def _ratio(ran: Run) -> float | None:
    """With two digits: of a model that runs for a fraction of a millisecond no more is the same
    the next time."""
    if ran.timings_ms is None or ran.peer_timings_ms is None or not ran.peer_timings_ms.median:
        return None
    return float(f"{ran.timings_ms.median / ran.peer_timings_ms.median:.2g}")


def _inputs(model: Model, converted: Convert, folder: Path) -> list[str]:
    """Of all tensors, where the list says something of one."""
    if strange := model.inputs.keys() - {tensor.name for tensor in converted.inputs}:
        names = ", ".join(tensor.name for tensor in converted.inputs)
        raise Failed(f"{model.name} has no input {', '.join(sorted(strange))}, but {names}")
    words = []
    for number, tensor in enumerate(converted.inputs if model.inputs else ()):
        path = folder / f"{number}.npy"
        np.save(path, _values(tensor, model.inputs.get(tensor.name), np.random.default_rng(number)))
        words += ["--input", f"{tensor.name}={path}"]
    return words


def _values(
    tensor: Tensor, listed: float | Sequence[float] | None, random: np.random.Generator
) -> Array:
    if isinstance(listed, int | float):
        return np.full(tensor.shape, listed, tensor.type)
    if np.issubdtype(tensor.type, np.floating):
        return random.uniform(*(listed or (-1, 1)), tensor.shape).astype(tensor.type)
    low, high = map(int, listed or (0, 1))
    return random.integers(low, high, tensor.shape, endpoint=True).astype(tensor.type)


def _record(words: Sequence[str], json: Path, kind: type[D], *, may_fail: bool = False) -> D:
    json.unlink(missing_ok=True)
    done = _halyard(words)
    said = _said(done)
    if done.returncode not in ((0, 1) if may_fail else (0,)) or not json.exists():
        raise Failed(f"halyard {' '.join(words)} ended with {done.returncode}:\n{said}")
    [record] = records.decode(json.read_bytes(), kind)
    return record


def _said(done: subprocess.CompletedProcess[str]) -> str:
    said = f"{done.stdout}\n{done.stderr}".strip()
    if "Traceback (most recent call last)" in said:
        raise Failed(f"{' '.join(map(str, done.args))} ended in a traceback:\n{said[-4000:]}")
    return said[-4000:]


def _halyard(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "halyard", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
