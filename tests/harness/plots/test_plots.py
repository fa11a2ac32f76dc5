# SPDX-License-Identifier: Apache-2.0
"""Plots: the same bytes each time, as a page takes them, whatever they are named."""

import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from halyard.errors import HalyardError, PackageMissing
from halyard.plots.bars import shares, side_by_side
from halyard.plots.history import Point, Series, history
from halyard.plots.layer_errors import LayerError, layer_errors
from halyard.plots.plot import SERIES, Plot, label, matplotlib
from halyard.plots.sustained import Window, sustained

HISTORY = history(
    "times",
    "A model over time",
    "ms",
    [
        Series(
            "phone", [Point("2026-01-01T00:00", 2.0, (1.5, 2.5)), Point("2026-01-03T00:00", 3.0)]
        ),
        Series("_vm", [Point("2026-01-02T00:00", 1.0)]),
    ],
)
BARS = side_by_side("bars", "Beside", "ms", ["a", "b"], {"one": [1.0, None], "two": [3.0, 4.0]})
SHARES = shares("shares", "Where", ["CpuAcc", "CpuRef"], {"one": [3.0, 1.0], "two": [None, 2.0]})
LAYERS = layer_errors(
    "layers",
    "By layer",
    "max error",
    [LayerError("0 CONV_2D", 0.0, None, False), LayerError("1 ADD", 0.5, 0.1, True)],
)
LOAD = sustained("load", "Under load", [Window(0, 2.0, 30.0), Window(10, 3.0, 41.5)])
PLOTS = pytest.mark.parametrize(
    "plot", [HISTORY, BARS, SHARES, LAYERS, LOAD], ids=lambda each: each.name
)


@PLOTS
def test_the_same_data_gives_the_same_bytes(plot: Plot) -> None:
    assert plot.svg() == plot.svg()
    assert plot.png() == plot.png()
    assert plot.png().startswith(b"\x89PNG")


@PLOTS
def test_an_element_has_no_style_and_no_id_of_its_own(plot: Plot) -> None:
    """A page forbids the first and has other plots beside it; its colours are the page's."""
    root = ET.fromstring(plot.svg())
    assert (root.tag, root.get("class"), root.get("role")) == ("svg", "plot", "img")
    for element in root.iter():
        assert "style" not in element.attrib
        assert element.tag not in ("style", "metadata", "script")
        assert element.get("id", plot.name).startswith(plot.name)
        for name in ("fill", "stroke"):
            assert re.fullmatch(r"none|var\(--[a-z0-9-]+\)|", element.get(name, "")), element.attrib


@PLOTS
def test_what_an_element_refers_to_is_in_it(plot: Plot) -> None:
    root = ET.fromstring(plot.svg())
    ids = {element.get("id") for element in root.iter()}
    named = re.findall(r'href="#([^"]*)"|url\(#([^)]*)\)', plot.svg())
    assert named
    assert {one or other for one, other in named} <= ids


def texts(plot: Plot) -> list[str]:
    return ["".join(element.itertext()) for element in ET.fromstring(plot.svg()).iter("text")]


def test_shows_names_and_values() -> None:
    assert {"one", "two", "a", "b", "ms"} <= set(texts(BARS))
    assert {"1", "3", "4"} <= set(texts(BARS))
    assert {"CpuAcc", "CpuRef", "% of the operations"} <= set(texts(SHARES))
    assert {"phone", "_vm", "01-01 00:00", "01-03 00:00"} <= set(texts(HISTORY))


def test_errors_of_less_than_a_decade_have_plain_numbers() -> None:
    layers = [LayerError(f"{n} ADD", 6e-8 + n * 1e-8, None, False) for n in range(3)]
    drawn = layer_errors("layers", "a and b", "max error", layers).svg()
    assert re.findall(r">[6-8]e-08</text>", drawn)
    assert "mathdefault" not in drawn


def test_shows_a_load_with_the_devices_temperature_where_it_tells() -> None:
    assert {"median ms", "°C", "seconds"} <= set(texts(LOAD))
    assert "°C" not in texts(sustained("cold", "Cold", [Window(0, 2.0), Window(10, 3.0)]))


def test_says_in_words_what_is_seen() -> None:
    said = ET.fromstring(HISTORY.svg()).get("aria-label")
    assert said == "A model over time. phone: 2 to 3 in 2 runs ms; _vm: 1 ms"
    assert "two: a 3, b 4" in BARS.text


@pytest.mark.parametrize(
    "name", ["$x_1$", r"$\frac{", "<b>&amp;</b>", "]]>-->", "\x00\u202e", "_a"]
)
def test_a_name_is_a_text_whatever_it_says(name: str) -> None:
    plot = side_by_side("bars", name, name, [name, "b"], {name: [1.0, 2.0]})
    assert texts(plot).count(label(name)) >= 2
    assert plot.png()


def test_a_file_is_what_its_name_says(tmp_path: Path) -> None:
    for name, begin in (("a.svg", b"<?xml"), ("a.PNG", b"\x89PNG"), ("a.pdf", b"%PDF")):
        BARS.write(tmp_path / name)
        first = (tmp_path / name).read_bytes()
        assert first.startswith(begin)
        BARS.write(tmp_path / name)
        assert (tmp_path / name).read_bytes() == first
    with pytest.raises(HalyardError, match=r"a\.gif: a plot is written as \.svg, \.png, \.pdf"):
        BARS.write(tmp_path / "a.gif")


def test_more_series_than_there_are_colours_are_left_out() -> None:
    names = [f"s{number}" for number in range(12)]
    plot = side_by_side("bars", "Many", "ms", names, {"row": [1.0] * 12})
    assert f"s{len(SERIES) - 1}" in texts(plot)
    assert f"s{len(SERIES)}" not in texts(plot)
    series = [Series(name, [Point("2026-01-01T00:00", 1.0)]) for name in names]
    assert f"s{len(SERIES)}" not in texts(history("many", "Many", "ms", series))


def test_a_long_name_is_cut() -> None:
    assert label("x" * 100) == "x" * 43 + "…"
    assert label("a\n b\t c") == "a b c"


def test_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(PackageMissing, match=r"pip install 'halyard\[report\]'"):
        matplotlib()
