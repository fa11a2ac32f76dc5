# SPDX-License-Identifier: Apache-2.0
"""Graphs as drawings, by Graphviz's program dot where it is installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from halyard.errors import HalyardError, ProgramMissing

DRAWINGS = (".svg", ".png", ".pdf")


def check_drawable(source: Path, path: Path) -> None:
    """ProgramMissing where a drawing is wanted and nothing here draws it."""
    if path.suffix in DRAWINGS and shutil.which("dot") is None:
        raise ProgramMissing(
            f"{path}: a drawing takes Graphviz's program dot, which is not installed here (apt "
            f"install graphviz); where it is: halyard convert {source} --graph - | "
            f"dot -T{path.suffix[1:]} >{path.name}"
        )


def drawn(graph: str, kind: str) -> bytes:
    """Of what dot.dot gives, as svg, png or pdf."""
    done = subprocess.run(["dot", f"-T{kind}"], input=graph.encode(), capture_output=True)
    if done.returncode != 0:
        raise HalyardError(f"dot failed: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout
