# SPDX-License-Identifier: Apache-2.0
"""Golden cases that are made of a checkout's specs, and where they are looked for."""

import dataclasses
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from halyard import golden_folder, specs
from halyard.cases import Case, golden, golden_writing
from halyard.conformance.suite import Suite
from halyard.errors import ConfigError
from halyard.programs import native
from halyard.proto import halyard_pb2 as pb
from tests import goldens

ROOT = Path(__file__).parents[2]
OWN = ROOT / "tests" / "specs"

ADDITION = """
x = Input("x", ("TENSOR_FLOAT32", [2]))
y = Output("y", ("TENSOR_FLOAT32", [2]))
Model().Operation("ADD", x, [10.0, 20.0], 0).To(y)
Example({x: [1.0, 2.0], y: [11.0, 22.0]}).AddVariations("relaxed")
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Specs of three versions, arranged as in AOSP."""
    folder = tmp_path / "NeuralNetworks"
    for version in ("V1_0", "V1_3_cts_only", "AIDL_V2"):
        path = folder / "runtime" / "test" / "specs" / version / f"add_{version.lower()}.mod.py"
        path.parent.mkdir(parents=True)
        path.write_text(ADDITION)
    return folder


def spec(checkout: Path, name: str, text: str) -> None:
    (checkout / "runtime" / "test" / "specs" / name).write_text(text)


def make(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.goldens", *words], cwd=ROOT, capture_output=True, text=True
    )


# ---- making -------------------------------------------------------------------------------------


def test_every_spec_of_a_checkout_becomes_a_file_of_golden_cases(
    checkout: Path, tmp_path: Path
) -> None:
    done = make(checkout, tmp_path / "made")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("6 golden cases of 3 specs in ")
    found = {case.name: case.hal_version for case in golden.load(tmp_path / "made")}
    assert found == {
        "add_v1_0": pb.HAL_VERSION_1_0,
        "add_v1_0_relaxed": pb.HAL_VERSION_1_1,
        "add_v1_3_cts_only": pb.HAL_VERSION_1_3,
        "add_v1_3_cts_only_relaxed": pb.HAL_VERSION_1_3,
        "add_aidl_v2": pb.HAL_VERSION_AIDL_2,
        "add_aidl_v2_relaxed": pb.HAL_VERSION_AIDL_2,
    }
    suite = Suite.open(tmp_path / "made")
    assert "add_v1_0_all_inputs_as_internal" in suite.derived({"ADD"})


@pytest.mark.parametrize("inner", ["packages/modules/NeuralNetworks", "frameworks/ml/nn"])
def test_an_android_tree_and_the_folder_of_specs_are_checkouts_too(
    checkout: Path, tmp_path: Path, inner: str
) -> None:
    tree = tmp_path / "android"
    (tree / inner).parent.mkdir(parents=True)
    shutil.move(checkout, tree / inner)
    folder = tree / inner / "runtime" / "test" / "specs"
    assert goldens.spec_folder(tree) == folder
    assert goldens.spec_folder(folder) == folder


def test_a_spec_that_cannot_be_read_is_told_and_the_others_go_on(
    checkout: Path, tmp_path: Path
) -> None:
    spec(checkout, "V1_0/mistyped.mod.py", '\nx = Input("x", ("TENSOR_FLOAT99", [2]))\n')
    spec(checkout, "AIDL_V2/broken.mod.py", "def\n")
    done = make(checkout, tmp_path / "made")
    assert done.returncode == 1
    assert "mistyped.mod.py:2: no operand type 'TENSOR_FLOAT99'" in done.stderr
    assert "broken.mod.py:1: SyntaxError" in done.stderr
    assert done.stderr.endswith("2 specs could not be read\n")
    assert done.stdout.startswith("6 golden cases of 3 specs")
    assert len(golden.load(tmp_path / "made")) == 6


@pytest.mark.parametrize(
    ("folder", "message"),
    [("nowhere", "is no folder"), ("empty", "is no checkout of"), ("bare", "is no checkout of")],
)
def test_a_folder_that_is_no_checkout_is_refused(tmp_path: Path, folder: str, message: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "bare" / "runtime" / "test" / "specs" / "V1_0").mkdir(parents=True)
    done = make(tmp_path / folder, tmp_path / "made")
    assert done.returncode == 2
    assert done.stderr.startswith(f"{tmp_path / folder} {message}")
    assert not (tmp_path / "made").exists()


def test_a_checkout_whose_specs_all_fail_makes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "specs" / "V1_0"
    folder.mkdir(parents=True)
    (folder / "broken.mod.py").write_text("raise ValueError('why')")
    done = make(tmp_path / "specs", tmp_path / "made")
    assert done.returncode == 2
    assert "broken.mod.py:1: ValueError: why" in done.stderr
    assert "no spec there gives a case" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["specs"]


def test_golden_cases_that_were_made_are_made_anew(checkout: Path, tmp_path: Path) -> None:
    assert list(goldens.make(checkout, tmp_path / "made")) == []
    (checkout / "runtime/test/specs/V1_0/add_v1_0.mod.py").unlink()
    assert list(goldens.make(checkout, tmp_path / "made")) == []
    assert len(golden.load(tmp_path / "made")) == 4
    assert not (tmp_path / "made" / "V1_0").exists()


@pytest.mark.parametrize("index", [None, "{}", '{"source": "AOSP", "specs": []}', "damaged"])
def test_what_was_not_made_here_is_left_alone(
    checkout: Path, tmp_path: Path, index: str | None
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "notes").write_text("mine")
    if index is not None:
        (folder / "index.json").write_text(index)
    with pytest.raises(ConfigError, match="is left alone"):
        list(goldens.make(checkout, folder))
    assert (folder / "notes").read_text() == "mine"


# ---- writing ------------------------------------------------------------------------------------


def test_cases_are_read_as_they_were_written(tmp_path: Path) -> None:
    """All that a case is, to the last byte of its model: those of the project's own specs."""
    path = tmp_path / "spec.json.gz"
    count = 0
    for file in specs.files(OWN):
        cases = specs.load(file)
        golden_writing.write(path, cases[0].spec, cases)
        for wanted, found in zip(map(nameless, cases), golden.load(path), strict=True):
            assert comparable(wanted) == comparable(nameless(found)), wanted.name
            count += 1
    assert count > 1000


def nameless(case: Case) -> Case:
    """Without names in the model, which a form has from the case that it was derived from."""
    test_case = pb.TestCase()
    test_case.CopyFrom(case.test_case)
    test_case.model.name = ""
    test_case.examples[0].name = ""
    expected = tuple(dataclasses.replace(each, name="") for each in case.expected)
    return dataclasses.replace(case, test_case=test_case, expected=expected)


def comparable(case: Case) -> dict[str, object]:
    """Its fields, with arrays as what has a truth value when it is compared."""
    fields = {field.name: getattr(case, field.name) for field in dataclasses.fields(case)}
    fields["expected"] = (
        [
            dataclasses.replace(each, values=None)
            for each in case.expected  # type: ignore[arg-type]
        ],
        [(each.values.dtype, each.values.tobytes()) for each in case.expected],
    )
    if case.multinomial is not None:
        logits = case.multinomial.logits
        fields["multinomial"] = (logits.shape, logits.tobytes(), case.multinomial.tolerance)
    return fields


# ---- where they are looked for ------------------------------------------------------------------


def test_golden_cases_are_looked_for_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(golden_folder.VARIABLE, raising=False)
    monkeypatch.setattr(native, "_CHECKOUT", tmp_path / "checkout")
    assert golden_folder.find() is None
    assert golden_folder.absent().startswith("no golden cases: `make goldens SPECS=DIR`")
    beside = tmp_path / "shared" / "conformance"
    made = tmp_path / "checkout" / "build" / "goldens"
    for folder in (beside, made):
        folder.mkdir(parents=True)
        (folder / "index.json").write_text("{}")
        assert golden_folder.find() == folder
        assert golden_folder.absent() == ""
    monkeypatch.setenv(golden_folder.VARIABLE, str(tmp_path / "elsewhere"))
    assert golden_folder.find() == tmp_path / "elsewhere"
    assert "elsewhere, which HALYARD_GOLDENS names" in golden_folder.absent()
