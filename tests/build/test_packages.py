# SPDX-License-Identifier: Apache-2.0
"""Output of tests/packages.sh while it installs Debian packages; scripts stand for apt."""

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "packages.sh"
TOOLS = ("bash", "cat", "dirname", "env", "grep", "ls", "sed", "tail", "tee")

APT = """
[ "$1" = install ] || exit 0
echo '0 upgraded, 45 newly installed, 0 to remove and 0 not upgraded.'
echo 'Need to get 244 MB of archives.'
for i in $(seq 45); do echo "Get:$i http://mirror bookworm/main amd64 p$i amd64 1.0 [9 kB]"; done
for i in $(seq 45); do echo "Unpacking p$i (1.0) ..."; done
for i in $(seq 45); do echo "Setting up p$i (1.0) ..."; done
"""


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """Where its programs are: of root's, with cmake installed and ninja not."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in (*TOOLS, "seq"):
        found = shutil.which(name)
        assert found
        (folder / name).symlink_to(found)
    program(folder, "id", "echo 0")
    program(folder, "dpkg-query", '[ "$4" = cmake ] && echo "ii "')
    program(folder, "apt-get", APT)
    return folder


def program(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(f"#!{folder}/bash\n{text}\n")
    (folder / name).chmod(0o755)


def run(machine: Path, *packages: str) -> subprocess.CompletedProcess[str]:
    wanted = machine.parent / "apt-packages.txt"
    wanted.write_text("\n".join(["# build", *packages]) + "\n")
    return subprocess.run(
        [SCRIPT, wanted, machine.parent / "log"],
        env={"PATH": str(machine)},
        capture_output=True,
        text=True,
    )


def test_shows_how_far_it_is(machine: Path) -> None:
    done = run(machine, "cmake", "ninja-build")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[1].startswith("Installing Debian packages: ninja-build (log: ")
    assert lines[2:] == [
        "  45 packages; 244 MB to fetch",
        *(
            f"  {stage} {count} of 45 packages"
            for stage in ("fetched", "unpacked", "set up")
            for count in (20, 40, 45)
        ),
    ]
    assert "Unpacking p7 (1.0)" in (machine.parent / "log").read_text()


def test_shows_why_it_failed(machine: Path) -> None:
    program(machine, "apt-get", "echo 'E: no package ninja-build'; exit 100")
    done = run(machine, "ninja-build")
    assert done.returncode == 1
    assert "E: no package ninja-build" in done.stdout


def test_takes_root_by_sudo(machine: Path) -> None:
    program(machine, "id", "echo 1000")
    done = run(machine, "ninja-build")
    assert done.returncode == 1
    assert "ninja-build" in done.stderr
    assert "there is no sudo" in done.stderr
    program(machine, "sudo", 'echo "$@" >"$0.asked"; exec "$@"')
    assert run(machine, "ninja-build").returncode == 0
    assert "apt-get install" in (machine / "sudo.asked").read_text()
