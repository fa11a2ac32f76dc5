# SPDX-License-Identifier: Apache-2.0
"""Profiles: the time of each node of a model."""

from __future__ import annotations

from halyard.html import blocks
from halyard.html.blocks import Block, Plots, Section, Table
from halyard.html.variants import threads_text
from halyard.plots.bars import side_by_side
from halyard.plots.plot import Plot
from halyard.store import Results
from halyard.store.reading import Node, Profile

# Of models with plots and tables, of bars in a plot, and of rows in a table.
_MODELS = 12
_BARS = 12
_NODES = 40

_COLUMNS = blocks.columns(
    "Operation",
    "Node",
    "Type",
    "Backend",
    "Kernel",
    "Median ms",
    "Share",
    numbers=("Median ms", "Share"),
)


def section(results: Results) -> Section | None:
    profiles = results.profiles()
    if not profiles:
        return None
    plots: list[Plot] = []
    tables: list[Block] = []
    for number, profile in enumerate(profiles[:_MODELS], 1):
        nodes = results.nodes(profile)
        words = [
            f"{profile.model} on {profile.device}",
            profile.backends,
            threads_text(profile.threads or 0),
        ]
        title = ", ".join(word for word in words if word)
        plots.append(_plot(number, title, nodes))
        tables.append(_table(title, profile, nodes))
    found: list[Block] = [Plots(plots), *tables]
    if len(profiles) > _MODELS:
        left = len(profiles) - _MODELS
        found.append(blocks.Note(f"{left} more profiles are in the file of results."))
    return Section("profile", "Profile", found)


def _plot(number: int, title: str, nodes: list[Node]) -> Plot:
    rows: dict[str, list[float | None]] = {
        _name(node): [1e3 * node.median] for node in nodes[:_BARS]
    }
    rest = sum(node.median for node in nodes[_BARS:])
    if rest:
        rows[f"{len(nodes) - _BARS} more"] = [1e3 * rest]
    return side_by_side(f"profile-{number}", f"{title}: slowest nodes", "µs", ["time"], rows)


def _name(node: Node) -> str:
    """ "operation 12 (CONV_2D)" without what every one has."""
    return node.label.removeprefix("operation ").replace("(", "").rstrip(")") or node.node


def _table(title: str, profile: Profile, nodes: list[Node]) -> Table:
    whole = sum(node.median for node in nodes)
    rows = [
        [
            blocks.text(_name(node)),
            blocks.text(node.node),
            blocks.text(node.type),
            blocks.text(node.backend),
            blocks.text(node.kernel),
            blocks.milliseconds(node.median),
            blocks.number(None if node.share is None else 100 * node.share, ".1f", unit=" %"),
        ]
        for node in nodes[:_NODES]
    ]
    caption = f"{title}: {len(nodes)} nodes, {whole:.3g} ms ({profile.at[:16].replace('T', ' ')})"
    return Table.of(caption, _COLUMNS, rows, max(0, len(nodes) - _NODES), folded=True)
