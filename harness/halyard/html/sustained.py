# SPDX-License-Identifier: Apache-2.0
"""A model's time under sustained load."""

from __future__ import annotations

import msgspec

from halyard.html.variants import threads_text
from halyard.plots.plot import Plot
from halyard.plots.sustained import Window, sustained
from halyard.store import Results

# Documents that are looked at, the last ones, and plots.
_DOCUMENTS = 40
_PLOTS = 8


class _Window(msgspec.Struct):
    begin_s: float
    median_ms: float
    temperature_c: float | None = None


class _Sustained(msgspec.Struct):
    windows: list[_Window] = []


class _Result(msgspec.Struct):
    model: str = ""
    type: str = ""
    size: int = 0
    threads: int = 0
    sustained: _Sustained | None = None


class _Bench(msgspec.Struct):
    results: list[_Result] = []


class _Model(msgspec.Struct):
    name: str = ""
    type: str = ""
    size: int = 0


class _Run(msgspec.Struct):
    model: _Model
    sustained: _Sustained | None = None

    @property
    def results(self) -> list[_Result]:
        return [_Result(self.model.name, self.model.type, self.model.size, 0, self.sustained)]


_KINDS: dict[str, type[_Bench | _Run]] = {"bench": _Bench, "run": _Run}


def plots(results: Results) -> list[Plot]:
    """The last one of each model on each device."""
    last: dict[str, list[Window]] = {}
    documents = [each for each in results.documents() if each.kind in _KINDS]
    for document in documents[-_DOCUMENTS:]:
        try:
            said = msgspec.json.decode(results.content(document.id), type=_KINDS[document.kind])
        except msgspec.MsgspecError:
            continue
        for result in said.results:
            if result.sustained is not None and result.sustained.windows:
                words = [
                    f"{result.model} {result.type} {result.size or ''}".strip(),
                    document.device,
                    threads_text(result.threads),
                ]
                last[", ".join(word for word in words if word)] = [
                    Window(each.begin_s, each.median_ms, each.temperature_c)
                    for each in result.sustained.windows
                ]
    return [
        sustained(f"sustained-{number}", f"{name} under load", windows)
        for number, (name, windows) in enumerate(list(last.items())[:_PLOTS], 1)
    ]
