# SPDX-License-Identifier: Apache-2.0
"""Whether models are valid, as the driver of this package says."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from halyard import delimited, folders, native
from halyard.errors import HalyardError
from halyard.proto import halyard_pb2 as pb


def verdicts(models: Sequence[pb.Model]) -> list[pb.CaseResult]:
    """Of each model: `hal_version` is the lowest that can carry it, HAL_VERSION_UNSPECIFIED where
    it is valid in none, for the reason in `message`. Asked of this machine's runner, in one
    process."""
    program = native.program(native.RUNNER)
    with folders.Temporary("hal") as folder:
        bundle, results = folder / "bundle", folder / "results"
        bundle.write_bytes(delimited.write(pb.TestCase(model=model) for model in models))
        done = subprocess.run(
            [program, "--lowest-hal", "--bundle", bundle, "--results", results],
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            raise HalyardError(f"{program} --lowest-hal failed: {done.stderr.strip()}")
        answers = list(delimited.read(results.read_bytes(), pb.CaseResult))
    if len(answers) != len(models):
        raise HalyardError(f"{program} gave {len(answers)} answers for {len(models)} models")
    return answers
