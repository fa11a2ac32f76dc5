# SPDX-License-Identifier: Apache-2.0
"""Commands through a library of NNAPI's C functions."""

from pathlib import Path

import pytest

from halyard.programs import native
from tests.harness.invoking import Invoke
from tests.harness.spec_cases import RELU

if not (native.folder() / native.LIBRARY).exists():
    pytest.skip("sanitizer and static builds have no library", allow_module_level=True)


@pytest.mark.parametrize("name", ["ndk", "ndk-sl"])
def test_commands_take_it(name: str, invoke: Invoke, tmp_path: Path) -> None:
    spec = tmp_path / "relu.mod.py"
    spec.write_text(RELU + "Example(feed)\n")
    for command in ("conformance", "vts"):
        done = invoke(command, str(spec), "--device", name)
        assert done.exit_code == 0, done.output
        assert "passed" in done.output
    refused = invoke("run", "small_classifier", "--device", name, "--profile")
    assert "--profile needs the driver in the runner's process" in refused.output
