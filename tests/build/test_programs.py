# SPDX-License-Identifier: Apache-2.0
"""Output of tests/programs.sh on the programs that it runs."""

import subprocess
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "programs.sh"


def run(build: Path, *tests: tuple[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs a build whose tests are shell commands."""
    lines = [f'add_test([[{name}]] sh -c "{command}")' for name, command in tests]
    (build / "CTestTestfile.cmake").write_text("\n".join(lines))
    return subprocess.run([SCRIPT, build], capture_output=True, text=True, timeout=60)


def test_names_each_program_once_when_all_pass(tmp_path: Path) -> None:
    done = run(tmp_path, ("engine_tests-1", "true"), ("engine_tests-2", "echo unheard"))
    assert done.returncode == 0, done.stderr
    assert sorted(line.split()[3] for line in done.stdout.splitlines()) == [
        "engine_tests-1",
        "engine_tests-2",
    ]
    assert (tmp_path / "results" / "programs.xml").is_file()


def test_ends_with_the_tests_that_failed_and_says_why(tmp_path: Path) -> None:
    broken = (
        "echo 'softmax.cc:3: Failure: 1 is not 2'; echo '[  FAILED  ] Softmax.Sums (1 ms)'; false"
    )
    rest = [(f"hal_tests-{i}", "true") for i in range(30)]
    done = run(tmp_path, ("engine_tests-1", broken), ("engine_tests-2", "exit 3"), *rest)
    assert done.returncode == 1
    assert "softmax.cc:3: Failure: 1 is not 2" in done.stdout
    end = "\n".join(done.stdout.splitlines()[-3:])
    assert "Softmax.Sums" in end
    assert "engine_tests-1" in end
    assert "engine_tests-2" in end
    assert "hal_tests" not in end


def test_fails_where_there_is_nothing_to_run(tmp_path: Path) -> None:
    assert run(tmp_path).returncode == 1
