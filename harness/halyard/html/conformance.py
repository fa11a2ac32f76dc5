# SPDX-License-Identifier: Apache-2.0
"""Cases that passed, and in full those that did not."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from halyard.html import blocks
from halyard.html.blocks import Block, Cell, Details, Group, Plots, Section, Table
from halyard.plots.history import Point, Series, history
from halyard.store import Results
from halyard.store.reading import Case, OperationOutcomes

# Failed cases that are shown, and characters of what a case said: a device may fail them all.
CASES = 500
_TEXT = 4000

_KINDS = {"conformance": "Conformance", "vts": "Vendor test suite"}
_STATUSES: Sequence[tuple[str, blocks.Tone]] = (
    ("passed", "good"),
    ("failed", "bad"),
    ("crashed", "bad"),
    ("unsupported", ""),
    ("skipped", ""),
    ("xfailed", ""),
    ("xpassed", "bad"),
)
GOOD = ("passed", "unsupported", "skipped", "xfailed")


class _Told(msgspec.Struct):
    """Details of a case beyond its columns."""

    name: str = ""
    hal: str = ""
    model: str = ""
    log: str = ""


class _Cases(msgspec.Struct):
    """Of conformance or of VTS."""

    cases: list[_Told] = []
    tests: list[_Told] = []


def section(results: Results) -> Section | None:
    outcomes = results.outcomes()
    if not outcomes:
        return None
    counts: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    last: dict[tuple[str, str, str], str] = {}
    for row in outcomes:
        key = row.kind, row.device, row.hal
        counts[key][row.status] += row.count
        last[key] = max(row.last, last.get(key, ""))
    used = [each for each in _STATUSES if any(count[each[0]] for count in counts.values())]
    titles = [status for status, _ in used]
    columns = blocks.columns(
        "Device", "Suite", "HAL", "Cases", *titles, "When", numbers=("Cases", *titles)
    )
    rows = [
        [
            blocks.text(device),
            blocks.text(_KINDS.get(kind, kind)),
            blocks.text(hal),
            blocks.count(count.total()),
            *(blocks.count(count[status], tone) for status, tone in used),
            blocks.moment(last[kind, device, hal]),
        ]
        for (kind, device, hal), count in counts.items()
    ]
    found: list[Block] = [
        Table.of("What each case came to when it last ran", columns, rows),
        *_history(results),
        *_failed(results, sum(row.count for row in outcomes if row.status not in GOOD)),
        *_operations(results.operations()),
    ]
    return Section("conformance", "Conformance", found)


# ---- failed cases -------------------------------------------------------------------------------

_FAILED = blocks.columns(
    "Case",
    "Model",
    "Log",
    "Suite",
    "HAL",
    "Device",
    "Status",
    "Stage",
    "Reason",
    "Max error",
    numbers=("Max error",),
)


def _failed(results: Results, count: int) -> list[Block]:
    cases = results.bad_cases(CASES)
    if not cases:
        return []
    told = _told(results, cases)
    models: dict[str, Details] = {}
    logs: list[Details] = []
    rows = []
    for number, case in enumerate(cases, 1):
        said = told.get((case.document, case.name, case.hal), _Told())
        model = _model(case, said.model, models)
        logs.append(_log(number, case, said.log))
        rows.append(
            [
                Cell(case.name, link=f"log-{number}"),
                Cell("model", link=model) if model else blocks.text(blocks.NONE, "dim"),
                Cell("log", link=f"log-{number}"),
                blocks.text(case.suite),
                blocks.text(case.hal),
                blocks.text(case.device),
                blocks.text(case.status, "bad"),
                blocks.text(case.stage),
                blocks.text(case.message),
                blocks.number(case.max_error, ".3g"),
            ]
        )
    return [
        Table.of("Failed cases", _FAILED, rows, count - len(cases)),
        Group("Logs of failed cases", logs),
        *([Group("Models of failed cases", list(models.values()))] if models else []),
    ]


def _told(results: Results, cases: Iterable[Case]) -> Mapping[tuple[int, str, str], _Told]:
    """From the documents themselves: the columns leave out what is long."""
    found = {}
    for document in sorted({case.document for case in cases}):
        try:
            content = msgspec.json.decode(results.content(document), type=_Cases)
        except msgspec.MsgspecError:
            continue
        for each in (*content.cases, *content.tests):
            if each.model or each.log:
                found[document, each.name, each.hal] = each
    return found


def _model(case: Case, text: str, models: dict[str, Details]) -> str:
    """The id of what shows it, once for all cases that have the same."""
    if not text:
        return ""
    name = f"model-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    models.setdefault(name, Details(name, f"Model of {case.name}", _cut(text)))
    return name


def _log(number: int, case: Case, log: str) -> Details:
    lines = [
        f"case        {case.name}",
        f"suite       {case.suite}",
        f"device      {case.device}, HAL {case.hal}, {case.at}",
        f"operations  {case.operations or '-'}",
        f"status      {case.status}{f' at {case.stage}' if case.stage else ''}",
        "",
        _cut(case.message),
    ]
    if log:
        lines += ["", "log:", _cut(log)]
    return Details(
        f"log-{number}", f"Log of {case.name}, HAL {case.hal}, {case.device}", "\n".join(lines)
    )


def _cut(text: str) -> str:
    left = len(text) - _TEXT
    return text if left <= 0 else f"{text[:_TEXT]}\n... {left} characters more"


# ---- history and operations ---------------------------------------------------------------------


def _history(results: Results) -> list[Block]:
    points: dict[str, list[Point]] = defaultdict(list)
    for row in results.pass_rates():
        name = row.device if row.kind == "conformance" else f"{row.device}, {row.kind}"
        points[name].append(Point(row.at, float(row.count - row.good)))
    if all(len(each) < 2 for each in points.values()):
        return []
    series = [Series(name, each) for name, each in sorted(points.items())]
    return [Plots([history("failures", "Failed cases of each run", "failed cases", series)])]


def _operations(rows: Sequence[OperationOutcomes]) -> list[Block]:
    devices = sorted({row.device for row in rows})
    counted: dict[str, Counter[tuple[str, bool]]] = defaultdict(Counter)
    for row in rows:
        for operation in row.operations.split():
            counted[operation][row.device, row.status == "passed"] += row.count
    if not counted:
        return []
    columns = blocks.columns("Operation", *devices, numbers=devices)
    cells = [
        [blocks.text(name), *(_passed(count, device) for device in devices)]
        for name, count in sorted(counted.items())
    ]
    return [Table.of("Cases with each operation that passed", columns, cells)]


def _passed(count: Counter[tuple[str, bool]], device: str) -> Cell:
    passed, left = count[device, True], count[device, False]
    if not passed + left:
        return blocks.number(None)
    return Cell(f"{passed} of {passed + left}", passed / (passed + left), "warn" if left else "")
