# SPDX-License-Identifier: Apache-2.0
"""Names of tests, as the official suite makes them."""

from __future__ import annotations


def joined(*parts: str | None) -> str:
    """The parts that there are."""
    return "_".join(part for part in parts if part)


class Names:
    """Gives a name once; who asks for it again gets it with a number."""

    def __init__(self, separator: str = "_", first: int = 2) -> None:
        self._separator = separator
        self._first = first
        self._taken: set[str] = set()

    def unique(self, name: str) -> str:
        found, number = name, self._first
        while found in self._taken:
            found = f"{name}{self._separator}{number}"
            number += 1
        self._taken.add(found)
        return found
