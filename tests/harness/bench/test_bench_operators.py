# SPDX-License-Identifier: Apache-2.0
"""halyard bench operators: single operators of real models, told as a list and timed from it."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from halyard.bench import operators
from halyard.cli.program import cli
from halyard.errors import HalyardError
from halyard.model import ModelBuilder, TensorType
from halyard.model.operands import constants, operation_name
from halyard.proto import halyard_pb2 as pb
from halyard.records.operators import Operand, Operator, OperatorTime
from tests.harness.bench.test_bench import needs_litert

FLOATS = pb.OPERAND_TYPE_TENSOR_FLOAT32
SIGNED = pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM_SIGNED


def transposing(*, uses: int = 1, rows: int = 20) -> Operator:
    return Operator(
        operation="TRANSPOSE",
        inputs=(
            Operand(type="TENSOR_FLOAT32", shape=(rows, 30)),
            Operand(type="TENSOR_INT32", shape=(2,), role="constant", values=(1, 0)),
        ),
        outputs=(Operand(type="TENSOR_FLOAT32", shape=(30, rows)),),
        uses=uses,
    )


def network() -> pb.Model:
    """A fully connected layer with weights of 8 bits, twice, and a row of its result."""
    builder = ModelBuilder("network")
    x = builder.input("x", TensorType(SIGNED, (8, 40), 0.5, 3))
    weights = TensorType(
        pb.OPERAND_TYPE_TENSOR_QUANT8_SYMM_PER_CHANNEL, (40, 40), channel_scales=(0.25,) * 40
    )
    bias = TensorType(pb.OPERAND_TYPE_TENSOR_INT32, (40,))
    layer = [
        builder.constant("w", weights, np.ones((40, 40), np.int8)),
        builder.constant("b", bias, np.zeros(40, "<i4")),
        builder.int32(0),
    ]
    kind = TensorType(SIGNED, (8, 40), 0.5, 3)
    first = builder.operation(pb.OPERATION_TYPE_FULLY_CONNECTED, [x, *layer], "first", kind)
    second = builder.operation(pb.OPERATION_TYPE_FULLY_CONNECTED, [first, *layer], "second", kind)
    begin, size = builder.vector("begin", [0, 0]), builder.vector("size", [1, 40])
    row = TensorType(SIGNED, (1, 40), 0.5, 3)
    last = builder.operation(pb.OPERATION_TYPE_SLICE, [second, begin, size], "row", row)
    return builder.build([last])


def test_lists_what_is_large_and_counts_what_is_alike() -> None:
    [layer] = operators.distinct(list(operators.of_model(network())))
    assert (layer.operation, layer.uses) == ("FULLY_CONNECTED", 2)
    weights = layer.inputs[1]
    assert (weights.role, weights.shape, weights.channel_dim) == ("constant", (40, 40), 0)
    assert weights.values is None
    assert layer.inputs[3].values == (0,)


def test_an_operator_of_the_list_is_the_models() -> None:
    [layer] = operators.distinct(list(operators.of_model(network())))
    model = operators.model_of(layer)
    [operation] = model.main.operations
    assert operation.type == pb.OPERATION_TYPE_FULLY_CONNECTED
    assert len(model.main.input_indexes) == 1
    [output] = [model.main.operands[index] for index in model.main.output_indexes]
    assert (output.type, tuple(output.dimensions), output.scale) == (SIGNED, (8, 40), 0.5)
    weights = constants(model)[operation.inputs[1]]
    assert len(np.unique(weights)) > 100
    again = operators.distinct(list(operators.of_model(model)))
    assert [each.inputs for each in again] == [layer.inputs]


def test_constants_that_say_what_to_do_are_kept() -> None:
    model = operators.model_of(transposing())
    [operation] = model.main.operations
    assert constants(model)[operation.inputs[1]].tolist() == [1, 0]


def test_lists_the_heaviest_of_each_kind() -> None:
    small, large = transposing(rows=20), transposing(rows=2000)
    often = transposing(rows=25, uses=1000)
    assert operators.heaviest([small, large, often], 2) == [often, large]


def test_refuses_an_operator_that_nnapi_lacks() -> None:
    with pytest.raises(HalyardError, match="HEAT"):
        operators.model_of(Operator(operation="HEAT", inputs=(), outputs=(), uses=1))


def test_the_list_is_of_operators_that_differ() -> None:
    listed = operators.read()
    assert len(listed) > 100
    assert listed == operators.distinct(listed)
    kinds = Counter((each.operation, operators.element_type(each)) for each in listed)
    assert max(kinds.values()) <= operators.MOST_OF_A_KIND
    for each in listed:
        [operation] = operators.model_of(each).main.operations
        assert operation_name(operation.type) == each.operation


def test_tells_the_worst_ratio_first() -> None:
    def time(ratio: float | None) -> OperatorTime:
        return OperatorTime(
            operator="x", uses=1, median_ms=1.0, peers_ms={}, ratio=ratio, reason=""
        )

    ordered = operators.worst_first([time(0.5), time(None), time(2.0)])
    assert [each.ratio for each in ordered] == [2.0, 0.5, None]


@needs_litert
def test_times_operators_beside_a_peer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "list.json"
    path.write_bytes(operators.as_json([transposing(uses=7), transposing(rows=40)]))
    monkeypatch.setattr(operators, "LIST", path)
    out = tmp_path / "out.json"
    words = ["bench", "operators", "--runs", "3", "--peers", "litert", "--json", str(out)]
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 0, result.output
    assert "TRANSPOSE FLOAT32 20x30 [1 0]" in result.output
    found = json.loads(out.read_text())["operators"]
    assert {each["uses"] for each in found} == {1, 7}
    assert all(each["median_ms"] > 0 and each["peers_ms"]["litert"] > 0 for each in found)
    ratios = [each["ratio"] for each in found]
    assert ratios == sorted(ratios, reverse=True)


def test_refuses_an_operation_that_no_model_has() -> None:
    result = CliRunner().invoke(cli, ["bench", "operators", "--operation", "SVDFF"])
    assert result.exit_code == 2
    assert "no real model has SVDFF" in result.output


def test_the_option_names_the_command() -> None:
    refused = [
        CliRunner().invoke(cli, ["bench", word, "--operation", "SVDFF"])
        for word in ("operators", "--operators")
    ]
    assert refused[0].output == refused[1].output
    assert refused[1].exit_code == 2


def test_the_option_comes_first() -> None:
    result = CliRunner().invoke(cli, ["bench", "--threads", "2", "--operators"])
    assert result.exit_code == 2
    assert "halyard bench operators" in result.output
