# SPDX-License-Identifier: Apache-2.0
"""Invariants of every golden case, whatever it computes: supported equals preparable, quantised
twins fare alike, and results depend neither on threads nor on the run nor on where memory lies,
nor, but for the rounding of floats, on the optimiser's passes."""

from pathlib import Path

from halyard.cases import Case
from tests import validation_program

_INVARIANTS = 12


def test_invariants_hold_of_every_golden_case(
    golden_cases: list[Case], tmp_path: Path, seed: int
) -> None:
    """Each model is cut, chained to others, given inputs for its constants, and run on one thread
    and two, with every input, output and constant next to pages that may not be touched."""
    # Of the others the model need not prepare, or no run ends with a result.
    cases = [
        case for case in golden_cases if not case.expect_failure and "infiniteLoop" not in case.tags
    ]
    found = validation_program.run("halyard_invariants", cases, tmp_path, "--seed", str(seed))
    print(f"{len(cases)} golden cases, --seed {seed}\n{found.table()}")
    assert len(found.checks) == _INVARIANTS
    found.assert_all_held()
