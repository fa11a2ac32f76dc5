# SPDX-License-Identifier: Apache-2.0
"""Adds up the JUnit files of a test run and says how many tests ran on what."""

import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Tally:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    reasons: Counter[str] = field(default_factory=Counter)


def place(file: Path, case: ElementTree.Element) -> str:
    """Where a test ran, from the file it was reported in and the module it lives in."""
    if file.stem == "native":
        return "host, C++ units"
    module = case.get("classname", "")
    if module.startswith("tests.device"):
        return "virtual device (x86-64, kernel binder)"
    return "host, Python"


def read(file: Path, tallies: dict[str, Tally]) -> None:
    for case in ElementTree.parse(file).iter("testcase"):
        tally = tallies.setdefault(place(file, case), Tally())
        if case.find("failure") is not None or case.find("error") is not None:
            tally.failed += 1
        elif (skipped := case.find("skipped")) is not None:
            tally.skipped += 1
            tally.reasons[skipped.get("message", "no reason given")] += 1
        else:
            tally.passed += 1


def main() -> None:
    tallies: dict[str, Tally] = {}
    for file in sorted(Path(sys.argv[1]).glob("*.xml")):
        read(file, tallies)
    total = Tally()
    for where, tally in sorted(tallies.items()):
        print(f"{where}: {tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped")
        for reason, count in tally.reasons.most_common():
            print(f"    {count} skipped: {reason}")
        total.passed += tally.passed
        total.failed += tally.failed
        total.skipped += tally.skipped
    print(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped")
    sys.exit(1 if total.failed or not total.passed else 0)


if __name__ == "__main__":
    main()
