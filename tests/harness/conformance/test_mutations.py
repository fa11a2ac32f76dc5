# SPDX-License-Identifier: Apache-2.0
"""Validation by mutation: every mutant of every golden model that the vendor test suite would make
is INVALID_ARGUMENT, for getSupportedOperations and prepareModel alike."""

from pathlib import Path

from halyard.cases import Case
from tests import validation_program

_MUTATIONS = 24


def test_every_mutant_is_refused(golden_cases: list[Case], tmp_path: Path) -> None:
    """Each case at every HAL version from the lowest that carries it on."""
    cases = [case for case in golden_cases if not case.expect_failure]
    found = validation_program.run("halyard_mutations", cases, tmp_path)
    print(f"{len(cases)} golden models\n{found.table()}")
    assert len(found.checks) == _MUTATIONS
    found.assert_all_held()
