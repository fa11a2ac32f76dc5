# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin that comes with the package.

    pytest --device=host|vm|SERIAL --goldens=DIR --specs=DIR [--hal=1.0..1.3] [--backends=LIST]
    pytest --device=vm:1,vm:2 --goldens=DIR [--dist=each]    # with pytest-xdist
    pytest my_op.mod.py

Each conformance case is an item, named as the official harness names it; no test file is needed.
A test of one's own takes the fixtures `device`, `run_case` and `model_builder`. With several
devices each worker of pytest-xdist has one; tests are divided among them, or run on each
(--dist=each).

Every session loads this module, so it imports nothing of the harness until it is used.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from halyard.conformance.case_runner import CaseRunner
    from halyard.conformance.pytest_cases import CaseSession
    from halyard.devices import Device
    from halyard.model import ModelBuilder

_SPEC_SUFFIX = ".mod.py"

# Each is also there as --halyard-NAME, for a project that has an option of that name itself.
_OPTIONS: dict[str, dict[str, Any]] = {
    "device": {
        "metavar": "NAME",
        "help": "host, vm, a serial, HOST:PORT or a YAML file; several with commas between",
    },
    "goldens": {"metavar": "PATH", "action": "append", "help": "golden cases: a folder or a file"},
    "specs": {"metavar": "PATH", "action": "append", "help": "specs: a folder or a file"},
    "hal": {"metavar": "A..B", "help": "HAL versions; each case runs through all that carry it"},
    "backends": {"metavar": "NAMES", "help": "backends of the driver, in order of preference"},
    "derived": {"choices": ["all", "none"], "help": "the cases derived from each case: all"},
}


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(parser: pytest.Parser) -> Iterator[None]:
    """Adds the options when those of the session's own conftest files are there: a name that the
    project uses itself stays the project's."""
    try:
        return (yield)
    finally:
        group = parser.getgroup("halyard", "NNAPI conformance (halyard)")
        for name, attributes in _OPTIONS.items():
            long = f"--halyard-{name}"
            names = [long] if f"--{name}" in _taken(parser) else [long, f"--{name}"]
            with contextlib.suppress(ValueError, argparse.ArgumentError):
                group.addoption(*names, dest=f"halyard_{name}", **attributes)


def _taken(parser: pytest.Parser) -> set[str]:
    groups = [*getattr(parser, "_groups", []), getattr(parser, "_anonymous", None)]
    return {
        name
        for group in groups
        if group is not None
        for option in group.options
        for name in option.names()
    }


def _option(config: pytest.Config, name: str) -> Any:
    return config.getoption(f"halyard_{name}", None)


def _has_cases(config: pytest.Config) -> bool:
    sources = _option(config, "goldens") or _option(config, "specs")
    # The part after `::` names an item of the file.
    return bool(sources) or any(
        argument.partition("::")[0].endswith(_SPEC_SUFFIX) for argument in config.args
    )


def _devices(config: pytest.Config) -> list[str]:
    """All that are named, in every process."""
    named = str(_option(config, "device") or "host")
    return [name.strip() for name in named.split(",")]


def _is_worker(config: pytest.Config) -> bool:
    """Of pytest-xdist."""
    return hasattr(config, "workerinput")


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main(config: pytest.Config) -> Iterator[Any]:
    """Before pytest-xdist looks how many workers are wanted."""
    devices = _devices(config)
    if len(devices) > 1 and not _is_worker(config):
        if not config.pluginmanager.has_plugin("xdist"):
            raise pytest.UsageError("several devices need pytest-xdist: pip install pytest-xdist")
        if len(set(devices)) < len(devices):
            raise pytest.UsageError("--device names a device twice; vm:1 and vm:2 are two")
        from halyard.conformance.xdist_devices import use_workers

        use_workers(config, len(devices))
    return (yield)


def pytest_configure(config: pytest.Config) -> None:
    devices = _devices(config)
    if len(devices) > 1 and not _is_worker(config):
        from halyard.conformance.xdist_devices import DeviceWorkers

        config.pluginmanager.register(DeviceWorkers(config, devices), "halyard-devices")
    # Contradictory options are told of before a test runs.
    if any(_option(config, name) for name in _OPTIONS):
        _session(config)
    if _has_cases(config):
        from halyard.conformance.pytest_cases import CasePlugin

        config.pluginmanager.register(CasePlugin(config, _session(config)), "halyard-cases")


def pytest_unconfigure(config: pytest.Config) -> None:
    session = config.stash.get(_SESSION, None)
    if session is not None:
        session.close()


_SESSION: pytest.StashKey[CaseSession] = pytest.StashKey()
# As halyard.conformance.xdist_devices has it.
_WORKER_DEVICE = "halyard_device"


def _session(config: pytest.Config) -> CaseSession:
    if _SESSION not in config.stash:
        from halyard.conformance.pytest_cases import CaseSession

        devices = _devices(config)
        own = getattr(config, "workerinput", {}).get(_WORKER_DEVICE) or devices[0]
        config.stash[_SESSION] = CaseSession(
            config=config,
            device=own,
            others=[each for each in devices if each != own],
            goldens=[Path(path) for path in _option(config, "goldens") or []],
            specs=[Path(path) for path in _option(config, "specs") or []],
            hal=_option(config, "hal"),
            backends=_option(config, "backends") or "",
            derived=_option(config, "derived") != "none",
        )
    return config.stash[_SESSION]


# ---- for tests of one's own ---------------------------------------------------------------------


@pytest.fixture(scope="session")
def device(pytestconfig: pytest.Config) -> Device:
    """The device that --device names, with the driver on it."""
    return _session(pytestconfig).driver.device


@pytest.fixture
def run_case(pytestconfig: pytest.Config) -> CaseRunner:
    """Runs a model on the device and gives its outputs, or checks a conformance case."""
    return _session(pytestconfig).case_runner()


@pytest.fixture
def model_builder(request: pytest.FixtureRequest) -> ModelBuilder:
    """A model under construction, named as the test."""
    from halyard.model import ModelBuilder

    return ModelBuilder(request.node.name)
