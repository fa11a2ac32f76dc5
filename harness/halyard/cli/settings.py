# SPDX-License-Identifier: Apache-2.0
"""Defaults of a user's own for the options of commands: one YAML file.

all:                  # every command that has the option
  device: 0A1B2C3D
run:
  repeat: 100
  enable-fast-math: true
bench:
  threads: [1, 2, 4]  # what takes a list with commas between may be one
  pair:               # of a command of bench; what stands beside it is for bench run
    runs: 100
vm:
  start:              # a command of a command
    memory: 2048

Names are those of the options, without the dashes in front. What the command line says goes before.
"""

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import yaml

from halyard.cli.group import DefaultGroup
from halyard.errors import ConfigError
from halyard.paths import config

# Click's defaults of a command, and for the commands below it: values as they would be typed.
Defaults = dict[str, object]

VARIABLE = "HALYARD_SETTINGS"


def usual() -> Path | None:
    """The user's own file, if there is one."""
    path = config() / "settings.yaml"
    return path if path.is_file() else None


def load(path: Path, program: click.Group) -> Defaults:
    """A file's settings, by command. ConfigError names the file, the line, and what may be
    there."""
    try:
        node = yaml.compose(path.read_text(), Loader=yaml.SafeLoader)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: {error}") from error
    if node is None:
        return {}
    try:
        return _of_group(node, program, "the file", is_top=True)
    except _Refused as problem:
        raise ConfigError(f"{path}:{problem.line}: {problem}") from problem


class _Refused(ValueError):
    def __init__(self, node: yaml.Node, message: str) -> None:
        super().__init__(message)
        self.line = node.start_mark.line + 1


def _of_group(node: yaml.Node, group: click.Group, owner: str, *, is_top: bool) -> Defaults:
    commands = group.commands
    own = {name: option for name, option in _options(group).items() if not is_top}
    # A command that needs no name on the command line needs none here.
    unnamed = commands[group.default] if isinstance(group, DefaultGroup) else None
    of_unnamed = _options(unnamed) if unnamed is not None else {}
    found: Defaults = {}
    for_all: list[tuple[yaml.Node, str, yaml.Node]] = []
    for key, name, value in _entries(node, owner):
        if is_top and name == "all":
            for_all = [(key, each, item) for key, each, item in _entries(value, "all")]
        elif name in commands:
            _of(found, name).update(_of_either(value, commands[name], name))
        elif name in own:
            found[own[name].name or name] = _value(value, own[name], name)
        elif unnamed is not None and name in of_unnamed:
            _of(found, unnamed.name or "").setdefault(
                of_unnamed[name].name or name, _value(value, of_unnamed[name], name)
            )
        else:
            known = [*commands, *own, *of_unnamed, *(["all"] if is_top else [])]
            raise _Refused(key, _unknown(name, f"a command of {group.name or 'halyard'}", known))
    _add_for_all(for_all, group, found)
    return found


def _of(found: Defaults, command: str) -> Defaults:
    """The settings found for a command, to be added to."""
    mine = found.setdefault(command, {})
    assert isinstance(mine, dict)
    return mine


def _of_either(node: yaml.Node, command: click.Command, name: str) -> Defaults:
    if isinstance(command, click.Group):
        return _of_group(node, command, name, is_top=False)
    return _of_command(node, command, name)


def _add_for_all(
    entries: list[tuple[yaml.Node, str, yaml.Node]], group: click.Group, found: Defaults
) -> None:
    """To each command that has the option, and has not been given a value of its own."""
    for key, name, value in entries:
        known = _all_options(group)
        if name not in known:
            raise _Refused(key, _unknown(name, "an option of any command", sorted(known)))
        _add(name, value, group, found)


def _add(name: str, value: yaml.Node, group: click.Group, found: Defaults) -> None:
    for command_name, command in group.commands.items():
        options = _options(command)
        if name in options:
            _of(found, command_name).setdefault(
                options[name].name or name, _value(value, options[name], name)
            )
        if isinstance(command, click.Group) and name in _all_options(command):
            _add(name, value, command, _of(found, command_name))


def _all_options(group: click.Group) -> set[str]:
    found: set[str] = set()
    for command in group.commands.values():
        found |= set(_options(command))
        if isinstance(command, click.Group):
            found |= _all_options(command)
    return found


def _of_command(node: yaml.Node, command: click.Command, owner: str) -> Defaults:
    options = _options(command)
    found: Defaults = {}
    for key, name, value in _entries(node, owner):
        if name not in options:
            raise _Refused(key, _unknown(name, f"an option of halyard {owner}", options))
        found[options[name].name or name] = _value(value, options[name], name)
    return found


def _options(command: click.Command) -> dict[str, click.Option]:
    """By their long names, without dashes."""
    return {
        word.removeprefix("--"): parameter
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for word in parameter.opts
        if word.startswith("--")
    }


def _entries(node: yaml.Node, owner: str) -> Iterator[tuple[yaml.Node, str, yaml.Node]]:
    if not isinstance(node, yaml.MappingNode):
        raise _Refused(node, f"{owner} must be a mapping of names to values")
    seen: set[str] = set()
    for key, value in node.value:
        name = str(key.value)
        if name in seen:
            raise _Refused(key, f"{name} is there twice")
        seen.add(name)
        yield key, name, value


def _value(node: yaml.Node, option: click.Option, name: str) -> object:
    """As it would be typed, once the option has said that it takes it."""
    content = yaml.SafeLoader("").construct_document(node)
    if option.is_flag:
        if not isinstance(content, bool):
            raise _Refused(node, f"{name} must be true or false")
        return content
    if isinstance(content, list) and not option.multiple and option.nargs == 1:
        content = ",".join(str(each) for each in content)
    several = option.multiple or option.nargs != 1
    words = content if isinstance(content, list) and several else [content]
    for word in words:
        if isinstance(word, bool) or not isinstance(word, str | int | float):
            raise _Refused(node, f"{name} must be a value, as on the command line")
        try:
            option.type.convert(str(word), option, None)
        except click.BadParameter as problem:
            raise _Refused(node, f"{name}: {problem.message}") from problem
    return [str(word) for word in words] if several else str(content)


def _unknown(name: str, what: str, known: Mapping[str, object] | list[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(sorted(known))}"
    return f"{name} is not {what}; {hint}"
