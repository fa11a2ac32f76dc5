# SPDX-License-Identifier: Apache-2.0
"""What a shell is told of commands and options."""

import subprocess
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / ".venv/bin/halyard"


def bash(line: str) -> list[str]:
    """What bash offers behind a line, in a shell that has read the script."""
    script = f"""
        PATH={PROGRAM.parent}:$PATH
        eval "$(halyard completion bash)"
        COMP_WORDS=({line} '')
        [[ "{line}" = *' ' ]] || unset "COMP_WORDS[-1]"
        COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
        _halyard_completion halyard
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.slow
def test_bash_completes_commands_options_and_choices() -> None:
    assert bash("halyard ca") == ["calibrate"]
    assert "--backends" in bash("halyard run --ba")
    assert bash("halyard run --type quant8_") == ["quant8_signed"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_a_script_each(shell: str) -> None:
    done = subprocess.run([PROGRAM, "completion", shell], capture_output=True, text=True)
    assert "_HALYARD_COMPLETE" in done.stdout


def test_another_shell_is_refused() -> None:
    done = subprocess.run([PROGRAM, "completion", "tcsh"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "bash" in done.stderr
