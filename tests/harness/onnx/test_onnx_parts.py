# SPDX-License-Identifier: Apache-2.0
"""ONNX files of which the host runs parts: whatever NNAPI can't express runs there, and what goes
from one part to another keeps its values, whatever its type and shape. ONNX Runtime says what is
right."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from onnx import GraphProto, ModelProto, TensorProto, ValueInfoProto, helper, numpy_helper

from halyard import onnx
from halyard.benchmark_model import FileModel
from halyard.cli.program import cli
from halyard.devices import open_device
from halyard.engines.halyard import HalyardDevice
from halyard.errors import HalyardError
from halyard.measurement.measurement import measure
from halyard.model import Conversion, NnapiPart, TensorType
from halyard.onnx.reading.mapper import PLAIN, Mapper
from halyard.onnx.reading.network import Node
from halyard.onnx.reading.operators import OPERATORS
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Target
from tests.harness.on_parts import converted, inputs_for, original, problems
from tests.harness.onnx_models import Graph

pytest.importorskip("onnxruntime")

BOOL, FLOAT, HALF, INT32, INT64 = (
    TensorProto.BOOL,
    TensorProto.FLOAT,
    TensorProto.FLOAT16,
    TensorProto.INT32,
    TensorProto.INT64,
)


def read(model: ModelProto, folder: Path) -> tuple[Conversion, Path]:
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return onnx.read_conversion(path.read_bytes(), path), path


def sides(conversion: Conversion) -> list[str]:
    return ["NNAPI" if isinstance(part, NnapiPart) else "host" for part in conversion.parts]


def reasons(conversion: Conversion) -> list[str]:
    return [each.text() for each in conversion.unmapped]


def declared(model: ModelProto, output: int = 0) -> ValueInfoProto:
    return model.graph.output[output]


# ---- types at the boundary ----------------------------------------------------------------------


def largest_places() -> ModelProto:
    """Indices of a TopK pick what an operator of the host takes: [2,6] to [2,3]."""
    g = Graph(21)
    values = g.ops("TopK", g.input("x", (2, 6)), g.ints(3), outputs=2)
    return g.model(g.op("GatherElements", "x", values[1], axis=1))


def computed_indices() -> ModelProto:
    g = Graph(21)
    places = g.op("Sub", g.op("Add", g.input("i", (3, 2), INT64), g.ints(1)), g.ints(1))
    return g.model(g.op("GatherElements", g.input("x", (3, 2)), places, axis=0))


def whole_numbers_of_the_host() -> ModelProto:
    """BitShift gives INT64, which NNAPI takes as INT32 and the file's output has as INT64."""
    g = Graph()
    shifted = g.op("BitShift", g.input("x", (4,), TensorProto.UINT64), g.constant(1, "u8"))
    g.nodes[-1].attribute.append(helper.make_attribute("direction", "LEFT"))
    y = g.op("Cast", shifted, to=INT64)
    return g.model(g.op("Gather", y, g.ints(3, 0, 1)))


def mask() -> ModelProto:
    """Truth values that the host computes choose on the device, and the other way around."""
    g = Graph()
    x, y = g.input("x", (2, 3)), g.input("y", (2, 3))
    infinite = g.op("IsInf", g.op("Log", g.op("Relu", x)))
    picked = g.op("Compress", y, g.op("Greater", g.op("Abs", g.input("z", (2,))), g.constant(0)))
    g.nodes[-1].attribute.append(helper.make_attribute("axis", 0))
    return g.model(g.op("Where", infinite, x, y), g.op("Not", infinite), picked)


def halves() -> ModelProto:
    g = Graph()
    x = g.op("Relu", g.input("x", (2, 3), HALF))
    return g.model(g.op("Relu", g.op("Sub", g.op("Atan", x), x)))


def numbers() -> ModelProto:
    """Scalars, which NNAPI has as vectors of one."""
    g = Graph()
    x = g.op("Abs", g.input("x", ()))
    return g.model(g.op("Neg", g.op("Atan", x)), g.op("Add", x, g.constant(1)))


def nothing() -> ModelProto:
    """Tensors without elements."""
    g = Graph()
    x = g.op("Relu", g.input("x", (2, 3)))
    none = g.op("Slice", x, g.ints(0), g.ints(0), g.ints(0))
    atan = g.op("Atan", none)
    return g.model(g.op("Concat", atan, x, axis=0), g.op("Exp", none), atan)


def wide_numbers() -> ModelProto:
    """Of types that NNAPI has not."""
    g = Graph()
    x = g.op("Relu", g.input("x", (2, 3)))
    double = g.op("Exp", g.op("Cast", x, to=TensorProto.DOUBLE))
    small = g.op("Cast", g.op("Mul", x, g.constant(9)), to=TensorProto.INT16)
    total = g.op("Add", g.op("Cast", double, to=FLOAT), x)
    return g.model(total, g.op("Cast", small, to=INT32), double)


BOUNDARIES: dict[str, Callable[[], ModelProto]] = {
    each.__name__: each
    for each in (
        largest_places,
        computed_indices,
        whole_numbers_of_the_host,
        mask,
        halves,
        numbers,
        nothing,
        wide_numbers,
    )
}


@pytest.mark.parametrize("name", BOUNDARIES)
@pytest.mark.parametrize("seed", [0, 1])
def test_values_cross_from_part_to_part(name: str, seed: int, tmp_path: Path) -> None:
    conversion, path = read(BOUNDARIES[name](), tmp_path)
    assert "host" in sides(conversion)
    assert problems(conversion, path, seed) == []


def test_whole_numbers_that_nnapi_has_no_room_for_are_told(tmp_path: Path) -> None:
    g = Graph()
    picked = g.op("Gather", g.input("x", (4,), INT64), g.ints(3, 0))
    conversion, _ = read(g.model(picked, g.op("Atan", g.input("y", (2,)))), tmp_path)
    assert sides(conversion) == ["NNAPI", "host"]
    angles = np.zeros(2, "f4")
    found = converted(conversion, [np.array([2**31 - 1, 7, 0, -(2**31)], np.int64), angles])
    assert (found[0].dtype, found[0].tolist()) == (np.int64, [-(2**31), 2**31 - 1])
    with pytest.raises(HalyardError, match="x: it has values that int32 can't hold"):
        converted(conversion, [np.array([2**31, 7, 0, 1], np.int64), angles])


# ---- outputs that are something else too --------------------------------------------------------


def test_a_constant_may_be_an_output_beside_parts(tmp_path: Path) -> None:
    g = Graph()
    y = g.op("Atan", g.op("Relu", g.input("x", (2,))))
    k = g.op("Neg", g.constant([1, 2, 3]))
    conversion, path = read(g.model(y, k, g.constant(7, "i8"), "x"), tmp_path)
    assert sides(conversion) == ["NNAPI", "host", "host"]
    given = np.array([-1, 1], "f4")
    found = converted(conversion, [given])
    assert found[1].tolist() == [-1, -2, -3]
    assert (found[2].shape, found[2].dtype, int(found[2])) == ((), np.int64, 7)
    assert found[3].tolist() == [-1, 1]
    assert problems(conversion, path) == []


def test_outputs_that_nnapi_can_not_give_come_from_the_host(tmp_path: Path) -> None:
    g = Graph()
    y = g.op("Relu", g.input("x", (2,)))
    five = g.input("five", (1, 2, 1, 2, 1))
    conversion, path = read(g.model(y, g.constant([1, 2], "u1"), five, "x"), tmp_path)
    assert sides(conversion) == ["NNAPI", "host"]
    assert reasons(conversion) == [
        "output 'constant_2': 'constant_2' are bytes that no operator says the scale of"
    ]
    assert problems(conversion, path) == []


def test_a_file_that_computes_nothing_gives_what_it_has(tmp_path: Path) -> None:
    g = Graph()
    g.input("x", (2,))
    conversion, path = read(g.model(g.op("Neg", g.constant([1, 2])), "x"), tmp_path)
    assert reasons(conversion) == ["the model: no operator of it computes from an input"]
    assert problems(conversion, path) == []


def test_outputs_may_be_each_other_across_parts(tmp_path: Path) -> None:
    g = Graph()
    x = g.op("Relu", g.input("x", (2, 3)))
    y = g.op("Atan", x)
    same = g.op("Identity", y)
    conversion, path = read(
        g.model(x, g.op("Identity", x), same, y, g.op("Identity", "x")), tmp_path
    )
    assert problems(conversion, path) == []


@pytest.mark.parametrize("operator", ["Relu", "Atan"])
def test_an_output_that_is_named_twice_is_one(operator: str, tmp_path: Path) -> None:
    g = Graph()
    model = g.model(g.op(operator, g.input("x", (2, 3))))
    model.graph.output.append(model.graph.output[0])
    conversion, path = read(model, tmp_path)
    assert len(conversion.outputs) == 1
    assert problems(conversion, path) == []


def test_a_file_without_operators_gives_its_input(tmp_path: Path) -> None:
    g = Graph()
    conversion, path = read(g.model(g.input("x", (2, 3))), tmp_path)
    assert sides(conversion) == ["host"]
    assert problems(conversion, path) == []


def test_an_output_that_is_no_tensor_is_told(tmp_path: Path) -> None:
    g = Graph()
    model = g.model(g.op("SequenceConstruct", g.input("x", (2, 3))))
    with pytest.raises(HalyardError, match="'SequenceConstruct_1' is a sequence, and no tensor"):
        read(model, tmp_path)


# ---- what ended a model -------------------------------------------------------------------------


def threshold_of_an_image() -> ModelProto:
    g = Graph(22)
    c = g.op("Conv", g.input("x", (1, 3, 6, 6)), g.weights(2, 3, 3, 3))
    return g.model(g.op("Where", g.op("Greater", c, g.constant(0)), c, g.constant(-1)))


def normalised_by_groups() -> ModelProto:
    g = Graph(24, opset=21)
    c = g.op("Conv", g.input("x", (1, 3, 6, 6)), g.weights(4, 3, 3, 3))
    n = g.op("GroupNormalization", c, g.factors(4), g.weights(4), num_groups=2)
    return g.model(g.op("Relu", n))


def normalised_by_mean_and_variance() -> ModelProto:
    g = Graph(24)
    c = g.op("Conv", g.input("x", (1, 3, 6, 6)), g.weights(4, 3, 3, 3))
    return g.model(g.op("Relu", g.op("MeanVarianceNormalization", c)))


def places_of_what_is_not_zero() -> ModelProto:
    """How many there are is known only when it has run, and what is behind is of such shapes."""
    g = Graph()
    x = g.op("Relu", g.input("x", (3, 4)))
    places = g.op("Transpose", g.op("NonZero", x))
    picked = g.op("GatherND", x, places)
    return g.model(
        picked, places, g.op("ReduceSum", g.op("Exp", picked), keepdims=0), g.op("Neg", x)
    )


def boxes_that_stay() -> ModelProto:
    g = Graph()
    corners = g.op("Sigmoid", g.input("corners", (1, 5, 4)))
    scores = g.op("Sigmoid", g.input("scores", (1, 2, 5)))
    kept = g.op(
        "NonMaxSuppression", corners, scores, g.ints(3), g.constant([0.5]), g.constant([0.4])
    )
    batch = g.op("Slice", kept, g.ints(2), g.ints(3), g.ints(1))
    rows = g.op("Squeeze", batch, g.ints(1))
    return g.model(g.op("Gather", g.op("Squeeze", corners, g.ints(0)), rows), kept)


def sequences() -> ModelProto:
    """Which arrays between parts can't hold: all that hands them on is one part, with what lies
    between."""
    g = Graph()
    x = g.op("Relu", g.input("x", (4, 3)))
    rows = g.op("SplitToSequence", x, g.ints(1, 3), axis=0)
    first = g.op("SequenceAt", rows, g.constant(0, "i8"))
    more = g.op("SequenceInsert", rows, g.op("Exp", first))
    return g.model(g.op("Neg", g.op("ConcatFromSequence", more, axis=0)))


def texts() -> ModelProto:
    g = Graph()
    x = g.op("Relu", g.input("x", (3,)))
    text = g.op("Cast", x, to=TensorProto.STRING)
    return g.model(g.op("Exp", g.op("Cast", text, to=FLOAT)))


def other_ways_of_loops() -> ModelProto:
    """A Scan, whose shapes inference knows, and what may or may not be there."""
    g = Graph(opset=18)
    info = helper.make_tensor_value_info
    body = helper.make_graph(
        [helper.make_node("Add", ["s", "e"], ["t"]), helper.make_node("Identity", ["t"], ["o"])],
        "body",
        [info("s", FLOAT, [3]), info("e", FLOAT, [3])],
        [info("t", FLOAT, [3]), info("o", FLOAT, [3])],
    )
    x, start = g.op("Relu", g.input("x", (4, 3))), g.op("Neg", g.input("start", (3,)))
    last, every = g.ops("Scan", start, x, outputs=2, body=body, num_scan_inputs=1)
    maybe = g.op("OptionalGetElement", g.op("Optional", every))
    return g.model(g.op("Exp", last), g.op("Neg", maybe))


def sequences_that_wait() -> ModelProto:
    """One is made before NNAPI has its turn, and read after it: both are in one part."""
    g = Graph()
    x = g.op("Relu", g.input("x", (4, 3)))
    rows = g.op("SequenceConstruct", x)
    late = g.op("Neg", g.op("Atan", x))
    return g.model(g.op("ConcatFromSequence", g.op("SequenceInsert", rows, late), axis=0))


def out_of_order() -> ModelProto:
    g = Graph()
    y = g.op("Neg", g.op("Atan", g.op("Relu", g.input("x", (2, 3)))))
    g.nodes.reverse()
    return helper.make_model(
        helper.make_graph(
            g.nodes, "model", g.inputs, [helper.make_tensor_value_info(y, FLOAT, [2, 3])]
        ),
        ir_version=8,
        opset_imports=[helper.make_opsetid("", 17)],
    )


ENDED: dict[str, Callable[[], ModelProto]] = {
    each.__name__: each
    for each in (
        threshold_of_an_image,
        normalised_by_groups,
        normalised_by_mean_and_variance,
        places_of_what_is_not_zero,
        boxes_that_stay,
        sequences,
        texts,
        other_ways_of_loops,
        sequences_that_wait,
        out_of_order,
    )
}


@pytest.mark.parametrize("name", ENDED)
@pytest.mark.parametrize("seed", [0, 1])
def test_what_can_not_be_expressed_runs_on_the_host(name: str, seed: int, tmp_path: Path) -> None:
    conversion, path = read(ENDED[name](), tmp_path)
    assert "NNAPI" in sides(conversion)
    assert problems(conversion, path, seed) == []


def test_what_lies_between_is_the_hosts_too(tmp_path: Path) -> None:
    """NNAPI could run the Exp, but the text before and behind it can't cross."""
    g = Graph(opset=19)
    x = g.op("Relu", g.input("x", (3,)))
    text = g.op("Cast", x, to=TensorProto.STRING)
    power = g.op("Exp", g.op("Cast", text, to=FLOAT))
    same = g.op("Equal", text, g.op("Cast", power, to=TensorProto.STRING))
    conversion, path = read(g.model(same, g.op("Neg", power)), tmp_path)
    assert sides(conversion) == ["NNAPI", "host", "NNAPI"]
    assert "3 Exp 'Exp_4': it lies between operators that 'Cast_2' ties together" in reasons(
        conversion
    )
    assert problems(conversion, path) == []


def test_what_is_behind_an_unknown_shape_says_so(tmp_path: Path) -> None:
    conversion, _ = read(places_of_what_is_not_zero(), tmp_path)
    assert [info.is_open for info in conversion.outputs] == [True, True, False, False]
    assert "4 Exp 'Exp_5': 'GatherND_4' has no shape that is known before it runs" in reasons(
        conversion
    )


def test_a_model_in_parts_is_measured(tmp_path: Path) -> None:
    """With outputs of shapes that are known when it has run, and one that NNAPI runs nothing of."""
    g = Graph()
    nothing = g.model(g.op("NonZero", g.input("x", (3, 4))))
    for model, parts in ((places_of_what_is_not_zero(), 2), (nothing, 1)):
        path = tmp_path / f"{parts}.onnx"
        path.write_bytes(model.SerializeToString())
        benchmark_model = FileModel(path)
        with open_device("host") as device:
            engine = HalyardDevice(device, Target.in_process(), pb.RunOptions())
            measurement = measure(engine, benchmark_model, count=2)
        assert measurement.problems == []
        assert measurement.result.partitions == parts
        assert len(measurement.differences or []) == len(benchmark_model.conversion.outputs)


def test_the_command_runs_what_nnapi_runs_nothing_of(tmp_path: Path) -> None:
    g = Graph()
    _, path = read(g.model(g.op("NonZero", g.input("x", (3, 4)))), tmp_path)
    document = tmp_path / "run.json"
    words = ["run", str(path), "--device", "host", "--json", str(document)]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    assert "(1 NonZero)" in " ".join(done.output.split())
    assert "with ONNX Runtime: NonZero_1: max error 0" in done.output
    assert document.is_file()


# ---- graphs inside ------------------------------------------------------------------------------


def branch(name: str, output: str, *nodes: Any, initializers: Sequence[Any] = ()) -> GraphProto:
    outputs = [helper.make_empty_tensor_value_info(output)]
    return helper.make_graph(list(nodes), name, [], outputs, list(initializers))


def squeezed_if(length: int) -> ModelProto:
    """As exporters write what PyTorch squeezes: the condition is of a shape that is known."""
    g = Graph(12)
    c = g.op("Conv", g.input("x", (1, 3, 8, 8)), g.weights(4, 3, 3, 3))
    f = g.op("Flatten", g.op("GlobalAveragePool", g.op("Relu", c)))
    p = g.op("Unsqueeze", f, g.ints(1))
    axis = g.ints(1)
    size = g.op("Gather", g.op("Shape", p), g.constant(1, "i8"))
    condition = g.op("Equal", size, g.constant(length, "i8"))
    factor = numpy_helper.from_array(np.array([2, 3, 4, 5], "f4"), "factor")
    then = branch(
        "then",
        "out",
        helper.make_node("Squeeze", [p, axis], ["inner"]),
        helper.make_node("Mul", ["inner", "factor"], ["out"]),
        initializers=[factor],
    )
    same = branch("else", "out", helper.make_node("Identity", [p], ["out"]))
    y = g.op("If", condition, then_branch=then, else_branch=same)
    return g.model(g.op("MatMul", y, g.weights(4, 5)))


@pytest.mark.parametrize("length", [1, 2])
def test_a_branch_stands_for_an_if_of_a_known_condition(length: int, tmp_path: Path) -> None:
    conversion, path = read(squeezed_if(length), tmp_path)
    assert reasons(conversion) == []
    assert sides(conversion) == ["NNAPI"]
    assert problems(conversion, path) == []


def test_branches_in_branches_keep_their_names_apart(tmp_path: Path) -> None:
    """Both use the same names, and the inner one reads what the outer one computes."""
    g = Graph()
    x = g.op("Relu", g.input("x", (2, 3)))
    yes = g.op("Equal", g.op("Size", x), g.constant(6, "i8"))
    deepest = branch("deepest", "t", helper.make_node("Atan", ["s"], ["t"], name="deep"))
    outer = branch(
        "outer",
        "u",
        helper.make_node("Neg", [x], ["s"]),
        helper.make_node("If", [yes], ["u"], then_branch=deepest, else_branch=deepest),
    )
    first = g.op("If", yes, then_branch=outer, else_branch=outer)
    second = g.op("If", yes, then_branch=outer, else_branch=outer)
    conversion, path = read(g.model(g.op("Add", first, second)), tmp_path)
    assert reasons(conversion) == [
        f"{place}.then_branch.1.then_branch.0 Atan '{name}': "
        "NNAPI has no operation for it, and none is composed"
        for place, name in ((3, "deep"), (4, "deep/1"))
    ]
    assert problems(conversion, path) == []


def chosen_while_it_runs() -> ModelProto:
    g = Graph()
    x = g.op("Relu", g.input("x", (2, 3)))
    k = g.constant([1, 2, 3])
    then = branch("then", "a", helper.make_node("Add", [x, k], ["a"]))
    other = branch("else", "b", helper.make_node("Neg", [x], ["b"]))
    y = g.op("If", g.input("flag", (), BOOL), then_branch=then, else_branch=other)
    return g.model(g.op("Exp", y))


def repeated() -> ModelProto:
    """A Loop whose body reads a value around it."""
    g = Graph()
    x = g.op("Tanh", g.input("x", (2, 3)))
    info = helper.make_tensor_value_info
    body = helper.make_graph(
        [
            helper.make_node("Add", ["v", x], ["w"]),
            helper.make_node("Identity", ["go"], ["on"]),
        ],
        "body",
        [info("i", INT64, []), info("go", BOOL, []), info("v", FLOAT, [2, 3])],
        [info("on", BOOL, []), info("w", FLOAT, [2, 3])],
    )
    y = g.op("Loop", g.constant(3, "i8"), g.constant(True, "?"), x, body=body)
    return g.model(g.op("Neg", y))


@pytest.mark.parametrize(
    ("model", "parts"),
    [
        (chosen_while_it_runs, ["NNAPI", "host", "NNAPI"]),
        # A Loop's carried values may have another shape each time.
        (repeated, ["NNAPI", "host"]),
    ],
)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_graphs_that_read_around_themselves_run_on_the_host(
    model: Callable[[], ModelProto], parts: Sequence[str], seed: int, tmp_path: Path
) -> None:
    conversion, path = read(model(), tmp_path)
    assert sides(conversion) == parts
    assert problems(conversion, path, seed) == []


# ---- what files declare -------------------------------------------------------------------------


def test_an_output_may_have_no_shape_and_no_type(tmp_path: Path) -> None:
    g = Graph()
    x = g.op("Relu", g.input("x", (3,)))
    model = g.model(x, g.op("Exp", x))
    declared(model).type.tensor_type.ClearField("shape")
    declared(model, 1).ClearField("type")
    conversion, path = read(model, tmp_path)
    assert [info.shape for info in conversion.outputs] == [(3,), (3,)]
    assert problems(conversion, path) == []


def test_a_declared_shape_counts_where_inference_knows_less(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an operator that onnx has no schema for."""
    g = Graph()
    g.domains["com.microsoft"] = 1
    x = g.op("Relu", g.input("x", (2, 3)))
    g.nodes.append(helper.make_node("SampleOp", [x], ["y"], domain="com.microsoft"))
    model = g.model(g.op("Exp", "y"))
    bare = ModelProto()
    bare.CopyFrom(model)
    model.graph.value_info.append(helper.make_tensor_value_info("y", FLOAT, [2, 3]))
    declared(model).CopyFrom(helper.make_tensor_value_info(declared(model).name, FLOAT, [2, 3]))
    conversion, path = read(model, tmp_path)
    assert sides(conversion) == ["NNAPI", "host", "NNAPI"]
    assert problems(conversion, path) == []
    # Without it ONNX Runtime is asked.
    declared(bare).ClearField("type")
    conversion, path = read(bare, tmp_path)
    assert sides(conversion) == ["NNAPI", "host", "NNAPI"]
    assert problems(conversion, path) == []
    # Where that is not there all behind it is the host's.
    declared(bare).CopyFrom(helper.make_tensor_value_info(declared(bare).name, FLOAT, [2, 3]))
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "onnxruntime", None)
        conversion, path = read(bare, tmp_path)
    assert sides(conversion) == ["NNAPI", "host"]
    assert problems(conversion, path) == []


@pytest.mark.parametrize("shape", [(1, 3), (1, "seqlen"), (7,), (2, 3, 1)])
def test_a_declared_shape_that_is_not_so_does_not_count(
    shape: Sequence[int | str], tmp_path: Path
) -> None:
    """Inference knows better; and so it does behind an operator that it does not know."""
    g = Graph()
    g.domains["com.microsoft"] = 1
    x = g.op("Relu", g.input("x", (2, 3)))
    g.nodes.append(helper.make_node("SampleOp", [x], ["y"], domain="com.microsoft"))
    z = g.op("Add", x, g.op("Reshape", "y", g.ints(2, 3)))
    model = g.model(g.op("Tanh", z))
    for name in (x, "y"):
        model.graph.value_info.append(helper.make_tensor_value_info(name, FLOAT, list(shape)))
    declared(model).CopyFrom(helper.make_tensor_value_info(declared(model).name, FLOAT, [2, 3]))
    conversion, path = read(model, tmp_path)
    assert problems(conversion, path) == []


def test_a_declared_shape_that_is_not_so_is_not_asked_for(tmp_path: Path) -> None:
    """Of a value that goes from one host part to another, where no other part knows it."""
    g = Graph()
    x = g.op("Relu", g.input("x", (2, 3)))
    info = helper.make_tensor_value_info
    body = helper.make_graph(
        [helper.make_node("Add", ["v", x], ["w"]), helper.make_node("Identity", ["go"], ["on"])],
        "body",
        [info("i", INT64, []), info("go", BOOL, []), info("v", FLOAT, [2, 3])],
        [info("on", BOOL, []), info("w", FLOAT, [2, 3])],
    )
    y = g.op("Loop", g.constant(3, "i8"), g.constant(True, "?"), x, body=body)
    z = g.op("Neg", g.op("Atan", x))
    model = g.model(g.op("Einsum", y, z, equation="ij,kl->"))
    model.graph.value_info.append(info(y, FLOAT, [7, 3]))
    conversion, path = read(model, tmp_path)
    assert sides(conversion) == ["NNAPI", "host", "NNAPI", "host"]
    [given] = inputs_for(conversion.inputs)
    [[wanted], [found]] = original(path, [given]), converted(conversion, [given])
    assert np.allclose(found, wanted, rtol=1e-4, atol=1e-4)


# ---- what only preparing finds ------------------------------------------------------------------


def powers() -> ModelProto:
    """An exponent of more dimensions than the base has."""
    g = Graph()
    x = g.op("Abs", g.input("x", (4,)))
    return g.model(g.op("Pow", x, g.constant([[2]])), g.op("Pow", x, g.constant(3, "i8")))


def sums_of_five_dimensions() -> ModelProto:
    g = Graph()
    x = g.op("Reshape", g.input("x", (120,)), g.ints(1, 2, 3, 4, 5))
    return g.model(g.op("Exp", g.op("ReduceSum", x, g.ints(0), keepdims=0)))


def pooled_to_the_end() -> ModelProto:
    """The last window would begin behind the image."""
    g = Graph()
    x = g.op("Relu", g.input("x", (1, 2, 5, 5)))
    window = {"kernel_shape": [2, 2], "strides": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": 1}
    model = g.model(g.op("MaxPool", x, **window), g.op("AveragePool", x, **window))
    for output in model.graph.output:
        output.CopyFrom(helper.make_tensor_value_info(output.name, FLOAT, [1, 2, 3, 3]))
    return model


def products_of_ranks() -> ModelProto:
    g = Graph()
    x = g.op("Relu", g.input("x", (1, 2, 3, 4)))
    return g.model(g.op("MatMul", x, g.input("y", (4, 5))))


@pytest.mark.parametrize(
    "model", [powers, sums_of_five_dimensions, pooled_to_the_end, products_of_ranks]
)
def test_what_does_not_prepare_is_the_hosts(
    model: Callable[[], ModelProto], tmp_path: Path
) -> None:
    conversion, path = read(model(), tmp_path)
    assert problems(conversion, path) == []


def test_a_mapping_that_is_wrong_is_the_hosts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the driver does not prepare, all at once and with its reasons."""

    def wrong(mapper: Mapper, node: Node) -> None:
        source = mapper.operand(node.input(0))
        made = TensorType(pb.OPERAND_TYPE_TENSOR_FLOAT32, (1, 7))
        index = mapper.builder.operation(pb.OPERATION_TYPE_TANH, [source], "wrong", made)
        mapper.hold(node.outputs[0], PLAIN, index)

    monkeypatch.setitem(OPERATORS, "Tanh", replace(OPERATORS["Tanh"], handler=wrong))
    g = Graph()
    x = g.op("Relu", g.input("x", (2, 3)))
    conversion, path = read(g.model(g.op("Exp", g.op("Tanh", x)), g.op("Tanh", "x")), tmp_path)
    start = "NNAPI's TANH: output 0: shape "
    assert [each.partition("contradicts")[0] for each in reasons(conversion)] == [
        f"1 Tanh 'Tanh_2': {start}[1, 7] ",
        f"3 Tanh 'Tanh_4': {start}[1, 7] ",
    ]
    assert problems(conversion, path) == []


@pytest.mark.parametrize("operator", ["Erf", "Gelu"])
def test_of_zero_in_float16_is_zero(operator: str, tmp_path: Path) -> None:
    g = Graph(opset=20)
    conversion, _ = read(g.model(g.op(operator, g.input("x", (3,), HALF))), tmp_path)
    assert reasons(conversion) == []
    [found] = converted(conversion, [np.array([0, -0.0, 4], "f2")])
    assert found[:2].tolist() == [0, 0]
    assert abs(found[2] - (1 if operator == "Erf" else 4)) < 0.01
