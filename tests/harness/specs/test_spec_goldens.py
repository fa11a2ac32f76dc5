# SPDX-License-Identifier: Apache-2.0
"""Golden cases against the cases that the spec language makes of their base cases.

Every golden file that tells enough of how its spec was written is written as a spec again; what the
loader makes of that has to be the golden cases, to the last bit."""

import dataclasses
import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from halyard import specs
from halyard.cases import Case, Tolerance, golden
from halyard.cases.assembly import tags, tolerances
from halyard.cases.variants import with_lifetimes
from halyard.conformance.suite import Suite
from halyard.proto import halyard_pb2 as pb
from tests import goldens
from tests.harness.golden_spec import Inexpressible, write


def differences(wanted: Sequence[Case], found: Sequence[Case]) -> list[str]:
    """The differences, by case and field. A golden file may leave cases out."""
    by_name = {case.name: case for case in found}
    lines = []
    for case in wanted:
        if case.name not in by_name:
            lines.append(f"{case.name}: not there")
            continue
        for field in dataclasses.fields(Case):
            one, other = getattr(case, field.name), getattr(by_name[case.name], field.name)
            if field.name != "never_input" and not _equal(one, other):
                lines.append(f"{case.name}: {field.name}: {str(one)[:300]} and {str(other)[:300]}")
    return lines


def _equal(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and one.tobytes() == other.tobytes()
    if dataclasses.is_dataclass(one) and type(one) is type(other):
        fields = [field.name for field in dataclasses.fields(one)]
        return all(_equal(getattr(one, name), getattr(other, name)) for name in fields)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_equal, one, other))
    return one == other


# Of these the golden data do not tell enough: models share an operand that converters change, or a
# group has two converters of one name.
_INEXPRESSIBLE = 8


@pytest.fixture(scope="module")
def files(suite: Suite) -> list[Path]:
    """Those whose cases the loader has versions for, where others than the loader made them."""
    if goldens.is_made(suite.folder):
        pytest.skip("these golden cases were made by the loader of specs")
    return [path for path in golden.files(suite.folder) if not path.parent.name.startswith("AIDL")]


def test_specs_written_from_golden_cases_give_the_same_cases(
    files: list[Path], tmp_path: Path
) -> None:
    different: dict[str, list[str]] = {}
    left_out = []
    cases = 0
    for path in files:
        document = json.loads(gzip.decompress(path.read_bytes()))
        try:
            spec = write(document, tmp_path)
        except Inexpressible:
            left_out.append(document["spec"])
            continue
        wanted = golden.load(path)
        cases += len(wanted)
        if found := differences(wanted, specs.load(spec)):
            different[document["spec"]] = found[:3]
    assert different == {}
    assert len(left_out) <= _INEXPRESSIBLE, left_out
    assert cases > 1500


def test_lifetime_variants_of_golden_cases_can_all_be_derived(golden_cases: list[Case]) -> None:
    for case in golden_cases:
        for names in case.lifetime_variants:
            assert with_lifetimes(case, names) is not None, f"{case.name}: {names}"


def test_tolerances_and_tags_of_golden_cases_follow_from_their_models(files: list[Path]) -> None:
    for path in files:
        for source in json.loads(gzip.decompress(path.read_bytes()))["cases"]:
            subgraphs = [golden.subgraph(each) for each in (source["main"], *source["referenced"])]
            # That a loop does not end is not to be seen.
            found = tags(subgraphs) | (frozenset(source["tags"]) & {"infiniteLoop"})
            assert found == frozenset(source["tags"]), source["name"]
            if not source["expectFailure"] and "multinomial" not in source["tolerance"]:
                assert tolerances(source["name"], source["isRelaxed"], subgraphs) == {
                    pb.OperandType.Value(f"OPERAND_TYPE_{name}"): Tolerance(
                        bounds["atol"], bounds["rtol"]
                    )
                    for name, bounds in source["tolerance"].items()
                }, source["name"]
