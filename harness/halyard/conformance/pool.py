# SPDX-License-Identifier: Apache-2.0
"""Cases that several devices share: who takes which, and what becomes of those of one that drops
out."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Sequence

from halyard.conformance.plan import Planned

# Cases that are taken at once at the end: each time takes another start of the runner.
_FEWEST = 32
# And at the beginning: all that are slow may lie together.
_MOST = 250
# Devices that one case may bring down.
_DEVICES_PER_CASE = 2


class Pool:
    """For several threads. Each takes a share of what is left, smaller and smaller, so that all end
    at about the same time however fast they are (guided self-scheduling)."""

    def __init__(self, runs: Sequence[Planned], takers: int, fewest: int = _FEWEST) -> None:
        self._left = deque(runs)
        self._takers = takers
        self._fewest = fewest
        self._busy = 0
        self._brought_down: Counter[str] = Counter()
        self._is_stopped = False
        self._changed = threading.Condition()

    def take(self) -> list[Planned]:
        """Some cases, to be followed by `done` or `give_back`; none: there won't be any more. Waits
        while others have cases that they may give back."""
        with self._changed:
            while not self._left and self._busy and not self._is_stopped:
                self._changed.wait()
            if self._is_stopped:
                return []
            share = len(self._left) // (2 * self._takers)
            count = min(max(min(share, _MOST), self._fewest), len(self._left))
            taken = [self._left.popleft() for _ in range(count)]
            self._busy += bool(taken)
            return taken

    def done(self) -> None:
        with self._changed:
            self._busy -= 1
            self._changed.notify_all()

    def give_back(self, left: Sequence[Planned]) -> Planned | None:
        """Of a device that has dropped out: what it did not run, in order. The first ran when it
        did; that is given instead of being run anywhere else once it has brought down two."""
        with self._changed:
            self._busy -= 1
            self._takers = max(self._takers - 1, 1)
            suspect = None
            if left:
                self._brought_down[left[0].name] += 1
                if self._brought_down[left[0].name] >= _DEVICES_PER_CASE:
                    suspect, left = left[0], left[1:]
            self._left.extendleft(reversed(left))
            self._changed.notify_all()
            return suspect

    def stop(self) -> None:
        """No device is given any more."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()

    @property
    def is_stopped(self) -> bool:
        return self._is_stopped

    def unrun(self) -> list[Planned]:
        """When all threads have ended."""
        return list(self._left)
