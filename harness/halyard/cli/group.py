# SPDX-License-Identifier: Apache-2.0
"""How the commands are held together: their help, and what becomes of what they raise."""

import contextlib
import errno
import os
import shlex
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from halyard.errors import ConfigError, HalyardError
from halyard.model.shapes import OpenDimensions
from halyard.terminal.console import printable

# The words typed behind the program's name, in a context's notes.
_TYPED = "halyard.typed"

# As shells have it.
INTERRUPTED = 128 + signal.SIGINT


def examples(*lines: str) -> str:
    """The end of a command's help."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


class Group(click.Group):
    """Lists its commands without cutting off what they do."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        names = self.list_commands(ctx)
        found = [(name, self.get_command(ctx, name)) for name in names]
        rows = [(name, each.get_short_help_str(1000)) for name, each in found if each is not None]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class DefaultGroup(Group):
    """One of whose commands need not be named: what begins with the name of none is `default`'s.

    `spelled` has commands by options that name them, too, where such an option comes first.
    """

    def __init__(
        self, *words: Any, default: str, spelled: Mapping[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(*words, **more)
        self.default = default
        self.spelled = dict(spelled or {})

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] in self.spelled:
            args = [self.spelled[args[0]], *args[1:]]
        own = {*self.commands, *ctx.help_option_names}
        # A shell that completes the word behind this one's name may be about to complete either's.
        if args[0] not in own if args else not ctx.resilient_parsing:
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """The commands, and what `default` has."""
        command = self.commands[self.default]
        own = command.make_context(self.default, [], parent=ctx, resilient_parsing=True)
        found = [*super().shell_complete(ctx, incomplete), *command.shell_complete(own, incomplete)]
        return list({item.value: item for item in found}.values())


class Program(Group):
    """Turns what the harness raises into a message and an exit code."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_TYPED] = list(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ConfigError as error:
            raise click.UsageError(printable(str(error))) from error
        except OpenDimensions as error:
            line = shlex.join(["halyard", *ctx.meta[_TYPED], *error.options])
            raise click.ClickException(printable(f"{error}:\n  {line}")) from error
        except HalyardError as error:
            raise click.ClickException(printable(str(error))) from error
        except MemoryError as error:
            raise click.ClickException("on this machine: not enough memory") from error
        except OSError as error:
            # A reader of our output that is gone is click's to handle.
            if error.errno == errno.EPIPE:
                raise
            raise click.ClickException(printable(f"on this machine: {error}")) from error

    def main(  # type: ignore[override]
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        standalone_mode: bool = True,
        **more: Any,
    ) -> Any:
        """As click's, but for the exit code of what was interrupted."""
        if not standalone_mode:
            return super().main(args, prog_name, standalone_mode=False, **more)
        try:
            code = super().main(args, prog_name, standalone_mode=False, **more) or 0
        except click.ClickException as error:
            code = error.exit_code
            with contextlib.suppress(OSError):
                error.show()
        except (click.Abort, KeyboardInterrupt):
            code = INTERRUPTED
        except OSError as error:
            # Help that can't be printed, for instance.
            code = 1
            with contextlib.suppress(OSError):
                click.ClickException(f"on this machine: {error}").show()
        sys.exit(code)


def flush() -> bool:
    """Whether all that was printed has gone out. Output that could not is dropped: Python would
    complain of it once more when it ends."""
    whole = True
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            whole = False
            with contextlib.suppress(OSError), Path(os.devnull).open("w") as nowhere:
                os.dup2(nowhere.fileno(), stream.fileno())
    return whole
