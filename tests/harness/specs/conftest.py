# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of the spec language."""

from pathlib import Path

import pytest

from halyard import specs
from halyard.cases import Case
from halyard.proto import halyard_pb2 as pb
from tests.harness.spec_cases import Load


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """The cases of a spec, by name."""

    def run(source: str, folder: str = "V1_2", name: str = "spec.mod.py") -> dict[str, Case]:
        path = tmp_path / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
        cases = specs.load(path, lambda models: [pb.HAL_VERSION_1_1] * len(models))
        found = {case.name: case for case in cases}
        assert len(found) == len(cases)
        return found

    return run
