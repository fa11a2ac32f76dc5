# SPDX-License-Identifier: Apache-2.0
"""Reads Android.bp: enough of the Blueprint language for modules, maps, lists and strings."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

Value: TypeAlias = "str | bool | list[Value] | dict[str, Value]"

_TOKEN = re.compile(r'\s+|//[^\n]*|("(?:[^"\\]|\\.)*")|([A-Za-z_]\w*)|([{}\[\]:,=+])')


@dataclass(frozen=True)
class Module:
    kind: str
    properties: dict[str, Value]

    @property
    def name(self) -> str:
        name = self.properties.get("name", "")
        assert isinstance(name, str)
        return name

    def strings(self, key: str) -> list[str]:
        value = self.properties.get(key, [])
        assert isinstance(value, list)
        return [item for item in value if isinstance(item, str)]

    def sources(self, root: Path) -> set[Path]:
        """The files that the module's srcs patterns find below `root`, relative to it."""
        return self._found(root, "srcs") - self._found(root, "exclude_srcs")

    def _found(self, root: Path, key: str) -> set[Path]:
        return {
            file.relative_to(root) for pattern in self.strings(key) for file in root.glob(pattern)
        }


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens: list[str] = []
        position = 0
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                line = text.count("\n", 0, position) + 1
                raise ValueError(f"Android.bp:{line}: unexpected {text[position]!r}")
            position = match.end()
            if match.lastindex:
                self._tokens.append(match.group(match.lastindex))
        self._next = 0

    def done(self) -> bool:
        return self._next == len(self._tokens)

    def take(self, expected: str | None = None) -> str:
        if self.done():
            raise ValueError("Android.bp ends early")
        token = self._tokens[self._next]
        if expected is not None and token != expected:
            raise ValueError(f"Android.bp: expected {expected!r}, found {token!r}")
        self._next += 1
        return token

    def value(self) -> Value:
        token = self.take()
        if token == "{":
            return self._map()
        if token == "[":
            items: list[Value] = []
            while self._tokens[self._next] != "]":
                items.append(self.value())
                self._comma("]")
            self.take("]")
            return items
        if token in ("true", "false"):
            return token == "true"
        if token.startswith('"'):
            return token[1:-1].replace('\\"', '"')
        raise ValueError(f"Android.bp: unexpected {token!r}")

    def module(self) -> Module:
        kind = self.take()
        self.take("{")
        return Module(kind, self._map())

    def _map(self) -> dict[str, Value]:
        properties: dict[str, Value] = {}
        while self._tokens[self._next] != "}":
            key = self.take()
            self.take(":")
            properties[key] = self.value()
            self._comma("}")
        self.take("}")
        return properties

    def _comma(self, end: str) -> None:
        if self._tokens[self._next] != end:
            self.take(",")


def parse(text: str) -> list[Module]:
    """The modules of a blueprint file. ValueError says what is wrong with it."""
    parser = _Parser(text)
    modules = []
    while not parser.done():
        modules.append(parser.module())
    return modules
