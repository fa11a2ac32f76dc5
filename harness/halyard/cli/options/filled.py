# SPDX-License-Identifier: Apache-2.0
"""Options as a dataclass: what several commands share, and what would be a list of parameters."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, TypeVar

Command = TypeVar("Command", bound=Callable[..., Any])
Decorator = Callable[[Any], Any]


def filled(name: str, kind: type[Any], *options: Decorator) -> Callable[[Command], Command]:
    """Adds the options to a command, which is handed `kind` as the keyword `name`.

    `kind` is a dataclass. A field has the name of an option's parameter, which no other dataclass
    of the command may have; one that no option of this command fills keeps its default. An option
    may be another such decorator, whose dataclass is then a field. What `kind` raises of its
    values, as a ConfigError, is the command's.
    """
    taken = [field.name for field in dataclasses.fields(kind)]

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def collected(*words: Any, **values: Any) -> Any:
            own = {each: values.pop(each) for each in taken if each in values}
            return command(*words, **{name: kind(**own)}, **values)

        decorated: Any = collected
        for option in reversed(options):
            decorated = option(decorated)
        return decorated  # type: ignore[no-any-return]

    return decorate
