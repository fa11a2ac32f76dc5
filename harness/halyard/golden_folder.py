# SPDX-License-Identifier: Apache-2.0
"""Where the golden cases lie that tests and commands take when none is named.

They are not part of the repository: `make goldens SPECS=DIR` makes them of the official specs.
tests/fresh.py imports this file without the packages that Halyard needs.
"""

import os
from pathlib import Path

from halyard.programs import native

VARIABLE = "HALYARD_GOLDENS"
HOW_TO_GET = "`make goldens SPECS=DIR` makes them (docs/conformance.md)"


def find() -> Path | None:
    """The folder that HALYARD_GOLDENS names, whatever lies there; else the first of these that has
    an index.json: build/goldens in the checkout, ../shared/conformance beside it. None where none
    has."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    folders = (made(), native.checkout().parent / "shared" / "conformance")
    return next((folder for folder in folders if (folder / "index.json").is_file()), None)


def made() -> Path:
    """Where `make goldens` puts them, unless HALYARD_GOLDENS names another folder."""
    return native.checkout() / "build" / "goldens"


def absent() -> str:
    """Why there are no golden cases, and how to get them; empty where there is an index of some."""
    folder = find()
    if folder is None:
        return f"no golden cases: {HOW_TO_GET}"
    if not (folder / "index.json").is_file():
        return f"no golden cases in {folder}, which {VARIABLE} names: {HOW_TO_GET}"
    return ""
