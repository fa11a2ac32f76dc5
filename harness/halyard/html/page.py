# SPDX-License-Identifier: Apache-2.0
"""The page itself. It allows the one script and the one style that it has, by their digests, and
nothing from anywhere: what a device or a file smuggles in could not run."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path

import jinja2
from markupsafe import Markup

from halyard.html.blocks import Section
from halyard.terminal.console import printable

_FOLDER = Path(__file__).parent / "templates"


def render(title: str, lead: Sequence[str], sections: Sequence[Section], *, plots: bool) -> bytes:
    """`plots`: whether they can be drawn."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        autoescape=True,
        finalize=_finalized,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = (_FOLDER / "style.css").read_text()
    script = (_FOLDER / "script.js").read_text()
    policy = [
        "default-src 'none'",
        f"style-src {_digest(style)}",
        f"script-src {_digest(script)}",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    page = environment.get_template("page.html.j2").render(
        title=title,
        lead=lead,
        sections=sections,
        plots_are_drawn=plots,
        policy="; ".join(policy),
        # They are the package's own.
        style=Markup(style),
        script=Markup(script),
        markup=Markup,
    )
    return page.encode("utf-8", "backslashreplace")


def _finalized(value: object) -> object:
    """Every text but our own markup comes from devices and files."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
