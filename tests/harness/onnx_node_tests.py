# SPDX-License-Identifier: Apache-2.0
"""onnx's own tests of operators, which its package makes: what becomes of each, and whether what
NNAPI computes of it is right.

    python -m tests.harness.onnx_node_tests

counts anew and writes onnx_node_tests.json beside this file, which a test keeps true.
"""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx as onnx_package
from onnx import ModelProto, TensorProto, numpy_helper
from onnx.backend.test.case.node import collect_testcases

from halyard import onnx
from halyard.devices.host import HostDevice
from halyard.errors import HalyardError
from halyard.model import Array, HostPart, NnapiPart
from tests.harness.on_many_parts import Run, run_all

COUNTS = Path(__file__).with_suffix(".json")

# As each test is, and with all of its inputs but the first as constants, as exporters have axes,
# shapes and weights.
FORMS = ("as_given", "of_one_input")
# Floats within this: onnx's own tests allow as much, but for numbers near zero. Of half precision a
# step is 2^-11 of a number.
_RELATIVE, _ABSOLUTE, _OF_HALVES = 1e-3, 1e-5, 2e-3
_BUNDLE = 64
# ONNX Runtime has no kernel for what is left to it, or Python no numbers of a type that it is to be
# handed: neither runs the file as a whole.
_NO_KERNEL = ("NOT_IMPLEMENTED", "is a tensor(bfloat16)")
# From this version of the format on an initializer need not be an input as well.
_INITIALIZERS_ALONE = 4


@dataclass
class Outcome:
    """`where`: whole, parts, host or refused. `reasons`: of the file, or of its operators."""

    name: str
    form: str
    where: str = ""
    reasons: Sequence[str] = ()
    fault: str = ""
    expected: Sequence[Any] = ()  # arrays or messages, or what no tensor is
    run: Run | None = None


def outcomes(host: HostDevice) -> list[Outcome]:
    found = [_converted(*each) for each in _models()]
    running = [each for each in found if each.run is not None]
    for begin in range(0, len(running), _BUNDLE):
        bundle = running[begin : begin + _BUNDLE]
        run_all(host, [each.run for each in bundle if each.run is not None])
        for each in bundle:
            each.fault = _judged(each)
    return found


def _models() -> Iterator[tuple[str, str, ModelProto, Sequence[Any], Sequence[Any]]]:
    with warnings.catch_warnings():
        # Of numpy, about what the tests compute on purpose.
        warnings.simplefilter("ignore")
        cases = collect_testcases(None)
    for case in cases:
        inputs, outputs = case.data_sets[0]
        yield case.name, FORMS[0], case.model, inputs, outputs
        if len(inputs) > 1:
            yield case.name, FORMS[1], *_of_one_input(case.model, inputs), outputs


def _of_one_input(model: ModelProto, inputs: Sequence[Any]) -> tuple[ModelProto, Sequence[Any]]:
    made, given = ModelProto(), [inputs[0]]
    made.CopyFrom(model)
    infos = list(made.graph.input)
    del made.graph.input[1:]
    for info, values in zip(infos[1:], inputs[1:], strict=False):
        if isinstance(values, np.ndarray | np.generic) and np.asarray(values).dtype.kind in "fiub":
            made.graph.initializer.append(numpy_helper.from_array(np.asarray(values), info.name))
            if model.ir_version < _INITIALIZERS_ALONE:
                made.graph.input.append(info)
        else:
            made.graph.input.append(info)
            given.append(values)
    return made, given


def _converted(
    name: str, form: str, model: ModelProto, inputs: Sequence[Any], outputs: Sequence[Any]
) -> Outcome:
    outcome = Outcome(name, form, expected=outputs)
    try:
        conversion = onnx.read_conversion(model.SerializeToString(), Path("model.onnx"))
    except HalyardError as error:
        outcome.where, outcome.reasons = "refused", [str(error).removeprefix("model.onnx: ")]
        return outcome
    # Whatever it is.
    except Exception as error:  # noqa: BLE001
        outcome.fault = f"the importer fails: {type(error).__name__}: {error}"
        return outcome
    kinds = {type(part) for part in conversion.parts}
    outcome.where = "whole" if kinds == {NnapiPart} else "host" if kinds == {HostPart} else "parts"
    outcome.reasons = [each.reason for each in conversion.unmapped]
    if outcome.where != "host":
        given = {info.name: values for info, values in zip(model.graph.input, inputs, strict=False)}
        outcome.run = Run(conversion, [_array(given[each.name]) for each in conversion.inputs])
    return outcome


def _array(values: Any) -> Array:
    return numpy_helper.to_array(values) if isinstance(values, TensorProto) else np.asarray(values)


def _judged(outcome: Outcome) -> str:
    run = outcome.run
    assert run is not None
    if any(word in run.fault for word in _NO_KERNEL):
        return ""
    if run.fault:
        return run.fault
    expected = map(_array, outcome.expected)
    for info, found, wanted in zip(run.conversion.outputs, run.outputs, expected, strict=True):
        if found.shape != wanted.shape:
            return f"{info.name} has the shape {found.shape}, expected {wanted.shape}"
        if wanted.dtype.kind == "f":
            relative = _OF_HALVES if wanted.dtype == np.float16 else _RELATIVE
            good = np.allclose(
                found.astype("f8"), wanted.astype("f8"), relative, _ABSOLUTE, equal_nan=True
            )
        else:
            good = np.array_equal(found, wanted)
        if not good:
            return f"{info.name} is {found.reshape(-1)[:8]}, expected {wanted.reshape(-1)[:8]}"
    return ""


# ---- the file -----------------------------------------------------------------------------------


@dataclass
class Counts:
    """How many models of a form ended where. `left_to_host` counts operators."""

    whole: int = 0
    parts: int = 0
    host: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    left_to_host: Counter[str] = field(default_factory=Counter)


def counted(found: Sequence[Outcome]) -> dict[str, object]:
    forms = {form: Counts() for form in FORMS}
    for outcome in found:
        counts = forms[outcome.form]
        if outcome.where == "refused":
            counts.refused.update(map(_kind, outcome.reasons))
            continue
        if outcome.where:
            setattr(counts, outcome.where, getattr(counts, outcome.where) + 1)
        counts.left_to_host.update(map(_kind, outcome.reasons))
    return {"onnx": onnx_package.__version__} | {
        form: {
            "whole": counts.whole,
            "in_parts": counts.parts,
            "on_the_host": counts.host,
            "refused": _sorted(counts.refused),
            "operators_left_to_the_host": _sorted(counts.left_to_host),
        }
        for form, counts in forms.items()
    }


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda each: (-each[1], each[0])))


def _kind(reason: str) -> str:
    """Without the names, numbers and shapes of one model."""
    text = re.sub(r"(?<!\w)'[^']*'", "'…'", reason.splitlines()[0])
    text = re.sub(r"\[[-\d, ]*\]|\([-\d, ]*\)", "[…]", text)
    return re.sub(r"\b\d+\b", "N", text)[:160]


def written(counts: dict[str, object]) -> str:
    return json.dumps(counts, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    with HostDevice() as host:
        found = outcomes(host)
    for outcome in found:
        if outcome.fault:
            print(f"{outcome.name} ({outcome.form}): {outcome.fault}")
    COUNTS.write_text(written(counted(found)))
    print(f"written: {COUNTS}")


if __name__ == "__main__":
    main()
