# SPDX-License-Identifier: Apache-2.0
"""One model on two sides: what is said of their outputs, and which layer is named."""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from halyard import onnx, tflite
from halyard.benchmark_model import BenchmarkModel
from halyard.cli.program import cli
from halyard.comparison.agreement_statistics import Limits
from halyard.comparison.choice import choose
from halyard.comparison.comparison import Inputs, Settings, compare_sides
from halyard.comparison.layers import Verdict, compare_layers, intermediates
from halyard.comparison.opening import Sides
from halyard.comparison.side import Answer, Side
from halyard.comparison.torch_side import TorchSide
from halyard.engines.engine import EngineRefused
from halyard.engines.workload import Workload
from halyard.errors import ConfigError, DeviceError
from halyard.model import (
    Conversion,
    DataType,
    ModelBuilder,
    NnapiPart,
    RunnableModel,
    Source,
    TensorType,
)
from halyard.model.exposure import exposed, temporaries
from halyard.proto import halyard_pb2 as pb
from halyard.records import decode
from halyard.records.compare import Compare
from tests.harness.own_backends import own_backends

_FLOATS = TensorType(pb.OPERAND_TYPE_TENSOR_FLOAT32, (2, 3))
# Of the zoo's smallest: its first ADD is its fourth operation.
_MODEL = ["--model", "mobilenet_v2", "--size", "32", "--width", "0.1"]


def chain(names: Sequence[str] = ("negated", "sum", "relu", "out")) -> RunnableModel:
    """-x + x, halved twice: four operations that read one another."""
    builder = ModelBuilder("chain")
    x = builder.input("x", _FLOATS)
    half = builder.numbers("half", np.full((2, 3), 0.5, np.float32))
    none = builder.int32(0)
    operations = (pb.OPERATION_TYPE_MUL, pb.OPERATION_TYPE_ADD, pb.OPERATION_TYPE_MUL)
    value = x
    for operation, name in zip((*operations, pb.OPERATION_TYPE_ADD), names, strict=True):
        value = builder.operation(operation, [value, half, none], name, _FLOATS)
    return RunnableModel.of(builder.build([value]))


@pytest.fixture
def reference() -> Iterator[Side]:
    with Sides() as sides:
        yield sides.open(choose("CpuRef"))


@pytest.fixture
def wrong_add(tmp_path: Path) -> Path:
    return own_backends("wrong_add", tmp_path)


class Spoiled(Side):
    """Another side with what `spoil` makes of its answers."""

    name, version = "Spoiled", ""

    def __init__(self, side: Side, most_outputs: int = 1000, wrong: Sequence[str] = ()) -> None:
        self._side = side
        self._most = most_outputs
        self._wrong = wrong
        self.asked: list[list[str]] = []

    def run(self, works: Sequence[Workload]) -> list[Answer]:
        return [self._spoiled(*each) for each in zip(works, self._side.run(works), strict=True)]

    def _spoiled(self, work: Workload, answer: Answer) -> Answer:
        names = [info.name for info in work.model.outputs]
        self.asked.append(names)
        if len(names) > self._most:
            return Answer(reason=f"no more than {self._most} outputs")
        assert answer.outputs is not None, answer.reason
        return Answer(
            [
                values + 1 if name in self._wrong else values
                for name, values in zip(names, answer.outputs, strict=True)
            ]
        )


# ---- models -------------------------------------------------------------------------------------


def test_temporaries_become_outputs_behind_the_models_own() -> None:
    model = chain().model
    made = exposed(model, temporaries(model))
    names = [made.main.operands[index].name for index in made.main.output_indexes]
    assert names == ["out", "negated", "sum", "relu"]
    assert not temporaries(made)
    assert len(temporaries(model)) == 3, "the model itself stays as it was"


def test_only_a_temporary_is_made_an_output() -> None:
    model = chain().model
    with pytest.raises(ValueError, match="operand 0 is no temporary"):
        exposed(model, model.main.input_indexes)


def test_a_side_that_refuses_so_many_outputs_is_asked_for_fewer(reference: Side) -> None:
    runnable = chain()
    inputs = runnable.input_arrays(0)
    all_at_once = intermediates(reference, runnable, inputs)
    side = Spoiled(reference, most_outputs=2)
    found = intermediates(side, runnable, inputs)
    assert not found.reasons
    assert found.values.keys() == all_at_once.values.keys()
    for index, values in found.values.items():
        np.testing.assert_array_equal(values, all_at_once.values[index])
    assert found.requests > 1


def test_what_no_model_gives_is_told_by_tensor(reference: Side) -> None:
    runnable = chain()
    side = Spoiled(reference, most_outputs=1)
    found = intermediates(side, runnable, runnable.input_arrays(0))
    assert set(found.reasons.values()) == {"Spoiled: no more than 1 outputs"}
    layers = compare_layers(runnable, runnable.input_arrays(0), reference, side)
    assert [each.verdict for each in layers.layers[:3]] == [Verdict.UNKNOWN] * 3
    assert layers.layers[0].reason == "Spoiled: no more than 1 outputs"


# ---- layers -------------------------------------------------------------------------------------


def test_the_layer_whose_inputs_are_right_is_named(reference: Side) -> None:
    """And what reads it, though off as well, is not."""
    runnable = chain()
    side = Spoiled(reference, wrong=["sum", "relu", "out"])
    layers = compare_layers(runnable, runnable.input_arrays(0), reference, side)
    assert layers.first is not None
    assert (layers.first.operation, layers.first.tensor) == (1, "sum")
    assert [each.verdict for each in layers.layers[2:]] == [Verdict.INHERITS] * 2


def test_a_layer_is_isolated_on_the_reference_sides_inputs(reference: Side) -> None:
    """A layer behind a wrong one is off in the whole model, and right by itself; another one behind
    that is wrong itself."""
    runnable = chain()
    side = Spoiled(reference, wrong=["negated", "relu"])
    layers = compare_layers(runnable, runnable.input_arrays(0), reference, side, isolate=True)
    assert [str(each.verdict) for each in layers.layers] == [
        "diverges",
        "agrees",
        "diverges",
        "agrees",
    ]
    isolated = [each.isolated for each in layers.layers]
    assert [each is not None and each.max_abs_error > 0.5 for each in isolated] == [
        True,
        False,
        True,
        False,
    ]
    assert side.asked[-4:] == [["negated"], ["sum"], ["relu"], ["out"]]


def test_sides_that_agree_have_no_diverging_layer(reference: Side) -> None:
    runnable = chain()
    layers = compare_layers(runnable, runnable.input_arrays(0), reference, reference, isolate=True)
    assert layers.first is None
    assert {each.verdict for each in layers.layers} == {Verdict.AGREES}


def test_what_only_the_whole_model_gets_wrong_is_said_to_lie_in_fusions(reference: Side) -> None:
    """The layers of this side are right: it spoils a model that has a single output."""
    runnable = chain()

    class WrongWhole(Spoiled):
        def _spoiled(self, work: Workload, answer: Answer) -> Answer:
            found = super()._spoiled(work, answer)
            whole = len(work.model.model.main.operations) > 1 and len(work.model.outputs) == 1
            assert found.outputs is not None
            return Answer([values + 1 for values in found.outputs]) if whole else found

    found = compare_sides(
        runnable,
        reference,
        WrongWhole(reference),
        [Inputs("seed 0", runnable.input_arrays(0))],
        Settings(isolate=True),
    )
    assert not found.ok
    assert found.layers is not None
    assert found.layers.first is None
    assert "fused operations or passes" in found.notes[-1]


# ---- the command --------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--layers", "--isolate"])
def test_names_the_first_layer_that_a_broken_kernel_computes(
    option: str, wrong_add: Path, tmp_path: Path
) -> None:
    path = tmp_path / "compare.json"
    words = ["compare", "CpuRef", "Wrong", "--backend-dir", str(wrong_add), *_MODEL, option]
    done = CliRunner().invoke(cli, [*words, "--json", str(path)])
    assert done.exit_code == 1, done.output
    assert "the first layer that diverges is operation 3 (ADD) 'add_1', on Wrong" in done.output
    [document] = decode(path.read_bytes(), Compare)
    assert document.layers is not None
    assert document.layers.first_diverging == 3
    model = BenchmarkModel.of_zoo("mobilenet_v2", DataType.FLOAT32, 32, 0.1).runnable.model
    sums = [
        number
        for number, operation in enumerate(model.main.operations)
        if operation.type == pb.OPERATION_TYPE_ADD
    ]
    wrong = [each.operation for each in document.layers.layers if each.verdict == "diverges"]
    assert wrong == (sums if option == "--isolate" else sums[:1])
    assert {document.layers.layers[number].backend for number in sums} == {"Wrong"}
    heirs = {each.operation for each in document.layers.layers if each.verdict == "inherits"}
    assert heirs >= set(range(sums[0] + 1, sums[1])), "what reads it is off, and is not to blame"


def test_two_backends_that_agree_exit_with_0() -> None:
    words = ["compare", "CpuRef", "CpuAcc:features=sse4", *_MODEL, "--seeds", "2"]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    assert "seed 1" in done.output
    assert "within limits" in done.output


@pytest.mark.parametrize("library", ["litert", "onnxruntime"])
def test_a_library_is_a_side_and_tells_its_layers(library: str) -> None:
    package = {"litert": "ai_edge_litert", "onnxruntime": "onnxruntime"}[library]
    pytest.importorskip(package)
    done = CliRunner().invoke(cli, ["compare", library, "CpuAcc", *_MODEL, "--isolate"])
    assert done.exit_code == 0, done.output
    assert "no layer diverges" in done.output


@pytest.mark.parametrize("library", ["litert", "onnxruntime"])
def test_a_file_runs_as_it_is_in_its_own_engine(
    library: str, wrong_add: Path, tmp_path: Path
) -> None:
    """Its tensors are those of the file, found by their names."""
    package = {"litert": "ai_edge_litert", "onnxruntime": "onnxruntime"}[library]
    pytest.importorskip(package)
    model = BenchmarkModel.of_zoo("mobilenet_v2", DataType.FLOAT32, 32, 0.1).runnable.model
    room, name = (tflite, "model.tflite") if library == "litert" else (onnx, "model.onnx")
    path = tmp_path / name
    path.write_bytes(room.write(model))
    done = CliRunner().invoke(cli, ["compare", library, "CpuAcc", str(path), "--isolate"])
    assert done.exit_code == 0, done.output
    assert f"{name} as it is" in done.output
    assert "no layer diverges" in done.output
    document = tmp_path / "compare.json"
    words = ["compare", library, "Wrong", "--backend-dir", str(wrong_add), str(path), "--isolate"]
    done = CliRunner().invoke(cli, [*words, "--json", str(document)])
    assert done.exit_code == 1
    [found] = decode(document.read_bytes(), Compare)
    assert found.layers is not None
    first = next(each for each in found.layers.layers if "(ADD)" in each.label)
    assert found.layers.first_diverging == first.operation
    compared = [each for each in found.layers.layers if each.chained is not None]
    assert len(compared) > 0.8 * len(found.layers.layers)


@pytest.mark.parametrize("option", [[], ["--layers"]])
def test_a_backend_that_ran_nothing_gave_no_answer(option: list[str]) -> None:
    """Another one has, which agrees with itself."""
    done = CliRunner().invoke(cli, ["compare", "CpuRef", "GpuAcc", *_MODEL, *option])
    assert done.exit_code == 1, done.output
    said = "GpuAcc gave nothing: GpuAcc is not in this build of the driver, or not on this machine"
    assert said in " ".join(done.output.split())
    assert done.output.splitlines()[-1] == "not compared: a side gave nothing"


@pytest.mark.parametrize(
    ("text", "meant"),
    [("Cpuacc", "CpuAcc"), ("cpuref:threads=1", "CpuRef"), ("litrt", "litert"), ("0A1B2C", None)],
)
def test_a_side_that_is_no_device_may_be_meant_for_a_backend(text: str, meant: str | None) -> None:
    done = CliRunner().invoke(cli, ["compare", "CpuRef", text, *_MODEL])
    assert done.exit_code == 2
    found = re.search(r"did you mean (\w+)\?", done.output)
    assert (found[1] if found else None) == meant


def test_limits_decide(tmp_path: Path) -> None:
    words = ["compare", "CpuRef", "CpuAcc", *_MODEL]
    assert CliRunner().invoke(cli, [*words, "--min-snr", "60"]).exit_code == 0
    done = CliRunner().invoke(cli, [*words, "--min-snr", "200"])
    assert done.exit_code == 1
    assert "dB, less than 200" in done.output
    assert CliRunner().invoke(cli, [*words, "--max-error", "0"]).exit_code == 1


def test_inputs_come_from_files(tmp_path: Path) -> None:
    values = np.zeros((1, 32, 32, 3), np.float32)
    np.save(tmp_path / "zeros.npy", values)
    (tmp_path / "zeros.raw").write_bytes(values.tobytes())
    for name in ("zeros.npy", "zeros.raw"):
        done = CliRunner().invoke(
            cli, ["compare", "CpuRef", "CpuAcc", *_MODEL, "--input", str(tmp_path / name)]
        )
        assert done.exit_code == 0, done.output
        assert name in done.output
    (tmp_path / "short.raw").write_bytes(b"1234")
    words = ["compare", "CpuRef", "CpuAcc", *_MODEL, "--input", str(tmp_path / "short.raw")]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 1
    assert "short.raw has 4 bytes, not 12288" in done.output


def test_a_plot_is_drawn(wrong_add: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "errors.svg"
    words = ["compare", "CpuRef", "Wrong", "--backend-dir", str(wrong_add), *_MODEL, "--layers"]
    CliRunner().invoke(cli, [*words, "--plot", str(path)])
    text = path.read_text()
    assert "<svg" in text
    assert ">3 ADD</text>" in text


def test_a_plot_wants_layers(tmp_path: Path) -> None:
    words = ["compare", "CpuRef", "CpuAcc", "--plot", str(tmp_path / "p.svg")]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 2
    assert "add --layers or --isolate" in done.output


class FakeTorch:
    """As much of PyTorch as a script needs: one that doubles, with channels before the image."""

    __version__ = "9.9"

    class Tensor:
        is_quantized = False

        def __init__(self, values: np.ndarray) -> None:
            self.values = values

        def numpy(self) -> np.ndarray:
            return self.values

    class no_grad:  # noqa: N801
        def __enter__(self) -> None: ...
        def __exit__(self, *_: object) -> None: ...

    class jit:  # noqa: N801
        @staticmethod
        def load(path: str, map_location: str) -> "FakeTorch.jit":
            if Path(path).read_bytes() != b"script":
                raise RuntimeError("no script")
            return FakeTorch.jit()

        def eval(self) -> "FakeTorch.jit":
            return self

        def __call__(self, x: "FakeTorch.Tensor") -> "FakeTorch.Tensor":
            if x.values.shape != (1, 3, 4, 5):
                raise RuntimeError(f"not {x.values.shape}")
            return FakeTorch.Tensor(2 * x.values)

    from_numpy = Tensor


def test_a_script_of_pytorch_has_its_own_order_of_axes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, reference: Side
) -> None:
    monkeypatch.setitem(sys.modules, "torch", FakeTorch)
    builder = ModelBuilder("double")
    image = TensorType(pb.OPERAND_TYPE_TENSOR_FLOAT32, (1, 4, 5, 3))
    x = builder.input("x", image)
    out = builder.operation(pb.OPERATION_TYPE_ADD, [x, x, builder.int32(0)], "out", image)
    runnable = RunnableModel.of(builder.build([out]))
    model, moved = runnable.model, (0, 2, 3, 1)
    ends = dict.fromkeys((*model.main.input_indexes, *model.main.output_indexes), moved)
    part = NnapiPart(model, ("x",), ("out",), {}, ends)
    conversion = Conversion(Source(tmp_path, "PyTorch NNAPI"), model, [part], (), ())
    path = tmp_path / "model.pt"
    path.write_bytes(b"script")
    inputs = [Inputs("seed 0", runnable.input_arrays(0))]
    side = TorchSide("torch", path, runnable, conversion)
    found = compare_sides(runnable, side, reference, inputs, Settings(isolate=True))
    assert found.ok, found.problems
    assert found.a.version == "PyTorch 9.9, model.pt"
    assert found.layers is not None
    assert found.layers.layers[0].verdict is Verdict.AGREES
    plain = TorchSide("torch", path, runnable, None)
    [problem] = compare_sides(runnable, plain, reference, inputs).problems
    assert "PyTorch can't run model.pt on these inputs: not (1, 4, 5, 3)" in problem
    path.write_bytes(b"rubbish")
    with pytest.raises(EngineRefused, match="PyTorch does not load it"):
        TorchSide("torch", path, runnable, None)


# ---- names of sides -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "device", "hal", "instance", "backends"),
    [
        ("CpuRef", "host", "", "", ("CpuRef",)),
        ("CpuAcc:features=avx2,CpuRef", "host", "", "", ("CpuAcc:features=avx2", "CpuRef")),
        ("host", "host", "", "", ()),
        ("vm", "vm", "", "", ()),
        ("vm:aidl4", "vm", "aidl4", "", ()),
        ("vm:1.2:backends=CpuAcc+CpuRef", "vm", "1.2", "", ("CpuAcc", "CpuRef")),
        ("0A1B:instance=vendor-accel", "0A1B", "", "vendor-accel", ()),
        ("10.0.0.7:5555:aidl", "10.0.0.7:5555", "aidl", "", ()),
        ("instance=vendor-accel", "", "", "vendor-accel", ()),
    ],
)
def test_a_side_is_named_in_a_word(
    text: str, device: str, hal: str, instance: str, backends: tuple[str, ...]
) -> None:
    side = choose(text)
    assert (side.device, side.hal.text, side.instance, side.backends) == (
        device,
        hal,
        instance,
        backends,
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is no side"),
        ("host:instance=x", "the host has no services"),
        ("vm:instance=x:backends=CpuRef", "has its own backends"),
        ("vm:1.0..1.3", "one HAL version"),
        ("vm:instance=a b", "is no name of a service"),
        ("a/b", "is no device"),
        ("torch=/nowhere.pt", "there is no file"),
    ],
)
def test_refuses_what_names_no_side(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        choose(text)


def test_a_device_that_is_gone_is_no_answer(reference: Side) -> None:
    class Gone(Spoiled):
        def run(self, works: Sequence[Workload]) -> list[Answer]:
            raise DeviceError("it is gone", serial="X")

    with pytest.raises(DeviceError):
        compare_sides(
            chain(), reference, Gone(reference), [Inputs("seed 0", chain().input_arrays(0))]
        )


def test_limits_that_are_not_set_are_those_of_the_type() -> None:
    assert not Limits().are_set
    assert Limits(max_steps=0).are_set
