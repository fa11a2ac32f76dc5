# SPDX-License-Identifier: Apache-2.0
"""The budget of what is made of one file, so that a small one can't exhaust the host.

A file may name one buffer, one vector or one function over and over. A reader that makes something
of it takes it from the file's budget first: bytes before a copy, nodes and objects before they are
there.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from halyard.errors import HalyardError

# Copies, widened and filled up constants come to a few times the file's own bytes.
_BYTES_AT_LEAST = 2**27
_BYTES_PER_BYTE = 32
# A model of a thousand layers has some ten thousand of either.
_NODES = 200_000
_OBJECTS = 200_000
# Python's bytes for a number in a tuple.
_NUMBER_BYTES = 40

_MOST_SHOWN = 200


class OverBudget(HalyardError):
    """A file would come to far more than it is."""


@dataclass
class Budget:
    """Of a file of so many bytes, for as long as it is read. `taken` grows, and is never given
    back: a copy that goes away soon has taken its time."""

    file_bytes: int
    bytes_taken: int = field(default=0, init=False)
    nodes_taken: int = field(default=0, init=False)
    objects_taken: int = field(default=0, init=False)

    @property
    def most_bytes(self) -> int:
        return max(_BYTES_AT_LEAST, _BYTES_PER_BYTE * self.file_bytes)

    def take_bytes(self, count: int, what: str) -> None:
        """OverBudget where there are not as many left. `what` has them: "its constants"."""
        self.bytes_taken += count
        if self.bytes_taken > self.most_bytes:
            raise OverBudget(
                f"{what} would come to {self.bytes_taken} bytes, and a file of {self.file_bytes} "
                f"may become {self.most_bytes}"
            )

    def has_bytes(self, count: int) -> bool:
        """Whether as many are left, which are taken then: for what can be left undone."""
        if self.bytes_taken + count > self.most_bytes:
            return False
        self.bytes_taken += count
        return True

    def take_numbers(self, count: int, what: str) -> None:
        """As take_bytes() of numbers that Python keeps one by one."""
        self.take_bytes(count * _NUMBER_BYTES, what)

    def take_nodes(self, count: int, what: str = "it") -> None:
        self.nodes_taken += count
        if self.nodes_taken > _NODES:
            raise OverBudget(f"{what} comes to {self.nodes_taken} nodes, and no model has {_NODES}")

    def take_objects(self, count: int, what: str = "it") -> None:
        self.objects_taken += count
        if self.objects_taken > _OBJECTS:
            raise OverBudget(
                f"{what} has {self.objects_taken} tables, and no model has more than {_OBJECTS}"
            )


def excerpt(value: object) -> str:
    """A name or numbers of a file's for a message, which is not to be as long as the file says."""
    if isinstance(value, (list, tuple)) and len(value) > _MOST_SHOWN // 4:
        return f"{list(value[:8])} and {len(value) - 8} more"
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
