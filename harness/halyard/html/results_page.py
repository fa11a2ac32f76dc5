# SPDX-License-Identifier: Apache-2.0
"""The report: all sections that a file of results has something for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from halyard.errors import HalyardError
from halyard.html import (
    accuracy,
    conditions,
    conformance,
    findings,
    page,
    placement,
    profile,
    runs,
    summary,
    timing,
)
from halyard.html.blocks import Plots, Section
from halyard.plots.plot import Plot
from halyard.store import Results
from halyard.terminal.console import printable

_SECTIONS: Sequence[Callable[[Results], Section | None]] = (
    summary.section,
    summary.devices_section,
    conformance.section,
    runs.section,
    accuracy.section,
    findings.compare,
    timing.section,
    conditions.section,
    placement.section,
    profile.section,
    findings.doctor,
    runs.others,
)


def sections_of(results: Results) -> list[Section]:
    """HalyardError where there is nothing to report."""
    documents = results.documents()
    if not documents:
        raise HalyardError(
            f"{results.path}: it has no results, or none of those that were asked for"
        )
    made = (make(results) for make in _SECTIONS)
    return [section for section in made if section is not None]


def plots_of(sections: Sequence[Section]) -> list[Plot]:
    return [
        plot
        for section in sections
        for block in section.blocks
        if isinstance(block, Plots)
        for plot in block.plots
    ]


def written(results: Results, sections: Sequence[Section], *, plots: bool = True) -> bytes:
    """The same results give the same bytes. `plots`: whether to draw them."""
    documents = results.documents()
    first, last = (each.at[:16].replace("T", " ") for each in (documents[0], documents[-1]))
    name = printable(results.name)
    count = "1 result" if len(documents) == 1 else f"{len(documents)} results"
    span = first if first == last else f"{first} to {last}"
    lead = [f"{count} of {span} UTC, in {name}"]
    if not plots:
        lead.append("Without plots.")
    return page.render("Halyard report", lead, sections, plots=plots)
