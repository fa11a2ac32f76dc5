# SPDX-License-Identifier: Apache-2.0
"""The summary comes first: does it pass, agree, and stay as fast?"""

from __future__ import annotations

import json
from collections.abc import Sequence

from halyard.html import blocks
from halyard.html.blocks import Block, Cell, Section, Table, Tile, Tiles
from halyard.html.conformance import GOOD
from halyard.html.runs import last_runs
from halyard.html.timing import NOTICED, comparable, slower
from halyard.html.variants import Variant
from halyard.store import Results
from halyard.store.reading import Device

_WHERE = ("device", "hal", "backends", "threads")


def section(results: Results) -> Section:
    devices = results.devices()
    tiles = [
        *_cases(results),
        *_models(results),
        *_times(results),
        Tile(
            "Devices", str(len(devices)), _listed([each.name for each in devices]), link="devices"
        ),
    ]
    return Section("summary", "Summary", [Tiles(tiles), *_slower(results)])


def _cases(results: Results) -> list[Tile]:
    rows = results.outcomes()
    if not rows:
        return []
    count = sum(row.count for row in rows)
    bad = sum(row.count for row in rows if row.status not in GOOD)
    passed = sum(row.count for row in rows if row.status == "passed")
    value = f"{bad} failed" if bad else "none failed"
    about = f"as they last ran: {passed} of {count} cases passed"
    return [Tile("Conformance", value, about, "bad" if bad else "good", "conformance")]


def _models(results: Results) -> list[Tile]:
    last = [each for each in last_runs(results) if each.ok is not None]
    if not last:
        return []
    bad = sum(not each.ok for each in last)
    compared = {each.id for each in last} & {each.document for each in results.agreements()}
    value = f"{bad} failed" if bad else "none failed"
    about = f"as they last ran: {len(compared)} of {len(last)} compared with a reference"
    return [Tile("Models", value, about, "bad" if bad else "good", "runs")]


def _times(results: Results) -> list[Tile]:
    again = comparable(results)
    if not results.timings():
        return []
    if not again:
        return [Tile("Timing", "first times", "nothing before to compare with", link="timing")]
    found = slower(results)
    value = f"{len(found)} slower" if found else "none slower"
    about = f"by more than {100 * NOTICED:.0f} %, of {again} that were timed before"
    return [Tile("Timing", value, about, "warn" if found else "good", "timing")]


def _listed(words: Sequence[str], most: int = 4) -> str:
    more = [f"{len(words) - most} more"] if len(words) > most else []
    return ", ".join([*words[:most], *more])


def _slower(results: Results) -> list[Block]:
    found = slower(results)
    if not found:
        return []
    rows = [
        [
            blocks.text(variant.model),
            blocks.text(name),
            Cell(f"{100 * change:+.0f} %", change, "warn"),
        ]
        for (variant, change), name in zip(found, _where(found), strict=True)
    ]
    columns = blocks.columns("Model", "Where", "Change", numbers=("Change",))
    return [Table.of("Slower than the time before", columns, rows)]


def _where(found: Sequence[tuple[Variant, float]]) -> list[str]:
    return [
        ", ".join(word for part, word in variant.words().items() if word and part in _WHERE)
        for variant, _ in found
    ]


# ---- devices ------------------------------------------------------------------------------------

_DEVICES = blocks.columns(
    "Device",
    "Serial",
    "Processor",
    "System",
    "Driver",
    "Results",
    "First",
    "Last",
    numbers=("Results",),
)


def devices_section(results: Results) -> Section | None:
    devices = results.devices()
    if not devices:
        return None
    rows = [_device(each) for each in devices]
    return Section("devices", "Devices", [Table.of("Devices and their drivers", _DEVICES, rows)])


def _device(device: Device) -> list[Cell]:
    properties = _properties(device.properties)
    processor = properties.get("cpu") or properties.get("ro.product.cpu.abi", "")
    model = properties.get("ro.product.model", "")
    system = properties.get("ro.build.fingerprint") or properties.get("system", "")
    words = (f"{model} {processor}".strip(), "emulated" if device.emulated else "")
    return [
        blocks.text(device.name),
        blocks.text(device.serial),
        blocks.text(", ".join(each for each in words if each)),
        blocks.text(system),
        blocks.text(device.driver or blocks.NONE),
        blocks.count(device.documents),
        blocks.moment(device.first),
        blocks.moment(device.last),
    ]


def _properties(text: str) -> dict[str, str]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    if not isinstance(found, dict):
        return {}
    return {str(key): str(value) for key, value in found.items()}
