# SPDX-License-Identifier: Apache-2.0
"""Cases that failed last time on a device, for --last-failed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path

from halyard import paths
from halyard.conformance.outcome import Outcome
from halyard.errors import HalyardError


class History:
    """The names of the cases that did not end well when they last ran on the device.

    A case that is run again and passes leaves it; one that is not run stays. Where nothing can be
    read there is no history, and where nothing can be written none is kept.
    """

    def __init__(self, device: str, folder: Path | None = None) -> None:
        slug = re.sub(r"[^A-Za-z0-9_.-]+", "-", device).strip("-") or "device"
        try:
            self._path = (folder or paths.cache() / "conformance") / f"{slug}.json"
        except HalyardError:
            self._path = Path(os.devnull)

    def failed(self) -> frozenset[str]:
        try:
            names = json.loads(self._path.read_text())["failed"]
            return frozenset(str(name) for name in names)
        except (OSError, ValueError, KeyError, TypeError):
            return frozenset()

    def keep(self, outcomes: Iterable[Outcome]) -> None:
        failed = set(self.failed())
        for outcome in outcomes:
            if outcome.status.is_good:
                failed.discard(outcome.name)
            else:
                failed.add(outcome.name)
        if not self._path.suffix:
            return
        content = json.dumps({"failed": sorted(failed)}, indent=1)
        part = self._path.with_suffix(f".{os.getpid()}")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            part.write_text(content)
            part.replace(self._path)
        except OSError:
            return
