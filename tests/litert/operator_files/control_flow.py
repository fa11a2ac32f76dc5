# SPDX-License-Identifier: Apache-2.0
"""Operators that run other graphs of their file. A delegate is handed one graph."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from tests.harness.tflite_file import GraphFile
from tests.litert.operator_files.case import Case, Draft
from tests.random_tflite.sketch import Value

_LEFT = "the runtime runs the subgraphs that it names"


def _binary(kind: str, dtype: str, shape: tuple[int, ...]) -> tuple[GraphFile, int]:
    """Of two inputs."""
    graph = GraphFile()
    pair = [graph.input(shape, dtype) for _ in range(2)]
    result = graph.tensor(shape, dtype)
    graph.add(kind, pair, [result], f"{kind.capitalize()}Options")
    return graph, result


def _if(of: Draft, truth: bool, dtype: str = "float32", source: str = "given") -> None:
    value = np.asarray(truth)
    condition = of.given((), "bool", value) if source == "given" else of.constant(value)
    pair = [of.given((2, 3), dtype) for _ in range(2)]
    branches = [of.graph.subgraph(*_binary(kind, dtype, (2, 3))) for kind in ("ADD", "MUL")]
    output = Value(of.graph.tensor((2, 3), dtype), (2, 3), dtype)
    of.emit(
        "IF",
        [condition, *pair],
        [output],
        "IfOptions",
        thenSubgraphIndex=branches[0],
        elseSubgraphIndex=branches[1],
    )


def _while(of: Draft, limit: int, dtype: str = "float32") -> None:
    """Adds to itself, `limit` times."""
    count = of.given((), "int32", np.asarray(0, "int32"))
    data = of.given((2, 3), dtype)
    condition, body = GraphFile(), GraphFile()
    inputs = [condition.input((), "int32"), condition.input((2, 3), dtype)]
    truth = condition.tensor((), "bool")
    condition.add("LESS", [inputs[0], condition.constant(limit, "int32")], [truth], "LessOptions")
    inputs = [body.input((), "int32"), body.input((2, 3), dtype)]
    next_count, next_data = body.tensor((), "int32"), body.tensor((2, 3), dtype)
    body.add("ADD", [inputs[0], body.constant(1, "int32")], [next_count], "AddOptions")
    body.add("ADD", [inputs[1], inputs[1]], [next_data], "AddOptions")
    graphs = [of.graph.subgraph(condition, truth), of.graph.subgraph(body, next_count, next_data)]
    outputs = [of.result("int32"), of.result(dtype)]
    of.emit(
        "WHILE",
        [count, data],
        outputs,
        "WhileOptions",
        condSubgraphIndex=graphs[0],
        bodySubgraphIndex=graphs[1],
    )


def _missing(of: Draft) -> None:
    condition = of.given((), "bool")
    data = of.given((2,), "float32")
    branch = of.graph.subgraph(*_binary("ADD", "float32", (2,)))
    of.emit(
        "IF",
        [condition, data, data],
        [of.result("float32")],
        "IfOptions",
        thenSubgraphIndex=branch,
        elseSubgraphIndex=7,
    )


def cases() -> Iterator[Case]:
    for truth in (False, True):
        for dtype in ("float32", "int32"):
            yield Case(
                "IF",
                f"{dtype}-{truth}".lower(),
                partial(_if, truth=truth, dtype=dtype),
                delegate_reason=_LEFT,
            )
        yield Case(
            "IF",
            f"constant-{truth}".lower(),
            partial(_if, truth=truth, source="constant"),
            delegate_reason=_LEFT,
        )
    yield Case(
        "IF", "no-such-graph", _missing, reason="it names subgraph 7, of which there are 2", runs=0
    )
    for limit in (0, 1, 4):
        yield Case("WHILE", f"float32-{limit}", partial(_while, limit=limit), delegate_reason=_LEFT)
    yield Case("WHILE", "int32", partial(_while, limit=3, dtype="int32"), delegate_reason=_LEFT)
