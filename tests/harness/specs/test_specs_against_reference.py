# SPDX-License-Identifier: Apache-2.0
"""The expected values of the specs in tests/specs against the numpy reference: two derivations from
the contract, neither of which is the engine's."""

from pathlib import Path

import pytest

from halyard import reference, specs
from halyard.proto import halyard_pb2 as pb
from tests.harness.reference.test_reference import result_of

_FOLDER = Path(__file__).parents[2] / "specs"
_FILES = [str(path.relative_to(_FOLDER)) for path in specs.files(_FOLDER)]


def test_there_are_specs() -> None:
    assert _FILES


def _newest(models: object) -> list[pb.HalVersion]:
    """The versions do not matter here, so no driver has to be asked."""
    assert isinstance(models, list)
    return [pb.HAL_VERSION_1_3] * len(models)


@pytest.mark.parametrize("file", _FILES)
def test_reference_agrees_with_spec(file: str) -> None:
    failures = []
    for case in specs.load(_FOLDER / file, _newest):
        # Cases that must be refused are not for a reference, which takes every model as valid.
        if case.expect_failure:
            continue
        unknown = case.operations - reference.operations()
        assert not unknown, f"{case.name}: the reference has no {', '.join(sorted(unknown))}"
        verdict = case.check(result_of(case))
        if not verdict.passed:
            failures.append(f"{case.name}: {verdict.reason}")
    assert not failures, "\n".join(failures)
