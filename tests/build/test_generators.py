# SPDX-License-Identifier: Apache-2.0
"""The generators of C++ sources. A build for another Python runs them again, by another command;
nothing is to be compiled again for that."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

GENERATORS = {
    "driver/model/codes.py": ("proto/halyard.proto", ["codes.h"]),
    "hal/aidl/generate.py": ("hal/aidl/interfaces.json", ["types.h", "types.cc"]),
    "hal/hidl/generate.py": ("hal/hidl/interfaces.json", ["types.h", "layouts.cc"]),
    "litert/generate.py": ("litert/tflite_abi.json", ["tflite_abi.h"]),
}


@pytest.mark.parametrize("generator", GENERATORS)
def test_what_has_not_changed_is_not_written(tmp_path: Path, generator: str) -> None:
    source, names = GENERATORS[generator]
    outputs = [tmp_path / name for name in names]
    command = [sys.executable, ROOT / generator, ROOT / source, *outputs]
    subprocess.run(command, check=True)
    whole = [path.read_bytes() for path in outputs]
    for path in outputs:
        os.utime(path, (1, 1))
    subprocess.run(command, check=True)
    assert [path.stat().st_mtime for path in outputs] == [1] * len(outputs)
    # Changed files are written anew.
    for path in outputs:
        path.write_text("something else\n")
    subprocess.run(command, check=True)
    assert [path.read_bytes() for path in outputs] == whole
