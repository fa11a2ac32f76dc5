# SPDX-License-Identifier: Apache-2.0
"""Operations that the driver does not prepare are found with the reason, one by one."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import halyard
from halyard.model import ModelBuilder, TensorType
from halyard.model.preparation import WHOLE, troubles
from halyard.programs.validity import prepared
from halyard.proto import halyard_pb2 as pb

FLOAT = pb.OPERAND_TYPE_TENSOR_FLOAT32
ROW, COLUMN = TensorType(FLOAT, (1, 4)), TensorType(FLOAT, (4,))


def product(builder: ModelBuilder, source: int, output: TensorType) -> int:
    """Of a [4] with itself."""
    inputs = [source, source, builder.int32(0)]
    return builder.operation(pb.OPERATION_TYPE_MUL, inputs, "product", output)


def mixed() -> pb.Model:
    """Of five operations two have outputs of other shapes than they say."""
    builder = ModelBuilder("mixed")
    source = builder.input("source", COLUMN)
    outputs = [product(builder, source, shape) for shape in (COLUMN, ROW, COLUMN, ROW, COLUMN)]
    return builder.build(outputs)


def invalid() -> pb.Model:
    """Two of three are no operations: TANH of whole numbers."""
    builder = ModelBuilder("invalid")
    whole = TensorType(pb.OPERAND_TYPE_TENSOR_INT32, (4,))
    source, numbers = builder.input("source", COLUMN), builder.input("numbers", whole)
    outputs = [
        builder.operation(pb.OPERATION_TYPE_TANH, [each], "tanh", tensor)
        for each, tensor in ((numbers, whole), (source, COLUMN), (numbers, whole))
    ]
    return builder.build(outputs)


def bad_in_three_ways() -> pb.Model:
    """Of four operations two are of a type that no version has, and one is of another shape
    than it says."""
    builder = ModelBuilder("bad in three ways")
    whole = TensorType(pb.OPERAND_TYPE_TENSOR_INT32, (4,))
    source, numbers = builder.input("source", COLUMN), builder.input("numbers", whole)
    outputs = [
        builder.operation(pb.OPERATION_TYPE_TANH, [numbers], "tanh", whole),
        product(builder, source, COLUMN),
        builder.operation(pb.OPERATION_TYPE_LOGISTIC, [numbers], "logistic", whole),
        product(builder, source, ROW),
    ]
    return builder.build(outputs)


def good() -> pb.Model:
    builder = ModelBuilder("good")
    return builder.build([product(builder, builder.input("source", COLUMN), COLUMN)])


def test_finds_each_operation_that_does_not_prepare() -> None:
    reason = "NNAPI's MUL: output 0: shape [1, 4] contradicts [4]"
    assert troubles([good(), mixed(), good()]) == [{}, {1: reason, 3: reason}, {}]


def test_three_bad_operations_have_three_verdicts_of_one_runner(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    starts = []
    run = subprocess.run

    def counted(*arguments: Any, **options: Any) -> Any:
        starts.append(arguments)
        return run(*arguments, **options)

    monkeypatch.setattr(subprocess, "run", counted)
    [answer] = prepared([bad_in_three_ways()])
    assert [(each.operation, each.name, each.rule) for each in answer.verdicts] == [
        (0, "TANH", pb.RULE_OPERAND_TYPE),
        (2, "LOGISTIC", pb.RULE_OPERAND_TYPE),
        (3, "MUL", pb.RULE_SHAPES),
    ]
    assert len(starts) == 1
    [found] = troubles([bad_in_three_ways()])
    assert found == {
        each.operation: f"NNAPI's {each.name}: {each.reason}" for each in answer.verdicts
    }
    assert len(starts) == 2


def test_finds_each_operation_that_is_not_valid() -> None:
    [found] = troubles([invalid()])
    assert sorted(found) == [0, 2]
    assert all(reason.startswith("NNAPI's TANH: ") for reason in found.values())


def test_finds_the_later_of_two_that_contradict_each_other() -> None:
    """Each prepares alone: what goes between them has no shape of its own."""
    builder = ModelBuilder("contradiction")
    between = TensorType(FLOAT, (0,))
    source = builder.input("source", COLUMN)
    first = product(builder, source, between)
    inputs = [first, builder.input("other", TensorType(FLOAT, (3,))), builder.int32(0)]
    second = builder.operation(pb.OPERATION_TYPE_ADD, inputs, "sum", TensorType(FLOAT, (3,)))
    [found] = troubles([builder.build([second])])
    assert list(found) == [1]
    assert found[1].startswith("NNAPI's ADD: ")


def test_blames_the_whole_where_no_operation_is_to_blame() -> None:
    model = good()
    model.main.output_indexes.append(0)
    [found] = troubles([model])
    assert list(found) == [WHOLE]


def test_asks_no_device_about_nothing() -> None:
    assert troubles([]) == []


_MATCHING = frozenset({"match", "search", "fullmatch", "findall", "finditer", "sub"})
_SAID = frozenset({"message", "reason"})


def parsed_sentences(source: str) -> Iterator[str]:
    """Where a regular expression is applied to what a message or a verdict says."""
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        is_expression = node.func.attr in _MATCHING or (
            isinstance(node.func.value, ast.Name) and node.func.value.id == "re"
        )
        if is_expression and any(
            isinstance(part, ast.Attribute) and part.attr in _SAID
            for argument in node.args
            for part in ast.walk(argument)
        ):
            yield f"line {node.lineno}: {ast.unparse(node)}"


def test_a_sentence_that_is_parsed_is_seen() -> None:
    assert [*parsed_sentences("_OPERATION.match(answer.message)")]
    assert [*parsed_sentences("re.split(':', str(verdict.reason))")]
    assert not [*parsed_sentences("_LINE.match(line); answer.message.split(':')")]


def test_no_module_parses_what_the_driver_says() -> None:
    """Which operation is to blame, and for what, is data."""
    root = Path(halyard.__file__).parent
    found = {
        str(path.relative_to(root)): seen
        for path in root.rglob("*.py")
        if "_pb2" not in path.name and (seen := [*parsed_sentences(path.read_text())])
    }
    assert found == {}
