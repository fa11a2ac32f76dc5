# SPDX-License-Identifier: Apache-2.0
"""Lists on a command line, with commas between; ConfigError, by the option, for what makes no
sense."""

from collections.abc import Sequence

from halyard.errors import ConfigError


def names(text: str, option: str) -> list[str]:
    return distinct([item.strip() for item in text.split(",")], option)


def distinct(words: list[str], option: str) -> list[str]:
    if not all(words):
        raise ConfigError(f"{option} has an empty name")
    if len(set(words)) != len(words):
        raise ConfigError(f"{option} names something twice")
    return words


def known(text: str, option: str, there: Sequence[str]) -> list[str]:
    words = names(text, option)
    for word in words:
        if word not in there:
            raise ConfigError(f"{option}: no {word!r}, there are {', '.join(there)}")
    return words


def numbers(text: str, option: str, low: int, high: int) -> list[int]:
    words = names(text, option)
    for word in words:
        if not word.isascii() or not word.isdigit() or not low <= int(word) <= high:
            raise ConfigError(f"{option} takes numbers from {low} to {high}, not {word!r}")
    return [int(word) for word in words]
