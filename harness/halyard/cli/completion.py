# SPDX-License-Identifier: Apache-2.0
"""The command completion: what a shell needs to complete commands, options and their values."""

import os

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

from halyard.cli.group import examples

_SHELLS = ("bash", "zsh", "fish")
PROGRAM = "halyard"
VARIABLE = "_HALYARD_COMPLETE"

# As click's own, but that it hands on the line itself: bash takes `vm:1` for three words.
_BASH = """\
%(complete_func)s() {
    local IFS=$'\\n'
    local type value completion response

    response=$(env COMP_WORDS="${COMP_LINE:0:COMP_POINT}" COMP_WORDBREAKS="$COMP_WORDBREAKS" \\
%(complete_var)s=bash_complete $1)

    for completion in $response; do
        IFS=',' read -r type value <<< "$completion"

        if [[ $type == 'dir' ]]; then
            COMPREPLY=()
            compopt -o dirnames
        elif [[ $type == 'file' ]]; then
            COMPREPLY=()
            compopt -o default
        elif [[ $type == 'plain' ]]; then
            COMPREPLY+=("$value")
        fi
    done

    return 0
}

%(complete_func)s_setup() {
    complete -o nosort -F %(complete_func)s %(prog_name)s
}

%(complete_func)s_setup;
"""


@add_completion_class
class _Bash(BashComplete):
    source_template = _BASH
    # Of each value, what bash takes for words that are there already.
    _typed = 0

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ["COMP_WORDS"]
        words = split_arg_string(line)
        incomplete = words.pop() if words and not line[-1:].isspace() else ""
        _, equals, value = incomplete.partition("=")
        own = value if incomplete.startswith("--") and equals else incomplete
        breaks = os.environ.get("COMP_WORDBREAKS", "")
        self._typed = max((own.rfind(each) + 1 for each in ":=" if each in breaks), default=0)
        return words[1:], incomplete

    def format_completion(self, item: CompletionItem[str]) -> str:
        return f"{item.type},{item.value[self._typed :]}"


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


COMMANDS = (completion,)
