# SPDX-License-Identifier: Apache-2.0
"""Golden cases as tests: one item per case, named as its spec names it.

A test function takes a case by the argument golden_case (a case of the suite), derived_case (a
variant of one) or any_case (either), and its `bundle`, which runs all cases that the function was
selected for at once, when the first of them is due. `-k conv2d` selects by name, `--operation
CONV_2D` selects the cases that have the operation.

The cases are not part of this repository; halyard.golden_folder says where they are looked for.
"""

import os
import random
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from halyard import golden_folder
from halyard.cases import Case, Verdict
from halyard.conformance.suite import Suite
from halyard.errors import HalyardError
from halyard.programs import native, operations
from tests import collected

_ARGUMENTS = ("golden_case", "derived_case", "any_case")
# The user who runs the tests may have defaults for the commands.
os.environ["HALYARD_SETTINGS"] = os.devnull
# Every start of the driver would look for OpenCL's devices, a tenth of a second each; the tests of
# GpuAcc do (OCL_ICD_VENDORS is where the loader of Debian's OpenCL looks).
os.environ.setdefault("OCL_ICD_VENDORS", "/nonexistent")


class Bundle:
    """The cases of one test function. They run together; each has its own verdict."""

    def __init__(self, suite: Suite) -> None:
        self.names: list[str] = []
        self._suite = suite
        self._verdicts: dict[str, Verdict] = {}
        self._error: HalyardError | None = None
        self._total: Counter[str] = Counter()
        self._passed: Counter[str] = Counter()

    def check(self, name: str, run: Callable[[Sequence[Case]], dict[str, Verdict]]) -> None:
        """Fails the test if the case does not pass. `run` is called once, with all cases."""
        if not self._verdicts and self._error is None:
            try:
                self._verdicts = run(self._suite.load(self.names))
            except HalyardError as error:
                self._error = error
        if self._error is not None:
            pytest.fail(str(self._error), pytrace=False)
        verdict = self._verdicts[name]
        for counted in (self._passed, self._total) if verdict.passed else (self._total,):
            counted.update(["", *self._suite.operations(name)])
        if not verdict.passed:
            pytest.fail(verdict.reason, pytrace=False)

    def report(self, *, by_operation: bool) -> list[str]:
        """ "7 of 9 pass", and the same for each operation."""
        if not self._total:
            return []
        names = sorted(self._total) if by_operation else [""]
        lines = [(name, f"{self._passed[name]} of {self._total[name]} pass") for name in names]
        return [f"  {name:24} {text}" if name else text for name, text in lines]


class GoldenTests:
    """The pytest plugin."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._opened = False
        self._suite: Suite | None = None
        self._absent = ""
        self.operations: dict[str, str] = {}  # that the driver lists, with their HAL versions
        self.names: dict[str, list[str]] = {}  # by the argument that takes them
        self._bundles: dict[str, Bundle] = {}
        self._sampled: list[str] = []
        self._of_workers: list[str] = []  # what pytest-xdist's have to say

    def suite(self) -> Suite | None:
        """None where there are no cases, or there is no driver; `_absent` says which."""
        if not self._opened:
            self._opened = True
            folder = golden_folder.find()
            self._absent = golden_folder.absent()
            if folder is None or self._absent:
                return None
            try:
                self.operations = _operations()
            except HalyardError as error:
                self._absent = str(error)
                return None
            cache = getattr(self._config, "cache", None)  # absent with -p no:cacheprovider
            self._suite = Suite.open(folder, cache.mkdir("golden_cases") if cache else None)
            golden = self._suite.golden(set(self.operations))
            derived = self._suite.derived(set(self.operations))
            self.names = dict(zip(_ARGUMENTS, (golden, derived, golden + derived), strict=True))
        return self._suite

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        for argument in _ARGUMENTS:
            if argument in metafunc.fixturenames:
                if self.suite() is None:
                    absent = pytest.mark.skip(reason=self._absent)
                    metafunc.parametrize(argument, [pytest.param("", marks=absent, id="absent")])
                else:
                    metafunc.parametrize(argument, self.names[argument])

    @pytest.hookimpl(trylast=True)  # so that it sees what -k and -m have left
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        for item in items:
            if "suite" in getattr(item, "fixturenames", ()) and self.suite() is None:
                item.add_marker(pytest.mark.skip(reason=self._absent))
        operation = config.getoption("operation")
        if operation is not None:
            others = [item for item in items if operation not in self._operations_of(item)]
            _deselect(config, items, others)
        _deselect(config, items, [item for item in items if self._is_too_new(item)])
        self._sample(config, items)
        for item in items:
            if (name := _case_of(item)) and self._suite is not None:
                self._bundles.setdefault(_function_of(item), Bundle(self._suite)).names.append(name)

    def _operations_of(self, item: pytest.Item) -> frozenset[str]:
        name = _case_of(item)
        return self._suite.operations(name) if name and self._suite is not None else frozenset()

    def _is_too_new(self, item: pytest.Item) -> bool:
        """Whether its case has an operation that the test's newest HAL version lacks."""
        marker = item.get_closest_marker("newest_hal")
        return marker is not None and any(
            self.operations.get(name, "") > marker.args[0] for name in self._operations_of(item)
        )

    def _sample(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if config.getoption("no_sample"):
            return
        wanted: dict[str, list[pytest.Item]] = {}
        for item in items:
            if item.get_closest_marker("sample") and _case_of(item):
                wanted.setdefault(_function_of(item), []).append(item)
        left_out: list[pytest.Item] = []
        for function, of_function in wanted.items():
            [count] = of_function[0].get_closest_marker("sample").args
            if len(of_function) > count:
                # Functions with the same cases and count have the same sample.
                source = random.Random(config.stash[_SEED])
                chosen = set(source.sample(range(len(of_function)), count))
                left_out += [item for at, item in enumerate(of_function) if at not in chosen]
                self._sampled.append(
                    f"{function}: {count} of {len(of_function)} golden cases, "
                    f"--seed {config.stash[_SEED]}"
                )
        _deselect(config, items, left_out)

    def pytest_report_header(self) -> str:
        return f"seed: {self._config.stash[_SEED]}"

    def pytest_report_collectionfinish(self) -> list[str]:
        return self._sampled

    def bundle(self, item: pytest.Item) -> Bundle:
        return self._bundles[_function_of(item)]

    def report(self) -> list[str]:
        """The outcomes of each function's cases that ran here."""
        lines = []
        for function, bundle in self._bundles.items():
            of_bundle = bundle.report(by_operation=self._config.get_verbosity() > 0)
            if of_bundle:
                lines += [f"golden cases, {function}: {of_bundle[0]}", *of_bundle[1:]]
        return lines

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for line in (*self._of_workers, *self.report()):
            terminalreporter.write_line(line)

    def pytest_sessionfinish(self) -> None:
        if (output := getattr(self._config, "workeroutput", None)) is not None:
            output[_REPORT] = self._sampled + self.report()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Workers have to choose the same samples."""
        node.workerinput[_SEED_OF_ALL] = self._config.stash[_SEED]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        # One that has died has left nothing.
        output = getattr(node, "workeroutput", {})
        self._of_workers += [
            line for line in output.get(_REPORT, []) if line not in self._of_workers
        ]


def _operations() -> dict[str, str]:
    """The names of the operations that the driver lists, with the HAL version of each."""
    program = native.program("service")
    listed = subprocess.run([program, "--list-operations"], capture_output=True, text=True)
    if listed.returncode != 0:
        raise HalyardError(f"{program} --list-operations failed: {listed.stderr.strip()}")
    return {row.name: row.since for row in operations.parse(listed.stdout)}


def _deselect(config: pytest.Config, items: list[pytest.Item], left_out: list[pytest.Item]) -> None:
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]


def _case_of(item: pytest.Item) -> str:
    """The name of an item's case; empty if it has none."""
    call = getattr(item, "callspec", None)
    parameters = call.params if call is not None else {}
    return next((str(parameters[name]) for name in _ARGUMENTS if name in parameters), "")


def _function_of(item: pytest.Item) -> str:
    """Its identifier without the case."""
    return item.nodeid.partition("[")[0]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--seed",
        type=int,
        help="what random samples and models follow from; left out: another sample every time",
    )
    parser.addoption(
        "--no-sample", action="store_true", help="all golden cases where a sample is the default"
    )
    parser.addoption(
        "--operation", metavar="NAME", help="only golden cases with this operation, as CONV_2D"
    )
    parser.addoption(
        "--thorough",
        action="store_true",
        help="also tests that `make test` leaves out: every form of every attack on the service",
    )
    parser.addoption(
        "--random-seconds",
        type=float,
        default=30.0,
        help="how long random models of all operations may take together",
    )
    parser.addoption(
        "--real",
        default="small",
        metavar="NAMES",
        help="real models that packages ship, by their names or the packages' with spaces between, "
        "or all; left out: the small ones",
    )


_PLUGIN = pytest.StashKey[GoldenTests]()
_SEED = pytest.StashKey[int]()


# Keys of the data that pytest-xdist's workers and the session that starts them exchange.
_SEED_OF_ALL = "halyard_seed"
_REPORT = "halyard_golden_report"


def pytest_configure(config: pytest.Config) -> None:
    given = config.getoption("seed")
    if given is None:
        given = getattr(config, "workerinput", {}).get(_SEED_OF_ALL)
    config.stash[_SEED] = random.randrange(2**32) if given is None else int(given)
    config.stash[_PLUGIN] = GoldenTests(config)
    config.pluginmanager.register(config.stash[_PLUGIN], "golden cases")
    config.pluginmanager.register(collected, "whole runs")


@pytest.fixture(scope="session", autouse=True)
def _nothing_left(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Temporary files of these tests and their programs are gone in the end, also where a test
    killed one of them. The folder is their own, since others use /tmp."""
    folder = tmp_path_factory.mktemp("temporary")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(folder))
        patch.setattr(tempfile, "tempdir", None)
        yield
    assert sorted(path.name for path in folder.glob("halyard-*")) == []


@pytest.fixture(scope="session")
def suite(pytestconfig: pytest.Config) -> Suite:
    """A test that asks for it is skipped where there is none."""
    suite = pytestconfig.stash[_PLUGIN].suite()
    assert suite is not None
    return suite


@pytest.fixture(scope="session")
def listed_operations(pytestconfig: pytest.Config, suite: Suite) -> set[str]:
    """The operations of the suite's cases: those that the driver lists."""
    return set(pytestconfig.stash[_PLUGIN].operations)


@pytest.fixture(scope="session")
def golden_cases(pytestconfig: pytest.Config, suite: Suite) -> list[Case]:
    """All of them, for a claim about all."""
    return suite.load(pytestconfig.stash[_PLUGIN].names["golden_case"])


@pytest.fixture
def bundle(request: pytest.FixtureRequest) -> Bundle:
    return request.config.stash[_PLUGIN].bundle(request.node)


@pytest.fixture(scope="session")
def seed(pytestconfig: pytest.Config) -> int:
    """Another one every time, unless --seed says which."""
    return pytestconfig.stash[_SEED]


@pytest.fixture(scope="session")
def steady_seed(pytestconfig: pytest.Config) -> int:
    """The same one every time, unless --seed says another: for tests that look for what no test has
    met yet, which should happen to who looks for it."""
    given = pytestconfig.getoption("seed")
    return 0 if given is None else int(given)
