# SPDX-License-Identifier: Apache-2.0
"""The driver's operation table, as the service prints it (--list-operations)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from halyard.errors import HalyardError

COLUMNS = ("operation", "from HAL", "types of its first input, with the HAL version")


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
            OperationRow(item["name"], item["since"], _types(item["signatures"]))
            for item in json.loads(text)["operations"]
        ]
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise HalyardError(f"the operation list is not understood: {error}") from error


def _types(signatures: Sequence[dict[str, object]]) -> list[tuple[str, str]]:
    lowest: dict[str, str] = {}
    for signature in signatures:
        inputs, since = signature["inputs"], signature["since"]
        if not isinstance(inputs, list) or not isinstance(since, str):
            raise TypeError("a signature without inputs and version")
        name = str(inputs[0]).removeprefix("TENSOR_")
        lowest[name] = min(since, lowest.get(name, since))
    return sorted(lowest.items(), key=lambda item: (item[1], item[0]))


def as_markdown(rows: Sequence[OperationRow]) -> str:
    lines = [f"| {' | '.join(COLUMNS)} |", "|---|---|---|"]
    lines += [f"| {' | '.join(row.cells())} |" for row in rows]
    return "\n".join(lines) + "\n"
