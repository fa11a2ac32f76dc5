# SPDX-License-Identifier: Apache-2.0
"""Results as JUnit's XML, for CI servers."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from halyard import output_file

# Characters that XML 1.0 can't hold.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Kind(StrEnum):
    PASSED = ""
    FAILURE = "failure"
    ERROR = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Row:
    """`message` and `type`, where it ended, are of what did not pass."""

    suite: str
    name: str
    kind: Kind = Kind.PASSED
    message: str = ""
    type: str = ""
    seconds: float = 0.0


def write(path: Path, title: str, rows: Sequence[Row], seconds: float) -> None:
    counts = Counter(row.kind for row in rows)
    suite = ET.Element(
        "testsuite",
        name=title,
        tests=str(len(rows)),
        failures=str(counts[Kind.FAILURE]),
        errors=str(counts[Kind.ERROR]),
        skipped=str(counts[Kind.SKIPPED]),
        time=f"{seconds:.3f}",
    )
    for row in rows:
        test = ET.SubElement(
            suite,
            "testcase",
            classname=_text(row.suite),
            name=_text(row.name),
            time=f"{row.seconds:.6f}",
        )
        if row.kind is not Kind.PASSED:
            ET.SubElement(test, row.kind.value, message=_text(row.message), type=row.type)
    top = ET.Element("testsuites")
    top.append(suite)
    output_file.write(path, ET.tostring(top, encoding="utf-8", xml_declaration=True) + b"\n")


def _text(text: str) -> str:
    return _NOT_XML.sub("?", text)
