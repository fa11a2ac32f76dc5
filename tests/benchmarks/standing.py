# SPDX-License-Identifier: Apache-2.0
"""Writes the table of ratios over processors into a page: FOLDER of `halyard bench --standing`, and
the PAGE."""

import sys
from pathlib import Path

from halyard.bench import standing


def main() -> None:
    folder, page = map(Path, sys.argv[1:])
    made = standing.as_markdown([standing.read(path) for path in sorted(folder.glob("*.json"))])
    page.write_text(standing.within(page.read_text(), made))


if __name__ == "__main__":
    main()
