# SPDX-License-Identifier: Apache-2.0
"""The environment that `make` sets up: which Python makes it, and that its pip, Debian 12's, knows
all that the Makefile asks of it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tests" / "environment.sh"
SYSTEM_PYTHON = Path("/usr/bin/python3")

pytestmark = pytest.mark.skipif(not SYSTEM_PYTHON.exists(), reason=f"no {SYSTEM_PYTHON}")


def run(
    *words: str | Path, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, cwd=ROOT, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture(scope="module")
def another_first(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment where another python3, which does nothing but fail, comes first on PATH."""
    folder = tmp_path_factory.mktemp("first")
    for name in ("python3", "python", "pip", "pip3"):
        script(folder / name, "echo the wrong Python >&2; exit 3")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return {**kept, "PATH": f"{folder}:{os.environ['PATH']}"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, another_first: dict[str, str]) -> Path:
    folder = tmp_path_factory.mktemp("made") / "venv"
    done = run(SCRIPT, folder, SYSTEM_PYTHON, environment=another_first)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def is_current(folder: Path, python: Path = SYSTEM_PYTHON) -> bool:
    return run(SCRIPT, "--check", folder, python).returncode == 0


def test_is_made_by_the_python_named(made: Path) -> None:
    assert (made / "bin" / "python").resolve() == SYSTEM_PYTHON.resolve()
    assert is_current(made)


def test_stays_while_it_is_current(made: Path) -> None:
    (made / "mark").touch()
    assert run(SCRIPT, made, SYSTEM_PYTHON).returncode == 0
    assert (made / "mark").exists()


def test_is_made_anew_where_another_python_made_it(made: Path, tmp_path: Path) -> None:
    folder = tmp_path / "venv"
    another = script(tmp_path / "python3.13", f"exec {SYSTEM_PYTHON} $*")
    shutil.copytree(made / "bin", folder / "bin", symlinks=True)
    shutil.copy(made / "bin" / "pip", folder / "bin" / "pip")
    (folder / "bin" / "pip").write_text(f"#!{folder}/bin/python3\n")
    assert is_current(folder)
    for name in ("python", "python3"):
        (folder / "bin" / name).unlink()
        (folder / "bin" / name).symlink_to(another)
    assert not is_current(folder)
    done = run(SCRIPT, folder, SYSTEM_PYTHON)
    assert "anew" in done.stdout
    assert is_current(folder)


def test_is_not_current_where_it_was_moved(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "bin", tmp_path / "moved" / "bin", symlinks=True)
    assert not is_current(tmp_path / "moved")


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ('case "$2" in *version*) echo 3.9.2;; esac', "is Python 3.9.2; Halyard needs 3.11"),
        ('case "$2" in *version*) echo 3.12.0;; *) exit 1;; esac', "python3-venv"),
    ],
)
def test_says_what_a_python_lacks(tmp_path: Path, answers: str, reason: str) -> None:
    python = script(tmp_path / "python3", answers)
    done = run(SCRIPT, tmp_path / "venv", python)
    assert done.returncode == 1
    assert f"made with {python}, which" in done.stderr
    assert reason in done.stderr
    assert "SYSTEM_PYTHON=" in done.stderr
    assert not (tmp_path / "venv").exists()


def test_says_that_a_python_is_not_there(tmp_path: Path) -> None:
    done = run(SCRIPT, tmp_path / "venv", tmp_path / "python3")
    assert done.returncode == 1
    assert "python3, which is not there" in done.stderr


def test_the_package_installs_with_debian_s_pip(
    made: Path, another_first: dict[str, str], tmp_path: Path
) -> None:
    """As `make` does it, with the pip that the environment came with. What the package needs to be
    built and to run is lent from these tests' own environment, after the new one's pip."""
    [site] = (made / "lib").glob("python3*/site-packages")
    own = [path for path in sys.path if path.endswith("-packages")]
    (site / "lent.pth").write_text("\n".join(own))
    done = run(
        *("make", "--no-print-directory", "install-checkout", f"SYSTEM_PYTHON={SYSTEM_PYTHON}"),
        *(f"VENV={made}", f"BUILD={tmp_path / 'build'}", f"LOG={tmp_path / 'log'}"),
        environment=another_first,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    if "CXX" not in another_first:
        # Not the name that this Python was built with.
        cache = (tmp_path / "build" / "CMakeCache.txt").read_text()
        assert re.search(r"^CMAKE_CXX_COMPILER:.*/g\+\+$", cache, re.MULTILINE)
    pip = run(made / "bin" / "pip", "--version").stdout
    assert f"from {site}" in pip
    told = run(
        *(made / "bin" / "python", "-c"),
        "from halyard.proto import halyard_pb2; print(halyard_pb2.__file__)",
    )
    assert told.stdout.startswith(str(site)), told.stderr
    assert "Deploys, proves and measures" in run(made / "bin" / "halyard", "--help").stdout


def requirements(*groups: str) -> set[str]:
    done = run(sys.executable, ROOT / "tests" / "dependencies.py", ROOT / "pyproject.toml", *groups)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_what_only_some_machines_can_use_is_not_installed_for_the_tests() -> None:
    """PyTorch for GPUs brings all of CUDA along, which would take a fresh machine longer than the
    rest."""
    wanted = {re.split(r"[\[<>=]", line)[0] for line in requirements()}
    assert {"numpy", "pytest", "onnxruntime", "scikit-build-core"} <= wanted
    assert "torch" not in wanted
    [torch] = [line for line in requirements("torch-cpu") if line.startswith("torch")]
    assert re.fullmatch(r"torch==[0-9.]+\+cpu", torch), "no other build does without CUDA"


def installed(folder: Path, pip: str, *index: str) -> subprocess.CompletedProcess[str]:
    """By a pip that notes what it is asked for, and does what the text says."""
    script(folder / "bin" / "pip", f'echo "$@" >>{folder}/asked\n{pip}')
    (folder / "list").write_text("one==1\ntwo\n")
    command = ROOT / "tests" / "requirements.sh"
    return run(command, folder, folder / "list", folder / "log", *index)


def test_what_is_left_out_is_told(tmp_path: Path) -> None:
    failing = 'echo "ERROR: no two for this Python"; exit 1'
    done = installed(tmp_path, failing, "https://index.example")
    assert done.returncode == 0
    assert "Left out, with the tests that need it: one==1 two" in done.stdout
    assert (tmp_path / "log").read_text().count("no two for this Python") == 2
    first, second = (tmp_path / "asked").read_text().splitlines()
    assert "index.example" not in first
    assert "--extra-index-url https://index.example" in second


def test_the_index_is_asked_for_what_pip_s_own_lack(tmp_path: Path) -> None:
    knowing = 'case "$*" in *index.example*) echo "Collecting two";; *) exit 1;; esac'
    done = installed(tmp_path, knowing, "https://index.example")
    assert (done.returncode, done.stdout) == (0, "  Collecting two\n")


def test_what_all_tests_need_is_not_left_out(tmp_path: Path) -> None:
    done = installed(tmp_path, 'echo "ERROR: no two for this Python"; exit 1')
    assert done.returncode == 1
    assert "no two for this Python" in done.stdout
    assert len((tmp_path / "asked").read_text().splitlines()) == 1
