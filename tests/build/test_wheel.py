# SPDX-License-Identifier: Apache-2.0
"""The wheel that `pip install .` builds: complete without the checkout. All other tests run the
package and the programs of the checkout."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from halyard.programs import native
from tests.harness.conformance.test_own_tests import CASES, SPEC, TEST

ROOT = Path(__file__).parents[2]

PRINT_PLACES = """
from halyard.programs import native
from halyard import proto
from halyard.proto import halyard_pb2, perfetto_trace_pb2
print(proto.__file__)
print(halyard_pb2.__file__)
print(perfetto_trace_pb2.__file__)
print(native.device_configs())
for name in native.PROGRAMS:
    print(native.program(name))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with nothing but the package in it."""
    if not (native.folder() / native.SERVICE).is_file():
        pytest.skip("the programs are not built: ninja -C build/release")
    folder = tmp_path_factory.mktemp("installed")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
            *("--no-deps", "--no-build-isolation", "--target", folder, ROOT),
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def run(installed: Path, *words: str, folder: Path | None = None) -> str:
    """Python with the installed package, away from the checkout and its environment's package."""
    inserted = f"import sys; sys.meta_path[:] = [f for f in sys.meta_path if {KEPT}]"
    done = subprocess.run(
        [sys.executable, "-c", f"{inserted}\nsys.argv[1:] = {list(words[1:])!r}\n{words[0]}"],
        env={"PYTHONPATH": str(installed), "PATH": "/usr/bin:/bin", "HOME": str(installed)},
        cwd=folder or installed,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# All but the finder that leads to the checkout.
KEPT = "'ScikitBuild' not in type(f).__name__"


def test_all_that_it_needs_lies_in_it(installed: Path) -> None:
    places = run(installed, PRINT_PLACES).splitlines()
    assert len(places) == 4 + len(native.PROGRAMS)
    for place in places:
        assert Path(place).is_relative_to(installed)
        assert Path(place).exists()


def test_it_is_for_every_python_and_one_machine(installed: Path) -> None:
    [wheel] = installed.glob("halyard-*.dist-info/WHEEL")
    assert f"\nTag: py3-none-linux_{platform.machine()}\n" in wheel.read_text()


def test_its_command_runs_its_programs(installed: Path) -> None:
    main = "from halyard.cli.program import main; main()"
    table = run(installed, main, "operations", "--markdown")
    assert table in (ROOT / "docs" / "operations.md").read_text()
    devices = run(installed, main, "devices")
    assert (installed / "halyard" / "html" / "templates" / "page.html.j2").exists()
    assert str(installed / "halyard" / "device-configs" / "virtual.yaml") in devices
    lines = [line for line in devices.splitlines() if "no programs for it" in line]
    assert [line.split()[0] for line in lines] == ["host-arm64", "vm-arm64"]


def test_a_user_s_own_spec_and_test_run_with_it(installed: Path, tmp_path: Path) -> None:
    """As docs/conformance.md shows them; test_own_tests.py says more of them."""
    (tmp_path / "my_op.mod.py").write_text(SPEC)
    (tmp_path / "test_my_op.py").write_text(TEST)
    main = "from halyard.cli.program import main; main()"
    said = run(installed, main, "conformance", "my_op.mod.py", folder=tmp_path)
    assert f"{len(CASES)} passed in" in said
    main = "import pytest, halyard; print(halyard.__file__); sys.exit(pytest.main())"
    words = ("-p", "no:cacheprovider", "my_op.mod.py", "test_my_op.py")
    said = run(installed, main, *words, folder=tmp_path)
    assert str(installed) in said
    assert f"{len(CASES) + 1} passed" in said
