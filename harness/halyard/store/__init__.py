# SPDX-License-Identifier: Apache-2.0
"""Results of many runs and devices in one SQLite file (docs/results.md)."""

from halyard.store.reading import Results
from halyard.store.store import Origin, Store, check

__all__ = ["Origin", "Results", "Store", "check"]
