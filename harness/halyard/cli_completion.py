# SPDX-License-Identifier: Apache-2.0
"""The command completion: what a shell needs to complete commands, options and their values."""

import click
from click.shell_completion import get_completion_class

from halyard.cli_group import examples

_SHELLS = ("bash", "zsh", "fish")
PROGRAM = "halyard"
VARIABLE = "_HALYARD_COMPLETE"


@click.command(
    epilog=examples(
        'eval "$(halyard completion bash)"    # in ~/.bashrc; zsh in ~/.zshrc',
        "halyard completion fish > ~/.config/fish/completions/halyard.fish",
    )
)
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Prints what makes a shell complete commands and options."""
    made = get_completion_class(shell)
    assert made is not None
    click.echo(made(context.find_root().command, {}, PROGRAM, VARIABLE).source())
