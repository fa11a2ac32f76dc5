# SPDX-License-Identifier: Apache-2.0
"""Measurements in words."""

from halyard.measurement import Measurement, refusals, shares
from halyard.terminal import Terminal


def print_measurement(terminal: Terminal, measurement: Measurement) -> None:
    result = measurement.result
    driver = f", {result.version_string}" if result.version_string else ""
    terminal.detail(f"HAL        {measurement.hal} ({result.target}{driver})")
    for problem in measurement.problems:
        terminal.detail(f"PROBLEM    {problem}")
    if measurement.execution is None:
        return
    terminal.detail(f"agreement  {agreement(measurement)}")
    terminal.detail(f"time       {times(measurement)}")
    terminal.detail(f"prepared   in {result.prepare_ns / 1e6:.1f} ms{memory(measurement)}")
    for line in placement(measurement):
        terminal.detail(line)


def agreement(measurement: Measurement) -> str:
    if measurement.differences is None:
        return "not compared: LiteRT is not installed" if measurement.ok else "-"
    return f"with {measurement.reference}: " + "; ".join(
        difference.text() for difference in measurement.differences
    )


def times(measurement: Measurement) -> str:
    wall = measurement.wall
    if wall is None:
        return "unknown"
    text = (
        f"median {wall.median:.2f} ms (min {min(wall.values):.2f}, max {max(wall.values):.2f}, "
        f"first {wall.first:.2f}; {len(wall.values)} runs)"
    )
    if measurement.on_device is not None:
        text += f", of which the driver {measurement.on_device.median:.2f} ms"
    return text


def memory(measurement: Measurement) -> str:
    held = measurement.result.memory
    if not held.constant_bytes and not held.arena_bytes:
        return ""
    return f"; constants {held.constant_bytes / 2**20:.2f} MiB, arena {_kib(held.arena_bytes)}"


def _kib(size: int) -> str:
    return f"{size / 2**10:.0f} KiB"


def placement(measurement: Measurement) -> list[str]:
    rows = measurement.result.placement
    if not rows:
        return ["placement  unknown"]
    lines = []
    for share in shares(rows):
        kinds = ", ".join(f"{count} {kind}" for kind, count in share.kinds.items())
        pieces = "1 piece" if share.pieces == 1 else f"{share.pieces} pieces"
        lines.append(
            f"placement  {share.backend or 'nothing'}: {share.nodes} nodes in {pieces} ({kinds})"
        )
    for backend, reason, count in refusals(rows):
        lines.append(f"refused    {backend}: {count} nodes: {reason}")
    return lines
