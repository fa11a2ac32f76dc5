# SPDX-License-Identifier: Apache-2.0
"""Operators with states, in three runs one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from tests.litert.operator_files.case import NONE, RELU, RELU1, RELU6, TANH, Case, Draft
from tests.random_tflite.sketch import Value

_RUNS = 3
_FUSED = (("none", NONE), ("relu", RELU), ("relu1", RELU1), ("relu6", RELU6))
_OPTIONS = {
    "RNN": "RNNOptions",
    "UNIDIRECTIONAL_SEQUENCE_RNN": "SequenceRNNOptions",
    "LSTM": "LSTMOptions",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "UnidirectionalSequenceLSTMOptions",
}
_BATCH, _STEPS, _DEPTH, _UNITS = 2, 3, 4, 3


def _matrix(of: Draft, *shape: int, hybrid: bool = False) -> int:
    if hybrid:
        return of.hybrid(shape, [0.005])
    return of.constant(of.numbers(shape, "float32", 0.7)).index


def _data(of: Draft, is_sequence: bool, major: bool) -> Value:
    if not is_sequence:
        return of.given((_BATCH, _DEPTH), "float32")
    steps = (_STEPS, _BATCH) if major else (_BATCH, _STEPS)
    return of.given((*steps, _DEPTH), "float32")


def _rnn(of: Draft, kind: str, major: bool = False, hybrid: bool = False, **fields: Any) -> None:
    is_sequence = kind != "RNN"
    data = _data(of, is_sequence, major)
    weights = [
        _matrix(of, _UNITS, _DEPTH, hybrid=hybrid),
        _matrix(of, _UNITS, _UNITS, hybrid=hybrid),
        _matrix(of, _UNITS),
    ]
    if is_sequence:
        fields["timeMajor"] = major
    given: list[Value | int] = [data, *weights, of.variable((_BATCH, _UNITS))]
    of.emit(kind, given, [of.result("float32")], _OPTIONS[kind], **fields)


def _both_rnns(
    of: Draft, merge: bool = False, major: bool = False, aux: bool = False, **fields: Any
) -> None:
    data = _data(of, True, major)
    given: list[Value | int] = [data]
    for _ in range(2):
        given += [_matrix(of, _UNITS, _DEPTH), _matrix(of, _UNITS, _UNITS), _matrix(of, _UNITS)]
        given.append(of.variable((_BATCH, _UNITS)))
    if aux:
        given += [_data(of, True, major), _matrix(of, _UNITS, _DEPTH), _matrix(of, _UNITS, _DEPTH)]
    else:
        given += [-1, -1, -1]
    outputs = [of.result("float32") for _ in range(1 if merge else 2)]
    of.emit(
        "BIDIRECTIONAL_SEQUENCE_RNN",
        given,
        outputs,
        "BidirectionalSequenceRNNOptions",
        timeMajor=major,
        mergeOutputs=merge,
        **fields,
    )


def _svdf(of: Draft, rank: int = 1, bias: bool = True, hybrid: bool = False, **fields: Any) -> None:
    memory, filters = 4, _UNITS * rank
    data = of.given((_BATCH, _DEPTH), "float32")
    given: list[Value | int] = [data, _matrix(of, filters, _DEPTH, hybrid=hybrid)]
    given.append(_matrix(of, filters, memory, hybrid=hybrid))
    given.append(_matrix(of, _UNITS) if bias else -1)
    given.append(of.variable((_BATCH, filters * memory)))
    of.emit("SVDF", given, [of.result("float32")], "SVDFOptions", rank=rank, **fields)


def _cells() -> Iterator[Case]:
    for kind in ("RNN", "UNIDIRECTIONAL_SEQUENCE_RNN"):
        make = partial(partial, _rnn, kind=kind)
        for name, fused in _FUSED:
            yield Case(kind, f"float32-{name}", make(fusedActivationFunction=fused), runs=_RUNS)
        for asymmetric in (False, True):
            yield Case(
                kind,
                f"hybrid{'-asymmetric' * asymmetric}",
                make(hybrid=True, asymmetricQuantizeInputs=asymmetric),
                hybrid=0.05,
                runs=_RUNS,
            )
    make = partial(partial, _rnn, kind="UNIDIRECTIONAL_SEQUENCE_RNN")
    yield Case("UNIDIRECTIONAL_SEQUENCE_RNN", "float32-major", make(major=True), runs=_RUNS)
    yield Case(
        "RNN", "float32-tanh", partial(_rnn, kind="RNN", fusedActivationFunction=TANH), runs=_RUNS
    )
    yield Case(
        "UNIDIRECTIONAL_SEQUENCE_RNN",
        "float32-tanh",
        make(fusedActivationFunction=TANH),
        reason="its activation is TANH or SIGMOID, and the engine's sequences have others",
        runs=_RUNS,
    )
    kind = "BIDIRECTIONAL_SEQUENCE_RNN"
    for merge in (False, True):
        for major in (False, True):
            for aux in (False, True):
                yield Case(
                    kind,
                    f"float32{'-merged' * merge}{'-major' * major}{'-aux' * aux}",
                    partial(_both_rnns, merge=merge, major=major, aux=aux),
                    runs=_RUNS,
                )
    for name, fused in _FUSED[1:]:
        yield Case(
            kind,
            f"float32-{name}",
            partial(_both_rnns, fusedActivationFunction=fused),
            runs=_RUNS,
        )
    yield Case(
        kind,
        "float32-asymmetric",
        partial(_both_rnns, asymmetricQuantizeInputs=True),
        runs=_RUNS,
    )
    yield Case(
        kind,
        "float32-tanh",
        partial(_both_rnns, fusedActivationFunction=TANH),
        reason="its activation is TANH or SIGMOID, and the engine's sequences have others",
        runs=_RUNS,
    )
    for rank in (1, 2):
        for name, fused in _FUSED[:2]:
            yield Case(
                "SVDF",
                f"float32-rank-{rank}-{name}",
                partial(_svdf, rank=rank, fusedActivationFunction=fused),
                runs=_RUNS,
            )
    yield Case("SVDF", "float32-no-bias", partial(_svdf, bias=False), runs=_RUNS)
    for asymmetric in (False, True):
        yield Case(
            "SVDF",
            f"hybrid{'-asymmetric' * asymmetric}",
            partial(_svdf, hybrid=True, asymmetricQuantizeInputs=asymmetric),
            hybrid=0.05,
            runs=_RUNS,
        )


def _parts(of: Draft, coupled: bool, peepholes: bool, projection: str, hybrid: bool) -> list[int]:
    """The weights and biases of one direction, without its states."""
    first = int(coupled)
    absent = [-1] * first
    outputs = 2 if projection else _UNITS
    made = partial(_matrix, of, hybrid=hybrid)
    parts = absent + [made(_UNITS, _DEPTH) for _ in range(first, 4)]
    parts += absent + [made(_UNITS, outputs) for _ in range(first, 4)]
    if peepholes:
        parts += absent + [_matrix(of, _UNITS) for _ in range(first, 3)]
    else:
        parts += [-1] * 3
    parts += absent + [_matrix(of, _UNITS) for _ in range(first, 4)]
    parts.append(made(outputs, _UNITS) if projection else -1)
    parts.append(_matrix(of, outputs) if projection == "bias" else -1)
    return parts


def _lstm(
    of: Draft,
    kind: str,
    coupled: bool = False,
    peepholes: bool = False,
    projection: str = "",
    norms: bool = False,
    major: bool = False,
    hybrid: bool = False,
    **fields: Any,
) -> None:
    data = _data(of, kind != "LSTM", major)
    inputs: list[Value | int] = [data, *_parts(of, coupled, peepholes, projection, hybrid)]
    outputs = 2 if projection else _UNITS
    inputs += [of.variable((_BATCH, outputs)), of.variable((_BATCH, _UNITS))]
    if norms:
        inputs += [-1] * int(coupled) + [_matrix(of, _UNITS) for _ in range(int(coupled), 4)]
    if kind != "LSTM":
        fields["timeMajor"] = major
    fields = {"fusedActivationFunction": TANH} | fields
    of.emit(kind, inputs, [of.result("float32")], _OPTIONS[kind], **fields)


def _both_lstms(
    of: Draft, merge: bool = False, major: bool = True, aux: bool = False, **fields: Any
) -> None:
    inputs: list[Value | int] = [_data(of, True, major)]
    for _ in range(2):
        inputs += _parts(of, False, False, "", False)
    for _ in range(2):
        inputs += [of.variable((_BATCH, _UNITS)), of.variable((_BATCH, _UNITS))]
    if aux:
        inputs.append(_data(of, True, major))
        inputs += [_matrix(of, _UNITS, _DEPTH) for _ in range(8)]
    else:
        inputs += [-1] * 9
    fields = {"fusedActivationFunction": TANH} | fields
    outputs = [of.result("float32") for _ in range(1 if merge else 2)]
    of.emit(
        "BIDIRECTIONAL_SEQUENCE_LSTM",
        inputs,
        outputs,
        "BidirectionalSequenceLSTMOptions",
        timeMajor=major,
        mergeOutputs=merge,
        **fields,
    )


def _quantised(of: Draft, kind: str, **fields: Any) -> None:
    """8 bits, with a cell state of 16."""
    scale = 0.01
    shape = (_BATCH, _DEPTH) if kind == "LSTM" else (_BATCH, _STEPS, _DEPTH)
    data = of.given(shape, "int8", like=Value(0, (), "int8", 0.02, 3))

    def weights(*extents: int) -> int:
        steps = np.asarray(of.random.integers(-127, 128, extents), np.int8)
        return of.graph.constant(steps, "int8", scale)

    def bias(of_scale: float) -> int:
        steps = np.asarray(of.random.integers(-900, 900, _UNITS), np.int32)
        return of.graph.constant(steps, "int32", of_scale)

    output = 1 / 128
    inputs: list[Value | int] = [data]
    inputs += [weights(_UNITS, _DEPTH) for _ in range(4)]
    inputs += [weights(_UNITS, _UNITS) for _ in range(4)]
    inputs += [-1] * 3 + [bias(0.02 * scale) for _ in range(4)] + [-1, -1]
    inputs += [
        of.variable((_BATCH, _UNITS), "int8", output, 0),
        of.variable((_BATCH, _UNITS), "int16", 2.0**-11),
    ]
    of.emit(
        kind,
        inputs,
        [of.fixed("int8", output, 0)],
        _OPTIONS[kind],
        fusedActivationFunction=TANH,
        **fields,
    )
    hidden = [of.graph.tensor((), "int16", 2.0**-12) for _ in range(4)]
    hidden.append(of.graph.tensor((), "int8", output, 0))
    of.graph.operators[-1].intermediates = hidden


def _lstms() -> Iterator[Case]:
    for kind in ("LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM"):
        make = partial(partial, _lstm, kind=kind)
        for coupled in (False, True):
            for peepholes in (False, True):
                for projection in ("", "weights", "bias"):
                    for norms in (False, True):
                        yield Case(
                            kind,
                            f"float32{'-coupled' * coupled}{'-peepholes' * peepholes}"
                            f"{f'-{projection}' * bool(projection)}{'-norms' * norms}",
                            make(
                                coupled=coupled,
                                peepholes=peepholes,
                                projection=projection,
                                norms=norms,
                            ),
                            runs=_RUNS,
                            tolerance=3e-5,
                        )
        for name, fused in (("relu", RELU), ("relu6", RELU6)):
            yield Case(
                kind,
                f"float32-{name}",
                make(fusedActivationFunction=fused),
                runs=_RUNS,
                tolerance=3e-5,
            )
        yield Case(kind, "float32-cell-clip", make(cellClip=0.2), runs=_RUNS, tolerance=3e-5)
        yield Case(
            kind,
            "float32-projection-clip",
            make(projection="bias", projClip=0.1),
            runs=_RUNS,
            tolerance=3e-5,
        )
        for asymmetric in (False, True):
            yield Case(
                kind,
                f"hybrid{'-asymmetric' * asymmetric}",
                make(hybrid=True, asymmetricQuantizeInputs=asymmetric),
                hybrid=0.05,
                runs=_RUNS,
                tolerance=3e-5,
            )
    kind = "UNIDIRECTIONAL_SEQUENCE_LSTM"
    yield Case(
        kind,
        "float32-major",
        partial(_lstm, kind=kind, major=True),
        runs=_RUNS,
        tolerance=3e-5,
    )
    yield Case(
        kind,
        "float32-diagonal",
        partial(_lstm, kind=kind, diagonalRecurrentTensors=True),
        reason="its recurrent weights are diagonals",
        version=4,
        runs=0,
    )
    yield Case("LSTM", "int8", partial(_quantised, kind="LSTM"), runs=_RUNS)
    yield Case(
        kind,
        "int8",
        partial(_quantised, kind=kind),
        reason="it is of INT8, and the engine's of FLOAT32",
        runs=_RUNS,
    )
    yield Case(
        "LSTM",
        "float32-basic",
        partial(_lstm, kind="LSTM", kernelType=1),
        reason="it is an LSTM of the basic kind",
        runs=0,
    )
    kind = "BIDIRECTIONAL_SEQUENCE_LSTM"
    for merge in (False, True):
        for major in (False, True):
            for aux in (False, True):
                yield Case(
                    kind,
                    f"float32{'-merged' * merge}{'-major' * major}{'-aux' * aux}",
                    partial(_both_lstms, merge=merge, major=major, aux=aux),
                    runs=_RUNS,
                    tolerance=3e-5,
                    halves=partial(_both_lstms, major=major, aux=aux) if merge else None,
                )
    changes: dict[str, dict[str, Any]] = {
        "relu": {"fusedActivationFunction": RELU},
        "cell-clip": {"cellClip": 0.2},
        "projection-clip": {"projClip": 0.1},
        "asymmetric": {"asymmetricQuantizeInputs": True},
    }
    for name, changed in changes.items():
        yield Case(
            kind,
            f"float32-{name}",
            partial(_both_lstms, **changed),
            runs=_RUNS,
            tolerance=3e-5,
        )


def cases() -> Iterator[Case]:
    yield from _cells()
    yield from _lstms()
