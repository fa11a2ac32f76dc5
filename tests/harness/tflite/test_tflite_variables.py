# SPDX-License-Identifier: Apache-2.0
"""Variables of VAR_HANDLE become inputs and outputs, which are handed on from run to run."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert.interpreter")

from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter
from click.testing import CliRunner

from halyard import conversion
from halyard.benchmark_model import FileModel
from halyard.cli.program import cli
from halyard.model import Array, Conversion
from tests.harness.on_parts import converted
from tests.harness.tflite_file import GraphFile, packed


def _handle(graph: GraphFile, name: str) -> int:
    index = graph.tensor((1,))
    graph.tensors[index].type = schema.TensorType.RESOURCE
    graph.add("VAR_HANDLE", [], [index], "VarHandleOptions", container="", sharedName=name)
    return index


def _first(values: dict[str, Array]) -> GraphFile:
    graph = GraphFile()
    for name, array in values.items():
        handle = _handle(graph, name)
        constant = graph.constant(array, str(array.dtype))
        graph.add("ASSIGN_VARIABLE", [handle, constant], [], "AssignVariableOptions")
    return graph


def _streaming(host_operator: str = "TANH") -> Any:
    """A window of the last four numbers, and a count: both are read, and left for the next run."""
    graph = GraphFile()
    initial = {
        "window": np.array([[0.5, -0.5, 0.25]], np.float32),
        "count": np.array([10.0], np.float32),
    }
    number = graph.subgraph(_first(initial))
    graph.add("CALL_ONCE", [], [], "CallOnceOptions", initSubgraphIndex=number)
    source = graph.input((1, 1))
    window, count = _handle(graph, "window"), _handle(graph, "count")
    before = graph.tensor((1, 3))
    graph.add("READ_VARIABLE", [window], [before], "ReadVariableOptions")
    whole, after = graph.tensor((1, 4)), graph.tensor((1, 3))
    graph.add("CONCATENATION", [before, source], [whole], "ConcatenationOptions", axis=1)
    bounds = [graph.constant(each, "int32") for each in ([0, 1], [1, 3])]
    graph.add("SLICE", [whole, *bounds], [after], "SliceOptions")
    graph.add("ASSIGN_VARIABLE", [window, after], [], "AssignVariableOptions")
    # A variable that is read after it was assigned has the assigned value.
    again = graph.tensor((1, 3))
    graph.add("READ_VARIABLE", [window], [again], "ReadVariableOptions")
    counted, more = graph.tensor((1,)), graph.tensor((1,))
    graph.add("READ_VARIABLE", [count], [counted], "ReadVariableOptions")
    graph.add("ADD", [counted, graph.constant([1.0])], [more], "AddOptions")
    graph.add("ASSIGN_VARIABLE", [count, more], [], "AssignVariableOptions")
    scaled, output = graph.tensor((1, 3)), graph.tensor((1, 3))
    graph.add("MUL", [again, more], [scaled], "MulOptions")
    graph.add(host_operator, [scaled], [output])
    return graph.model(output)


def _convert(model: Any, folder: Path) -> Conversion:
    path = folder / "model.tflite"
    path.write_bytes(packed(model))
    return conversion.convert(path)


def _steps(path: Path, inputs: list[Array]) -> list[Array]:
    """Of LiteRT, whose variables stay from run to run."""
    interpreter = Interpreter(model_path=str(path))
    interpreter.allocate_tensors()
    found = []
    for values in inputs:
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], values)
        interpreter.invoke()
        found.append(np.array(interpreter.get_tensor(interpreter.get_output_details()[0]["index"])))
    return found


@pytest.mark.parametrize("last", ["TANH", "COS"])
def test_states_that_are_handed_on_give_what_litert_gives(last: str, tmp_path: Path) -> None:
    """Five runs; the last operator is NNAPI's, or the host's."""
    found = _convert(_streaming(last), tmp_path)
    assert len(found.unmapped) == (1 if last == "COS" else 0)
    assert [each.input for each in found.states] == ["window", "count"]
    inputs = [np.array([[value]], np.float32) for value in (0.1, -0.2, 0.3, 0.7, -0.9)]
    values = {each.input: each.initial for each in found.states}
    for given, expected in zip(inputs, _steps(found.source.path, inputs), strict=True):
        names = [info.name for info in found.inputs]
        results = converted(found, [values.get(name, given) for name in names])
        np.testing.assert_allclose(results[0], expected, 1e-5, 1e-6)
        named = dict(zip((info.name for info in found.outputs), results, strict=True))
        values = {each.input: named[each.output] for each in found.states}


def test_the_first_run_takes_what_variables_begin_with(tmp_path: Path) -> None:
    found = _convert(_streaming(), tmp_path)
    arrays = FileModel(found.source.path).input_arrays()
    np.testing.assert_array_equal(arrays[1], [[0.5, -0.5, 0.25]])
    np.testing.assert_array_equal(arrays[2], [10])
    done = CliRunner().invoke(cli, ["run", str(found.source.path), "--device", "host"])
    assert done.exit_code == 0, done.output
    assert "agreement  with LiteRT" in done.output


def test_variables_without_a_beginning_are_zeros(tmp_path: Path) -> None:
    graph = GraphFile()
    source = graph.input((1, 3))
    handle, before, total = _handle(graph, "sum"), graph.tensor((1, 3)), graph.tensor((1, 3))
    graph.add("READ_VARIABLE", [handle], [before], "ReadVariableOptions")
    graph.add("ADD", [before, source], [total], "AddOptions")
    graph.add("ASSIGN_VARIABLE", [handle, total], [], "AssignVariableOptions")
    found = _convert(graph.model(total), tmp_path)
    [state] = found.states
    np.testing.assert_array_equal(state.initial, np.zeros((1, 3)))
    values = np.array([[1, 2, 3]], np.float32)
    first, after = converted(found, [values, state.initial])
    np.testing.assert_array_equal(first, values)
    np.testing.assert_array_equal(after, values)


# ---- what stays as it is, and why ---------------------------------------------------------------


def _note(model: Any, folder: Path) -> str:
    found = _convert(model, folder)
    assert not found.states
    return found.notes[-1]


def test_a_beginning_that_is_computed_is_for_the_host(tmp_path: Path) -> None:
    graph = GraphFile()
    first = GraphFile()
    handle, value = _handle(first, "v"), first.tensor((1,))
    first.add("EXP", [first.constant([1.0])], [value])
    first.add("ASSIGN_VARIABLE", [handle, value], [], "AssignVariableOptions")
    number = graph.subgraph(first)
    graph.add("CALL_ONCE", [], [], "CallOnceOptions", initSubgraphIndex=number)
    source, before, output = graph.input((1,)), graph.tensor((1,)), graph.tensor((1,))
    graph.add("READ_VARIABLE", [_handle(graph, "v")], [before], "ReadVariableOptions")
    graph.add("ADD", [source, before], [output], "AddOptions")
    wanted = "its variables stay in the file: its subgraph 1, which begins with EXP"
    assert _note(graph.model(output), tmp_path).startswith(wanted)


def test_a_first_call_of_no_graph_is_told(tmp_path: Path) -> None:
    graph = GraphFile()
    graph.add("CALL_ONCE", [], [], "CallOnceOptions", initSubgraphIndex=7)
    source, output = graph.input((1,)), graph.tensor((1,))
    graph.add("EXP", [source], [output])
    assert _note(graph.model(output), tmp_path).endswith("CALL_ONCE names subgraph 7")


def test_a_variable_without_a_shape_is_told(tmp_path: Path) -> None:
    graph = GraphFile()
    source, before, output = graph.input((1, 3)), graph.tensor((-1, 3)), graph.tensor((1, 3))
    graph.add("READ_VARIABLE", [_handle(graph, "v")], [before], "ReadVariableOptions")
    graph.add("ADD", [source, before], [output], "AddOptions")
    wanted = "the variable 'v', FLOAT32[-1, 3], has no shape that is known"
    assert _note(graph.model(output), tmp_path).endswith(wanted)


def test_variables_of_a_branch_are_told(tmp_path: Path) -> None:
    graph, branch = GraphFile(), GraphFile()
    given, result = branch.input((1,)), branch.tensor((1,))
    branch.add("ASSIGN_VARIABLE", [_handle(branch, "v"), given], [], "AssignVariableOptions")
    branch.add("EXP", [given], [result])
    number = graph.subgraph(branch, result)
    condition, source, output = graph.input((1,), "bool"), graph.input((1,)), graph.tensor((1,))
    fields = {"thenSubgraphIndex": number, "elseSubgraphIndex": number}
    graph.add("IF", [condition, source], [output], "IfOptions", **fields)
    before, total = graph.tensor((1,)), graph.tensor((1,))
    graph.add("READ_VARIABLE", [_handle(graph, "v")], [before], "ReadVariableOptions")
    graph.add("ADD", [before, output], [total], "AddOptions")
    assert _note(graph.model(total), tmp_path).endswith("its subgraph 1 has variables, too")


def test_a_first_value_that_is_computed_is_told(tmp_path: Path) -> None:
    graph, first = GraphFile(), GraphFile()
    given = first.input((1,))
    first.add("ASSIGN_VARIABLE", [_handle(first, "v"), given], [], "AssignVariableOptions")
    number = graph.subgraph(first)
    graph.add("CALL_ONCE", [], [], "CallOnceOptions", initSubgraphIndex=number)
    source, before, output = graph.input((1,)), graph.tensor((1,)), graph.tensor((1,))
    graph.add("READ_VARIABLE", [_handle(graph, "v")], [before], "ReadVariableOptions")
    graph.add("ADD", [source, before], [output], "AddOptions")
    wanted = "its subgraph 1 assigns what is computed"
    assert _note(graph.model(output), tmp_path).endswith(wanted)
