# SPDX-License-Identifier: Apache-2.0
"""Whether models are valid and prepare, as the driver of this package says."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from halyard import paths
from halyard.errors import HalyardError
from halyard.programs import native, protobuf_stream
from halyard.programs.driver_options import DriverOptions
from halyard.proto import halyard_pb2 as pb


def verdicts(models: Sequence[pb.Model]) -> list[pb.CaseResult]:
    """Of each model: `hal_version` is the lowest that can carry it, HAL_VERSION_UNSPECIFIED where
    it is valid in none, for the reason in `message`. Asked of this machine's runner, in one
    process."""
    with paths.Temporary("hal") as folder:
        return _asked(folder, models, ["--lowest-hal"])


def prepared(models: Sequence[pb.Model]) -> list[pb.CaseResult]:
    """The result of preparing each model, without an execution, by the backend that runs every
    legal node and packs no constants."""
    if not models:
        return []
    with paths.Temporary("prepare") as folder:
        options = folder / "options"
        options.write_bytes(pb.RunOptions().SerializeToString())
        driver = DriverOptions(backends=["CpuRef"], threads=1)
        words = ["--target", "in-process", "--options", str(options), *driver.words()]
        return sorted(_asked(folder, models, words), key=lambda answer: answer.index)


def _asked(folder: Path, models: Sequence[pb.Model], words: Sequence[str]) -> list[pb.CaseResult]:
    program = native.program(native.RUNNER)
    bundle, results = folder / "bundle", folder / "results"
    bundle.write_bytes(protobuf_stream.write(pb.TestCase(model=model) for model in models))
    done = subprocess.run(
        [program, *words, "--bundle", bundle, "--results", results],
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise HalyardError(f"{program} {words[0]} failed: {done.stderr.strip()}")
    answers = list(protobuf_stream.read(results.read_bytes(), pb.CaseResult))
    if len(answers) != len(models):
        raise HalyardError(f"{program} gave {len(answers)} answers for {len(models)} models")
    return answers
