# SPDX-License-Identifier: Apache-2.0
"""A conformance run on a terminal, or in a log: what fails, and the table at the end."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from halyard.conformance.fleet import Share
from halyard.conformance.outcome import Outcome, Status
from halyard.conformance.reports import Report
from halyard.terminal.console import Terminal
from halyard.terminal.progress import counts_text, failure_line, short


def _cases(count: int) -> str:
    return "1 case" if count == 1 else f"{count} cases"


def print_report(terminal: Terminal, report: Report) -> None:
    """The table of operations and types, all failures, and the counts."""
    if report.outcomes:
        _print_table(terminal, report.outcomes)
    _print_unsupported(terminal, report.outcomes)
    bad = [outcome for outcome in report.outcomes if not outcome.status.is_good]
    if bad:
        terminal.heading("failed")
        for outcome in bad:
            terminal.line(failure_line(outcome))
    terminal.line()
    counts = Counter(outcome.status for outcome in report.outcomes)
    terminal.line(
        f"{report.device}, {report.target}: {counts_text(counts, Status)} in {report.seconds:.1f} s"
    )
    if report.left_out:
        need = "needs" if report.left_out == 1 else "need"
        terminal.line(f"{_cases(report.left_out)} {need} another HAL version, and did not run")
    if report.unreadable:
        terminal.line(f"not read: {len(report.unreadable)} of the files")
        for problem in report.unreadable:
            terminal.detail(problem)
    if report.ended:
        missing = report.planned - len(report.outcomes)
        terminal.line(f"{missing} of {report.planned} cases did not run: {report.ended}")


def _print_table(terminal: Terminal, outcomes: Sequence[Outcome]) -> None:
    """A line per operation; each type has the cases that passed, of how many."""
    by_form: dict[tuple[str, str], Counter[Status]] = defaultdict(Counter)
    by_operation: dict[str, Counter[Status]] = defaultdict(Counter)
    for outcome in outcomes:
        for operation, type_name in outcome.forms:
            by_form[operation, type_name][outcome.status] += 1
        for operation in outcome.operations:
            by_operation[operation][outcome.status] += 1
    rows = []
    for operation, counts in sorted(by_operation.items()):
        types = [
            f"{type_name} {_share(form)}"
            for (name, type_name), form in sorted(by_form.items())
            if name == operation
        ]
        bad = sum(number for status, number in counts.items() if not status.is_good)
        unsupported = counts[Status.UNSUPPORTED]
        rows.append([operation, str(counts[Status.PASSED]), str(bad), str(unsupported)])
        rows[-1].append(", ".join(types))
    terminal.heading("operations, by the type that they compute with")
    numbers = ["passed", "failed", "unsupported"]
    terminal.table(["operation", *numbers, "passed of each type"], rows, numbers)


def print_differences(
    terminal: Terminal, found: Sequence[tuple[str, Mapping[str, Outcome]]]
) -> None:
    """The cases that came to something else on one device than on another."""
    terminal.heading("different on the devices")
    if not found:
        terminal.line("no case")
        return
    devices = list(dict.fromkeys(name for _, there in found for name in there))
    rows = [
        [case, *(there[name].status.value if name in there else "" for name in devices)]
        for case, there in found
    ]
    terminal.table(["case", *devices], rows)


_CELLS = 40


def print_schedule(terminal: Terminal, shares: Sequence[Share], seconds: float) -> None:
    """Each device's schedule: a cell is a fortieth of the whole."""
    terminal.heading(f"schedule, {seconds:.1f} s")
    rows = []
    for share in shares:
        cells = ["."] * _CELLS
        for turn in share.turns:
            first = int(turn.begin / max(seconds, 1e-9) * _CELLS)
            last = int(turn.end / max(seconds, 1e-9) * _CELLS)
            for at in range(first, min(last + 1, _CELLS)):
                cells[at] = "#"
        said = f"lost: {short(share.lost)}" if share.lost else ""
        rows.append(
            [
                share.name,
                str(len(share.outcomes)),
                f"{share.busy:.1f}",
                str(len(share.turns)),
                "".join(cells),
                said,
            ]
        )
    numbers = ["cases", "busy s", "turns"]
    terminal.table(["device", *numbers, "when", ""], rows, numbers)


def _share(counts: Counter[Status]) -> str:
    passed, total = counts[Status.PASSED], counts.total()
    return str(passed) if passed == total else f"{passed} of {total}"


def _print_unsupported(terminal: Terminal, outcomes: Sequence[Outcome]) -> None:
    """Each reason once for an operation and type."""
    reasons: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for outcome in outcomes:
        if outcome.status is Status.UNSUPPORTED:
            for form in outcome.forms:
                reasons[form][short(outcome.message)] += 1
    if not reasons:
        return
    terminal.heading("not supported")
    for (operation, type_name), messages in sorted(reasons.items()):
        [(message, number)] = messages.most_common(1)
        others = messages.total() - number
        more = f" (and {others} with other reasons)" if others else ""
        terminal.line(f"{operation} {type_name}: {_cases(messages.total())}: {message}{more}")
