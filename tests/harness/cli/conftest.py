# SPDX-License-Identifier: Apache-2.0
"""A command line as tests invoke it."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from halyard.cli import program
from tests.harness.invoking import Invoke


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    runner = CliRunner()
    return lambda *words: runner.invoke(program.cli, [str(word) for word in words])
