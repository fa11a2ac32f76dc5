# SPDX-License-Identifier: Apache-2.0
"""The kept results of the real models' runs, and the table that the docs have of it.

`python -m tests.real.table FOLDER KEPT PAGE` puts the outcomes that a run has left in FOLDER into
the file of those that are kept, and their table into the page.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from tests.real import catalog
from tests.real.catalog import Model
from tests.real.trial import Outcome

KEPT = Path(__file__).with_name("outcomes.json")
PAGE = Path(__file__).parents[2] / "docs" / "real-models.md"

BEGIN = "<!-- made of tests/real/outcomes.json by `make real-table` -->"
END = "<!-- end of what is made -->"

# Kinds of operators that a row names; where there are more, the number of the others stands there.
_NAMED = 4

Outcomes = Mapping[str, Outcome]


def file_of(model: Model, folder: Path) -> Path:
    return folder / f"{model.name.replace('/', '+')}.json"


def leave(model: Model, outcome: Outcome, folder: Path) -> None:
    """Keeps an outcome until the table is made anew."""
    folder.mkdir(parents=True, exist_ok=True)
    file_of(model, folder).write_bytes(msgspec.json.encode(outcome))


def left(models: Sequence[Model], folder: Path) -> dict[str, Outcome]:
    """Those of the models' present files."""
    found = {}
    for model in models:
        path = file_of(model, folder)
        if path.exists():
            outcome = msgspec.json.decode(path.read_bytes(), type=Outcome)
            if outcome.sha256 == model.sha256:
                found[model.name] = outcome
    return found


def kept(path: Path = KEPT) -> dict[str, Outcome]:
    return msgspec.json.decode(path.read_bytes(), type=dict[str, Outcome])


def as_json(models: Sequence[Model], outcomes: Outcomes) -> bytes:
    """In the order of the list; what is no longer on it goes."""
    ordered = {model.name: outcomes[model.name] for model in models if model.name in outcomes}
    return msgspec.json.format(msgspec.json.encode(ordered), indent=1) + b"\n"


def as_markdown(models: Sequence[Model], outcomes: Outcomes) -> str:
    lines = [
        "| package | model | what it does | operators | runs | agreement | ratio |",
        "|---|---|---|---:|---|---:|---:|",
    ]
    for model in models:
        outcome = outcomes.get(model.name)
        cells = [str(model.package), f"`{Path(model.path).name}`", model.kind]
        if model.fails:
            cells += ["", f"no: “{model.fails}”", "", ""]
        elif outcome is None:
            cells += ["", "not run yet", "", ""]
        else:
            said = "disputed: " if model.disputed else ""
            agreement = said + _agreement(outcome)
            cells += [str(outcome.operators), _runs(outcome), agreement, _ratio(outcome)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", _sum(models, outcomes), ""])


def _runs(outcome: Outcome) -> str:
    if outcome.is_whole:
        return "whole"
    counted = sorted(outcome.host.items(), key=lambda item: (-item[1], item[0]))
    named = [f"{name} × {count}" if count > 1 else name for name, count in counted[:_NAMED]]
    if len(counted) > _NAMED:
        named[-1:] = [f"{len(counted) - _NAMED + 1} other kinds"]
    parts = outcome.device_parts + outcome.host_parts
    where = "all on the host" if not outcome.device_parts else f"in {parts} parts"
    return f"{where}; host: {', '.join(named)}"


def _agreement(outcome: Outcome) -> str:
    texts = []
    if outcome.steps:
        texts.append("1 step" if outcome.steps == 1 else f"{outcome.steps} steps")
    if outcome.error:
        texts.append(f"{outcome.error:.1g}")
    return ", ".join(texts) or "exact"


def _ratio(outcome: Outcome) -> str:
    return f"{outcome.ratio:.2g}" if outcome.ratio is not None else ""


def _sum(models: Sequence[Model], outcomes: Outcomes) -> str:
    there = [outcomes[model.name] for model in models if model.name in outcomes and not model.fails]
    whole = sum(outcome.is_whole for outcome in there)
    failing = sum(bool(model.fails) for model in models)
    count = sum(bool(model.disputed) for model in models)
    disputed = f"the results of {count} are disputed" if count else "no result is disputed"
    packages = {model.package for model in models}
    return (
        f"{len(models)} models of {len(packages)} packages: {whole} run whole, "
        f"{len(there) - whole} in parts, {failing} not; {disputed}."
    )


def within(page: str, made: str) -> str:
    """The page with another table."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"no place for the table: {BEGIN} … {END}")
    return f"{before}{BEGIN}\n\n{made}\n{END}{after}"


def main(words: Sequence[str]) -> None:
    folder, kept_at, page = map(Path, words)
    models = catalog.read()
    outcomes = {**(kept(kept_at) if kept_at.exists() else {}), **left(models, folder)}
    kept_at.write_bytes(as_json(models, outcomes))
    page.write_text(within(page.read_text(), as_markdown(models, outcomes)))


if __name__ == "__main__":
    main(sys.argv[1:])
