# SPDX-License-Identifier: Apache-2.0
"""An SVG file as an element of a page.

A page forbids styles within elements, has one set of ids and is light or dark: so properties become
attributes, ids have the plot's name, and colours those of the page's variables.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping

_HREF = "{http://www.w3.org/1999/xlink}href"
# Of a document, and of what outlines would be drawn by.
_LEFT_OUT = ("metadata", "style", "title")
# The page says which letters it has, and how large those of a plot are.
_FONT = re.compile(r"(?:(bold|\d+)\s+)?([\d.]+)px\s")


def inlined(content: bytes, name: str, text: str, colours: Mapping[str, str]) -> str:
    """`colours`: the names of the page's variables by the colours of the file."""
    root = ET.fromstring(content)
    _clean(root)
    for attribute in ("width", "height", "version"):
        root.attrib.pop(attribute, None)
    used = set(_references(root))
    for element in root.iter():
        _name_ids(element, used, name)
        _unstyle(element, colours)
    root.set("class", "plot")
    root.set("role", "img")
    root.set("aria-label", text)
    return ET.tostring(root, encoding="unicode")


def _clean(element: ET.Element) -> None:
    """Without what a page does not need, and without namespaces, which HTML knows by itself."""
    for child in list(element):
        child.tag = child.tag.rpartition("}")[2]
        if child.tag in _LEFT_OUT:
            element.remove(child)
        else:
            _clean(child)
    element.tag = element.tag.rpartition("}")[2]
    if _HREF in element.attrib:
        element.set("href", element.attrib.pop(_HREF))
    # Ends of lines, for people who read the file.
    if element.tag != "text":
        element.text = None
    element.tail = None


def _references(root: ET.Element) -> Iterator[str]:
    for element in root.iter():
        if "href" in element.attrib:
            yield element.attrib["href"].removeprefix("#")
        for value in element.attrib.values():
            yield from re.findall(r"url\(#([^)]*)\)", value)


def _name_ids(element: ET.Element, used: set[str], name: str) -> None:
    own = element.attrib.pop("id", "")
    if own in used:
        element.set("id", f"{name}-{own}")
    for key, value in element.attrib.items():
        if key == "href":
            element.set(key, f"#{name}-{value.removeprefix('#')}")
        elif "url(#" in value:
            element.set(key, value.replace("url(#", f"url(#{name}-"))


def _unstyle(element: ET.Element, colours: Mapping[str, str]) -> None:
    for declaration in element.attrib.pop("style", "").split(";"):
        key, _, value = (part.strip() for part in declaration.partition(":"))
        if key == "font":
            found = _FONT.match(value)
            if found:
                element.set("font-size", found[2])
        elif key:
            element.set(key, value)
    for key in ("fill", "stroke"):
        colour = colours.get(element.attrib.get(key, ""))
        if colour:
            element.set(key, f"var(--{colour})")
