# SPDX-License-Identifier: Apache-2.0
"""Adds up the JUnit files of a test run and says how many tests ran on what, and how long they
took one after the other.

Usage: summary.py [--phases FILE] FOLDER...

With a file of phases, those of the call of make that HALYARD_MAKE names come first. What was not
run for want of golden cases is told once, in front of the total.

A folder with a programs.xml is ctest's: its tests are test programs, whose single tests are in a
file named after each. A program that failed beyond what its file says (it died, or leaked as it
ended) counts as one failed test.
"""

import argparse
import os
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
    seconds: float = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Tally") -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.seconds += other.seconds
        self.reasons += other.reasons


PROGRAMS = "programs.xml"
# How the reason begins why a test was skipped that takes golden cases (halyard.golden_folder).
NO_GOLDENS = "no golden cases"
# How phase.sh ends the names of phases that ran beside others.
BESIDE = " (beside others)"


def place(file: Path, case: ElementTree.Element) -> str:
    """Where a test ran, from the file it was reported in and the module it lives in."""
    if (file.parent / PROGRAMS).is_file():
        return "host, C++ units"
    where = case.get("classname", "")
    if where.startswith("tests.device"):
        return "virtual device (x86-64, kernel binder)"
    if where.startswith(("tests.arm64.test_virtual_device", "tests.arm64.test_large_pages")):
        return "virtual device (arm64, kernel binder)"
    if where.startswith("tests.arm64"):
        return "host, arm64 programs emulated"
    return "host, Python"


def failed(case: ElementTree.Element) -> bool:
    return case.find("failure") is not None or case.find("error") is not None


def read(file: Path, tallies: dict[str, Tally]) -> None:
    for case in ElementTree.parse(file).iter("testcase"):
        tally = tallies.setdefault(place(file, case), Tally())
        # pytest's skipped tests and GTEST_SKIP have an element, DISABLED_ ones are not run.
        skipped = case.find("skipped")
        tally.seconds += float(case.get("time", 0))
        if failed(case):
            tally.failed += 1
        elif skipped is not None or case.get("status") == "notrun":
            tally.skipped += 1
            message = skipped.get("message") if skipped is not None else "disabled"
            tally.reasons[message or "no reason given"] += 1
        else:
            tally.passed += 1


def read_programs(file: Path, tallies: dict[str, Tally]) -> None:
    for program in ElementTree.parse(file).iter("testcase"):
        singles = file.with_name(f"{program.get('name')}.xml")
        found: dict[str, Tally] = {}
        if singles.is_file():
            read(singles, found)
        if program.get("status") != "run" and not any(tally.failed for tally in found.values()):
            found.setdefault(place(file, program), Tally()).failed += 1
            print(f"{program.get('name')} failed, and none of its tests did: see ctest's output")
        for where, tally in found.items():
            tallies.setdefault(where, Tally()).add(tally)


def print_phases(file: Path) -> None:
    """Lines of a call, a phase and its seconds. What ran beside others is no part of the sum."""
    call = os.environ.get("HALYARD_MAKE", "0")
    rows = [line.split("\t") for line in file.read_text().splitlines()] if file.exists() else []
    phases: Counter[str] = Counter()
    for of_call, name, seconds in rows:
        if of_call == call:
            phases[name] += int(seconds)
    for name, total in phases.items():
        print(f"{total:5} s  {name}")
    alone = [total for name, total in phases.items() if not name.endswith(BESIDE)]
    print(f"{sum(alone):5} s  in all")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--phases", type=Path)
    arguments.add_argument("folders", type=Path, nargs="+")
    given = arguments.parse_args()
    if given.phases is not None:
        print_phases(given.phases)
    tallies: dict[str, Tally] = {}
    for folder in given.folders:
        if (folder / PROGRAMS).is_file():
            read_programs(folder / PROGRAMS, tallies)
        else:
            for file in sorted(folder.glob("*.xml")):
                read(file, tallies)
    total = Tally()
    for where, tally in sorted(tallies.items()):
        print(
            f"{where}: {tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped, "
            f"{tally.seconds:.0f} s"
        )
        for reason, count in tally.reasons.most_common():
            if not reason.startswith(NO_GOLDENS):
                print(f"    {count} skipped: {reason}")
        total.add(tally)
    without = {why: count for why, count in total.reasons.items() if why.startswith(NO_GOLDENS)}
    if without:
        print(
            f"NOT RUN: {sum(without.values())} tests of the official cases; {next(iter(without))}"
        )
    print(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped")
    sys.exit(1 if total.failed or not total.passed else 0)


if __name__ == "__main__":
    main()
