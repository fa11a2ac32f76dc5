# SPDX-License-Identifier: Apache-2.0
"""A suite of golden cases: what it finds, what it keeps, how it runs them; and as pytest items."""

import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from halyard.cases import Case, golden
from halyard.conformance import suite
from halyard.conformance.collection import collect
from halyard.conformance.suite import Suite, Way
from halyard.devices import HostDevice
from halyard.errors import HalyardError, ProgramMissing
from halyard.programs import native
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Target
from tests.harness.cases.test_golden_cases import addition, encode, operand

ROOT = Path(__file__).parents[3]
TARGET = Target.in_process()
# 1 + 10 is not 100, with a tolerance of half of it.
WRONG = [
    operand("a", "SUBGRAPH_INPUT", encode([1, 2])),
    operand("b", "CONSTANT_REFERENCE", encode([10, 20])),
    *addition()["main"]["operands"][2:3],
    operand("sum", "SUBGRAPH_OUTPUT", encode([100, 22])),
]


def write(folder: Path, specs: dict[str, list[dict[str, Any]]]) -> Path:
    """A folder of golden cases with an index."""
    index = [{"spec": f"{name}.mod.py", "file": f"{name}.json.gz"} for name in specs]
    (folder / "index.json").write_text(json.dumps({"schema": 1, "specs": index}))
    for name, cases in specs.items():
        document = {"schema": 1, "spec": f"{name}.mod.py", "cases": cases}
        (folder / f"{name}.json.gz").write_bytes(gzip.compress(json.dumps(document).encode()))
    return folder


def multiplication() -> dict[str, Any]:
    case = addition(name="mul")
    case["main"]["operations"][0]["type"] = "MUL"
    case["main"]["operands"][3]["data"] = encode([10, 40])
    return case


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path, {"add": [addition()], "mul": [multiplication()]})


# ---- what it finds ------------------------------------------------------------------------------


def test_cases_are_found_by_operations(folder: Path) -> None:
    found = Suite.open(folder)
    assert found.golden(["ADD", "MUL"]) == ["add", "mul"]
    assert found.golden(["MUL"]) == ["mul"]
    assert found.golden(["POW"]) == []


def test_a_variant_needs_no_operation_that_no_case_has(folder: Path) -> None:
    found = Suite.open(folder)
    # all_inputs_as_internal puts an ADD in front.
    assert found.derived(["MUL"]) == ["mul_unspecified_outputs"]
    assert "mul_all_inputs_as_internal" in found.derived(["ADD", "MUL"])


def test_cases_are_loaded_by_name_and_in_order(folder: Path) -> None:
    names = ["mul_unspecified_outputs", "add", "mul"]
    cases = Suite.open(folder).load(names)
    assert [case.name for case in cases] == names
    assert cases[0].test_case.model.main.operands[3].dimensions == [0]


def twins() -> list[dict[str, Any]]:
    """A case, and its signed twin written down, which is named as the variant is."""

    def operands(zero_point: int, type_name: str, dtype: str) -> list[dict[str, Any]]:
        fields = {"type": type_name, "scale": 0.5, "zeroPoint": zero_point}
        places = [
            ("a", "SUBGRAPH_INPUT", 2),
            ("b", "CONSTANT_COPY", 3),
            ("c", "SUBGRAPH_OUTPUT", 5),
        ]
        made = [
            operand(name, lifetime, encode([value + zero_point] * 2, dtype), **fields)
            for name, lifetime, value in places
        ]
        return [*made[:2], addition()["main"]["operands"][2], made[2]]

    unsigned = addition(operands(0, "TENSOR_QUANT8_ASYMM", "u1"), name="add_quant8")
    signed = operands(-128, "TENSOR_QUANT8_ASYMM_SIGNED", "i1")
    return [unsigned, addition(signed, name="add_quant8_signed", halVersion="V1_3")]


def test_a_variant_that_is_written_down_is_the_golden_case(tmp_path: Path) -> None:
    found = Suite.open(write(tmp_path, {"add": twins()}))
    assert found.golden(["ADD"]) == ["add_quant8", "add_quant8_signed"]
    names = [*found.derived(["ADD"]), "add_quant8_signed"]
    assert len(set(names)) == len(names)
    cases = found.load(names)
    assert [case.name for case in cases] == names
    # The variant would have what its original has: forms with other lifetimes.
    assert "add_quant8_signed_unspecified_outputs" in names


def test_collected_names_are_unique_and_golden_ones_stay(tmp_path: Path) -> None:
    folder = write(tmp_path, {"add": twins()})
    names = [case.name for case in collect([folder], [], derived=True)]
    assert len(set(names)) == len(names)
    own = [case.name for case in collect([folder, folder], [], derived=False)]
    assert own == ["add_quant8", "add_quant8_signed"]
    assert names[0] == "add_quant8"
    assert "add_quant8_as_signed" in names


def test_no_index_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(HalyardError, match=r"index\.json"):
        Suite.open(tmp_path)


# ---- what it keeps ------------------------------------------------------------------------------


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are loaded from now on."""
    loaded: list[str] = []
    load = golden.load

    def noted(path: Path) -> list[Case]:
        loaded.append(path.name)
        return load(path)

    monkeypatch.setattr(golden, "load", noted)
    return loaded


def test_names_are_kept_and_a_file_is_loaded_for_its_cases_only(
    folder: Path, tmp_path: Path, loads: list[str]
) -> None:
    first = Suite.open(folder, tmp_path / "cache")
    assert sorted(loads) == ["add.json.gz", "mul.json.gz"]
    loads.clear()
    again = Suite.open(folder, tmp_path / "cache")
    every = ["ADD", "MUL"]
    assert again.golden(every) + again.derived(every) == first.golden(every) + first.derived(every)
    assert again.operations("mul_all_inputs_as_internal") == {"ADD", "MUL"}
    assert loads == []
    again.load(["mul", "mul_unspecified_outputs"])
    assert loads == ["mul.json.gz"]


def test_a_changed_file_is_read_again(folder: Path, tmp_path: Path) -> None:
    Suite.open(folder, tmp_path / "cache")
    write(folder, {"add": [addition(name="another")], "mul": []})
    assert Suite.open(folder, tmp_path / "cache").golden(["ADD"]) == ["another"]
    assert len(list((tmp_path / "cache").iterdir())) == 1


@pytest.mark.parametrize("content", ["", "{}", "[1]", '[["add", ["ADD"]]]'])
def test_a_spoilt_cache_is_made_again(folder: Path, tmp_path: Path, content: str) -> None:
    Suite.open(folder, tmp_path / "cache")
    [kept] = (tmp_path / "cache").iterdir()
    good = kept.read_text()
    kept.write_text(content)
    assert Suite.open(folder, tmp_path / "cache").golden(["ADD"]) == ["add"]
    assert kept.read_text() == good


# ---- how it runs them ---------------------------------------------------------------------------


class FakeRuns:
    """Stands for run_cases; the result says where the case ran."""

    def __init__(self, *, target: str = TARGET.name, version: int | None = None) -> None:
        self.target = target
        self.version = version
        self.bundles: list[tuple[str, list[str]]] = []

    def __call__(
        self, _: object, cases: Sequence[pb.TestCase], options: pb.RunOptions, target: Target
    ) -> list[pb.CaseResult]:
        way = Way(options.hal_version, options.mode)
        self.bundles.append((str(way), [case.name for case in cases]))
        version = options.hal_version if self.version is None else self.version
        return [
            pb.CaseResult(name=case.name, target=self.target, hal_version=version) for case in cases
        ]


def test_each_way_is_one_bundle(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = FakeRuns()
    monkeypatch.setattr(suite, "run_cases", runs)
    names = ["add", "mul", "add_unspecified_outputs"]
    ways = [Way(pb.HAL_VERSION_1_2), Way(pb.HAL_VERSION_1_0), Way(pb.HAL_VERSION_1_2)]
    cases = Suite.open(folder).load(names)
    with HostDevice() as device:
        verdicts = suite.judge_each(device, TARGET, cases, dict(zip(names, ways, strict=True)))
    assert runs.bundles == [
        ("HAL 1.0 async", ["mul"]),
        ("HAL 1.2 async", ["add", "add_unspecified_outputs"]),
    ]
    assert verdicts["mul"].reason == "HAL 1.0 async: execute: nothing was executed"
    assert verdicts.keys() == set(names)


@pytest.mark.parametrize(
    "runs", [FakeRuns(target="hidl:x"), FakeRuns(version=pb.HAL_VERSION_1_3)], ids=["where", "how"]
)
def test_a_result_from_elsewhere_proves_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, runs: FakeRuns
) -> None:
    monkeypatch.setattr(suite, "run_cases", runs)
    cases = Suite.open(folder).load(["add"])
    with HostDevice() as device, pytest.raises(HalyardError, match="add: ran on"):
        suite.judge(device, TARGET, cases, Way(pb.HAL_VERSION_1_2))


# ---- as pytest items ----------------------------------------------------------------------------


def run_pytest(
    folder: Path, *words: str, module: str = "harness/conformance/test_conformance.py"
) -> str:
    """The output of pytest over the golden cases of a folder."""
    try:
        native.program(native.RUNNER)
    except ProgramMissing as missing:
        pytest.skip(str(missing))
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--tb=short"),
            *(f"tests/{module}", *words),
        ],
        cwd=ROOT,
        env={**os.environ, "HALYARD_GOLDENS": str(folder), "COLUMNS": "200"},
        capture_output=True,
        text=True,
    )
    return done.stdout + done.stderr


def test_each_case_is_an_item_that_passes_or_fails_alone(tmp_path: Path) -> None:
    said = run_pytest(
        write(tmp_path, {"add": [addition(), addition(WRONG, name="wrong")]}), "-k", "newest_hal"
    )
    assert re.search(r"FAILED .*::test_newest_hal\[wrong\] - .*output 'sum': 1 of 2 elements", said)
    assert "test_newest_hal: 1 of 2 pass" in said
    assert "1 failed, 1 passed" in said


def test_only_what_is_selected_runs(folder: Path) -> None:
    said = run_pytest(folder, "-k", "mul and lowest_hal", "-v")
    assert "test_lowest_hal: 1 of 1 pass" in said
    assert re.search(r"^  MUL +1 of 1 pass$", said, re.MULTILINE)
    assert " 1 passed" in said
    said = run_pytest(folder, "--operation", "MUL", "-k", "not derived")
    assert " 2 passed" in said


def test_a_sample_follows_from_its_seed_and_is_the_same_for_both_ways(tmp_path: Path) -> None:
    cases = [addition(name=f"add_{number}") for number in range(510)]
    said = run_pytest(
        write(tmp_path, {"add": cases}),
        *("--collect-only", "-q", "--seed", "7"),
        module="device/test_golden_cases.py",
    )
    lowest, newest = (
        re.findall(rf"::{function}\[(\w+)\]", said)
        for function in ("test_lowest_hal_asynchronously", "test_newest_hal_synchronously")
    )
    assert len(lowest) == 150
    assert lowest == newest
    assert "150 of 510 golden cases, --seed 7" in said


def test_absent_cases_are_skipped_with_the_reason(tmp_path: Path) -> None:
    said = run_pytest(tmp_path)
    assert "passed" not in said
    assert f"no golden cases in {tmp_path}" in said
