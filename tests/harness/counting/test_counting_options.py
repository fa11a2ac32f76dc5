# SPDX-License-Identifier: Apache-2.0
"""halyard bench --count-instructions: what goes with it, and what does not."""

import pytest
from click.testing import CliRunner

from halyard.cli.program import cli

COUNT = ("bench", "--count-instructions")
THERE = (*COUNT, "--device", "host-arm64")


def refusal(*words: str) -> str:
    result = CliRunner().invoke(cli, list(words))
    assert result.exit_code == 2, result.output
    return result.output.rpartition("Error: ")[2].strip()


@pytest.mark.parametrize("name", ["host", "vm-arm64", "SERIAL"])
def test_is_for_the_emulated_host(name: str) -> None:
    assert refusal(*COUNT, "--device", name) == (
        f"--count-instructions is for --device host-arm64, not {name}"
    )


@pytest.mark.parametrize(
    "words",
    [("--processors", "i8mm"), ("--hot-blocks", "3"), ("--llvm-mca", "cortex-a55"), ("--alone",)],
    ids=str,
)
def test_its_options_are_for_it_alone(words: tuple[str, ...]) -> None:
    assert refusal("bench", *words) == f"{words[0]} is for --count-instructions"


@pytest.mark.parametrize(
    "words",
    [("--threads", "2"), ("--clients", "2"), ("--burn", "1"), ("--same-core",), ("--profile",)],
    ids=str,
)
def test_refuses_options_of_times(words: tuple[str, ...]) -> None:
    assert refusal(*THERE, *words).startswith(f"{words[0]} is for times")


def test_a_processor_has_to_be_known() -> None:
    assert refusal(*THERE, "--processors", "cortex-a9") == (
        "--processors: no 'cortex-a9', there are cortex-a53, cortex-a76, i8mm"
    )


def test_a_model_of_a_core_has_to_be_known() -> None:
    assert refusal(*THERE, "--llvm-mca", "cortex-a9") == (
        "--llvm-mca: no 'cortex-a9', there are cortex-a55, cortex-a510, neoverse-n1, neoverse-v1"
    )
