# SPDX-License-Identifier: Apache-2.0
"""Where the time of a model went, as a flame graph: a drawing in one file, or folded stacks."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from halyard.profiling.node_times import NodeTime, operation_of
from halyard.terminal.console import printable
from halyard.terminal.durations import microseconds

_WIDTH = 1200
_ROW = 18
_MARGIN = 10
_HEAD = 34
# Of a letter of 11 pixels, on average.
_LETTER = 6.4


@dataclass
class Frame:
    name: str
    time_ns: int = 0
    inside: dict[str, Frame] = field(default_factory=dict)

    def add(self, stack: Sequence[str], time_ns: int) -> None:
        self.time_ns += time_ns
        if stack:
            frame = self.inside.setdefault(stack[0], Frame(stack[0]))
            frame.add(stack[1:], time_ns)

    @property
    def depth(self) -> int:
        return 1 + max((each.depth for each in self.inside.values()), default=0)


def stack_of(time: NodeTime) -> list[str]:
    """The backend, the kind of operation, and the node with its kernel."""
    row = time.row
    node = f"{time.name} [{row.kernel}]" if row.kernel else time.name
    frames = [row.backend or "nothing", operation_of(row.label) or row.node, node]
    # Names come from the device, and a drawing has no control characters.
    return [printable(frame).replace("\n", " ").replace("\t", " ") for frame in frames]


def folded(model: str, times: Sequence[NodeTime]) -> str:
    """A line for each stack, with nanoseconds: what flamegraph.pl and speedscope.app read."""
    lines = []
    for time in times:
        frames = [" ".join(printable(model).split()), *stack_of(time)]
        # A separator of frames is no part of one.
        words = [frame.replace(";", ",") for frame in frames]
        lines.append(f"{';'.join(words)} {time.row.median_ns}\n")
    return "".join(lines)


def svg(model: str, times: Sequence[NodeTime]) -> str:
    """It needs nothing beside, and no script: a frame tells its time when it is pointed at."""
    root = Frame(printable(model))
    for time in times:
        root.add(stack_of(time), time.row.median_ns)
    height = _HEAD + root.depth * _ROW + _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        'font-family="sans-serif" font-size="11">',
        f'<text x="{_MARGIN}" y="20" font-size="14">{escape(printable(model))}: '
        f"{microseconds(root.time_ns / 1e6)} ms in all nodes</text>",
    ]
    if root.time_ns:
        _draw(parts, root, root.time_ns, _MARGIN, 0)
    return "\n".join([*parts, "</svg>\n"])


def _draw(parts: list[str], frame: Frame, total: int, x: float, level: int) -> None:
    width = frame.time_ns / total * (_WIDTH - 2 * _MARGIN)
    y = _HEAD + level * _ROW
    told = f"{frame.name}: {microseconds(frame.time_ns / 1e6)} ms, {frame.time_ns / total:.1%}"
    letters = int((width - 6) / _LETTER)
    name = frame.name if len(frame.name) <= letters else frame.name[: max(0, letters - 1)] + "…"
    parts.append(
        f'<g><title>{escape(told)}</title><rect x="{x:.2f}" y="{y}" width="{max(width, 0.2):.2f}" '
        f'height="{_ROW - 1}" rx="2" fill="{_colour(frame.name, level)}"/>'
    )
    if letters >= 3:
        parts.append(f'<text x="{x + 3:.2f}" y="{y + 12}">{escape(name)}</text>')
    parts.append("</g>")
    for each in frame.inside.values():
        _draw(parts, each, total, x, level + 1)
        x += each.time_ns / total * (_WIDTH - 2 * _MARGIN)


def _colour(name: str, level: int) -> str:
    """Warm, and the same for the same name in every drawing."""
    mixed = zlib.crc32(name.partition(" ")[2].encode() or name.encode())
    return f"hsl({mixed % 50 + 5},{75 if level else 30}%,{70 + mixed // 50 % 10}%)"
