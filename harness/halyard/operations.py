# SPDX-License-Identifier: Apache-2.0
"""The driver's operation table, as the service prints it (--list-operations)."""

import difflib
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from halyard.errors import ConfigError, HalyardError
from halyard.proto import halyard_pb2 as pb

_NAMES = [each.name for each in pb.OperationType.DESCRIPTOR.values]

COLUMNS = ("operation", "from HAL", "types that it computes with, and the HAL version of each")


@dataclass(frozen=True)
class OperationRow:
    name: str
    since: str
    types: Sequence[tuple[str, str]]  # type, lowest version that takes it

    def cells(self) -> tuple[str, str, str]:
        return self.name, self.since, ", ".join(f"{name} {since}" for name, since in self.types)


def parse(text: str) -> list[OperationRow]:
    try:
        return [
            OperationRow(item["name"], item["since"], _types(item["forms"], item["rows"]))
            for item in json.loads(text)["operations"]
        ]
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise HalyardError(f"the operation list is not understood: {error}") from error


def check_name(name: str, option: str) -> None:
    """ConfigError for a name that is no operation's, with those that are like it."""
    known = [text.removeprefix("OPERATION_TYPE_") for text in _NAMES]
    if name.upper() not in known:
        raise ConfigError(f"{option}: no {name!r}{likely(name, known)}")


def likely(name: str, known: Sequence[str]) -> str:
    """What a wrong name may have meant, as the end of a sentence; all names, if they are few."""
    near = difflib.get_close_matches(name.upper(), known, n=4, cutoff=0.5)
    near += [each for each in known if name.upper() in each and each not in near][:4]
    if len(known) <= 20:
        return f"; there are {', '.join(known)}"
    return f"; there are {', '.join(near)} and others" if near else ""


def _types(
    forms: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]]
) -> list[tuple[str, str]]:
    """The types of the first input that may have one or another; of the first input where each has
    but one. A form goes with a row from the later of their versions on."""
    lowest: dict[str, str] = {}
    for form, row in itertools.product(forms, rows):
        inputs = form["inputs"]
        first = next((each for each in inputs if "column" in each), inputs[0])
        column = first.get("column")
        name = str(first.get("type", "any") if column is None else row["types"][column])
        name = name.removeprefix("TENSOR_")
        since = max(str(form["since"]), str(row["since"]))
        lowest[name] = min(since, lowest.get(name, since))
    return sorted(lowest.items(), key=lambda item: (item[1], item[0]))


def as_markdown(rows: Sequence[OperationRow]) -> str:
    lines = [f"| {' | '.join(COLUMNS)} |", "|---|---|---|"]
    lines += [f"| {' | '.join(row.cells())} |" for row in rows]
    return "\n".join(lines) + "\n"
