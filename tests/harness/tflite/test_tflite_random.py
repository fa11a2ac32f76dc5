# SPDX-License-Identifier: Apache-2.0
"""Random .tflite graphs give what LiteRT gives of them: whatever an operator's options, types and
ranks are, it is mapped right, or left to the host for a reason.

Floats are as near as sums in another order are, whole numbers the same, quantised numbers within a
step of LiteRT's reference kernels or of XNNPACK's, which differ from each other as much. A graph
follows from --seed and its number; --random-seconds says how long it goes on, and -v counts.
"""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert.interpreter")

from ai_edge_litert.interpreter import OpResolverType

from halyard import tflite
from halyard.devices.host import HostDevice
from halyard.errors import HalyardError
from halyard.model import Array, Conversion, NnapiPart, RunnableModel
from halyard.model.fitting import fitted
from halyard.programs.case_status import failures
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Target, run_cases
from tests import random_tflite
from tests.harness.on_parts import converted
from tests.random_tflite import KINDS, graph
from tests.random_tflite.sketch import RandomGraph, Refused, interpreted

FILE = Path("random.tflite")
_BUNDLE = 40
# Other tests share --random-seconds, too.
_SHARE = 1 / 3
_SHOWN = 8


@dataclass
class Tally:
    graphs: int = 0
    refused: int = 0  # by LiteRT
    whole: int = 0  # by NNAPI, and compared
    parts: int = 0  # by NNAPI and the host, and compared
    host: int = 0  # by the host alone, and not compared
    exact: int = 0
    step_off: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.graphs} graphs, {self.whole} of them whole, {self.parts} in parts and "
            f"{self.host} by the host alone, {len(self.wrong)} wrong; {self.exact} quantised "
            f"values exact, {self.step_off} off by a step; LiteRT takes {self.refused} others not"
        )


@dataclass
class _Tried:
    number: int
    graph: RandomGraph
    conversion: Conversion

    @property
    def label(self) -> str:
        return f"graph {self.number} ({', '.join(self.graph.kinds)})"


def check(device: HostDevice, seed: int, numbers: Sequence[int], tally: Tally) -> None:
    """Runs graphs of these numbers together."""
    tried: list[_Tried] = []
    with random_tflite.silence():
        for number in numbers:
            try:
                made = graph(seed, number, KINDS[number % len(KINDS)])
            except Refused:
                tally.refused += 1
                continue
            tally.graphs += 1
            try:
                tried.append(_Tried(number, made, tflite.read_conversion(made.content, FILE)))
            except HalyardError as error:
                tally.wrong.append(f"graph {number} ({', '.join(made.kinds)}): refused: {error}")
    for each in tried:
        if each.conversion.unmapped:
            kind = each.graph.kinds[-1]
            tally.reasons.update(f"{kind}: {one.reason}" for one in each.conversion.unmapped)
    whole = [each for each in tried if _is_whole(each.conversion)]
    models = [RunnableModel.of(each.conversion.whole.model) for each in whole]
    cases = [
        pb.TestCase(model=model.model, examples=[model.example_of(_inputs(each, model))])
        for each, model in zip(whole, models, strict=True)
    ]
    _run_parts([each for each in tried if not _is_whole(each.conversion)], tally)
    tally.whole += len(cases)
    if not cases:
        return
    results = run_cases(device, cases, pb.RunOptions(repeat=1), Target.in_process())
    for each, model, result in zip(whole, models, results, strict=True):
        if problems := failures(result):
            tally.wrong.append(f"{each.label}: {'; '.join(problems)}")
            continue
        _compare(each, model.output_arrays(result.examples[0]), tally)


def _run_parts(tried: Sequence[_Tried], tally: Tally) -> None:
    for each in tried:
        if not any(isinstance(part, NnapiPart) for part in each.conversion.parts):
            tally.host += 1
            continue
        tally.parts += 1
        try:
            with random_tflite.silence():
                found = converted(each.conversion, each.graph.inputs)
        except HalyardError as error:
            tally.wrong.append(f"{each.label}: {error}")
            continue
        _compare(each, found, tally)


def _is_whole(conversion: Conversion) -> bool:
    return len(conversion.parts) == 1 and isinstance(conversion.parts[0], NnapiPart)


def _inputs(tried: _Tried, model: RunnableModel) -> list[Array]:
    names = tried.conversion.whole.inputs
    given = dict(
        zip((info.name for info in tried.conversion.inputs), tried.graph.inputs, strict=True)
    )
    return [fitted(given[name], info) for name, info in zip(names, model.inputs, strict=True)]


def _compare(tried: _Tried, actual: Sequence[Array], tally: Tally) -> None:
    infos = tried.conversion.outputs
    expected, both = tried.graph.expected, tried.graph.by_xnnpack or tried.graph.expected
    compared = tried.conversion.source.compared
    if compared is not None:
        # LiteRT's hybrid kernels round activations, which this file has not.
        expected = both = interpreted(
            compared, tried.graph.inputs, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
        )[1]
    for info, ours, wanted, other in zip(infos, actual, expected, both, strict=True):
        if info.shape != wanted.shape:
            tally.wrong.append(f"{tried.label}: {info.shape}, and LiteRT has {wanted.shape}")
            return
        found = ours.astype(info.dtype).reshape(info.shape)
        if info.quantized or (info.dtype.itemsize == 1 and info.dtype != bool):
            steps = np.minimum(*(np.abs(found.astype(int) - each) for each in (wanted, other)))
            if steps.size and steps.max() > 1:
                tally.wrong.append(f"{tried.label}: {steps.max()} steps apart\n{found}\n{wanted}")
                return
            tally.exact += int((steps == 0).sum())
            tally.step_off += int((steps == 1).sum())
        elif info.dtype.kind == "f":
            near = [np.isclose(found, each, 1e-5, 1e-5, equal_nan=True) for each in (wanted, other)]
            if info.dtype == np.float16:
                near = [np.isclose(found, each, 2e-3, 2e-3) for each in (wanted, other)]
            if not np.all(near[0] | near[1]):
                tally.wrong.append(f"{tried.label}: floats apart\n{found}\n{wanted}")
                return
        elif not np.array_equal(found, wanted):
            tally.wrong.append(f"{tried.label}: not the same\n{found}\n{wanted}")
            return


@pytest.fixture(scope="module")
def device() -> Iterator[HostDevice]:
    with HostDevice() as found:
        yield found


def test_random_graphs_give_what_litert_gives(
    device: HostDevice, steady_seed: int, pytestconfig: pytest.Config
) -> None:
    tally = Tally()
    ends = time.monotonic() + pytestconfig.getoption("random_seconds") * _SHARE
    number = 0
    while number < 2 * len(KINDS) or time.monotonic() < ends:
        check(device, steady_seed, range(number, number + _BUNDLE), tally)
        number += _BUNDLE
    print(f"seed {steady_seed}: {tally}")
    assert tally.wrong == [], "\n".join(tally.wrong[:_SHOWN])
    # Were all left to the host, nothing would have been tested.
    assert tally.host < tally.graphs / 2


if __name__ == "__main__":
    import sys

    seed, first, count = map(int, sys.argv[1:])
    total = Tally()
    with HostDevice() as host:
        for at in range(first, first + count, _BUNDLE):
            check(host, seed, range(at, min(at + _BUNDLE, first + count)), total)
            while total.wrong and len(total.wrong) > 0:
                print(total.wrong.pop(0)[:600], flush=True)
    print(total)
    for reason, times in total.reasons.most_common(60):
        print(times, reason)
