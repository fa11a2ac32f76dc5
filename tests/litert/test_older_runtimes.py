# SPDX-License-Identifier: Apache-2.0
"""Older runtimes load the delegate as the newest does: wheels of PyPI's, each in its own process.

They lie in build/runtimes, and are fetched where they are not there yet.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from halyard import tflite, zoo
from halyard.errors import ProgramMissing
from halyard.litert import delegate_library
from halyard.model import DataType
from tests.harness import tflite_models

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "runtimes"

# tflite-runtime 2.14 is built for the first numpy; its interpreter has the delegate's interface of
# 2023.
RUNTIMES = {
    "ai-edge-litert 2.1": ("ai-edge-litert==2.1.0",),
    "ai-edge-litert 1.4": ("ai-edge-litert==1.4.0",),
    "tflite-runtime 2.14": ("tflite-runtime==2.14.0", "numpy==1.26.4"),
}
_PYTHON_OF_TFLITE_RUNTIME = (3, 11)

_PROGRAM = """
import hashlib, importlib, json, sys
import numpy as np

package, library, report, *files = sys.argv[1:]
module = importlib.import_module(f"{package}.interpreter")
delegate = module.load_delegate(library, {"threads": "1", "report": report})
kept = []
for file in files:
    def interpreter(*delegates):
        found = module.Interpreter(file, num_threads=1, experimental_delegates=list(delegates))
        found.allocate_tensors()
        return found
    plain, ours = interpreter(), interpreter(delegate)
    random = np.random.default_rng(20261130)
    for detail in plain.get_input_details():
        shape, dtype = detail["shape"], detail["dtype"]
        real = dtype == np.float32
        values = random.standard_normal(shape) if real else random.integers(0, 100, shape)
        for each in (plain, ours):
            each.set_tensor(detail["index"], values.astype(dtype))
    plain.invoke(), ours.invoke(), ours.invoke()
    apart, own = 0.0, hashlib.sha256()
    for left, right in zip(plain.get_output_details(), ours.get_output_details(), strict=True):
        theirs, found = plain.get_tensor(left["index"]), ours.get_tensor(right["index"])
        assert (theirs.shape, theirs.dtype) == (found.shape, found.dtype)
        own.update(found.tobytes())
        if found.dtype.kind == "f":
            largest = max(1e-6, np.abs(theirs).max())
            apart = max(apart, float(np.abs(theirs - found).max() / largest))
    print(json.dumps([file, own.hexdigest(), apart]), flush=True)
    kept.append(ours)
"""


def _installed(name: str) -> Path:
    """One process fetches, and the others wait for it."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    target = FOLDER / name.replace(" ", "-")
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            fresh = target.with_suffix(".new")
            shutil.rmtree(fresh, ignore_errors=True)
            pip = [
                sys.executable,
                "-m",
                "pip",
                "install",
                "--quiet",
                "--no-deps",
                "--target",
                fresh,
            ]
            done = subprocess.run([*pip, *RUNTIMES[name]], capture_output=True, text=True)
            if done.returncode != 0:
                pytest.skip(f"{name} is not to be had: {done.stderr.strip().splitlines()[-1]}")
            fresh.rename(target)
    return target


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("models")
    found = []
    for make in (tflite_models.conv_net, tflite_models.per_channel, tflite_models.half_weights):
        graph, outputs = make()
        found.append(folder / f"{make.__name__}.tflite")
        found[-1].write_bytes(graph.content(*outputs))
    for name in ("mobilenet_v2", "mobilenet_v3_large"):
        for kind in (DataType.FLOAT32, DataType.QUANT8_SIGNED):
            found.append(folder / f"{name}_{kind.name.lower()}.tflite")
            model = zoo.build(name, kind, size=32, width=0.35, classes=20)
            found[-1].write_bytes(tflite.write(model.model))
    return found


def _results(package: str, library: Path, report: Path, files: list[Path], **more: str) -> Any:
    """By file: what Halyard's results are, and how far apart from the runtime's own floats."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, package, library, report, *files],
        env={**os.environ, **more},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert max(apart for _, _, apart in results) < 1e-4
    graphs = json.loads(report.read_text())["graphs"]
    assert len(graphs) == len(files)
    for graph in graphs:
        assert (graph["taken"], graph["unmapped"]) == (graph["operators"], [])
    return {file: own for file, own, _ in results}


@pytest.mark.parametrize("name", RUNTIMES)
def test_older_runtimes_give_what_the_newest_does(
    name: str, files: list[Path], tmp_path: Path
) -> None:
    """Bit for bit: what is delegated is Halyard's in each."""
    if name.startswith("tflite-runtime") and sys.version_info[:2] > _PYTHON_OF_TFLITE_RUNTIME:
        pytest.skip("tflite-runtime 2.14 has wheels up to CPython 3.11")
    try:
        library = delegate_library()
    except ProgramMissing as error:
        pytest.skip(str(error))
    report = tmp_path / "report.json"
    newest = _results("ai_edge_litert", library, report, files)
    package = name.split()[0].replace("-", "_")
    target = _installed(name)
    assert _results(package, library, report, files, PYTHONPATH=str(target)) == newest
