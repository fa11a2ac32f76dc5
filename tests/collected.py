# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin: a whole run fails where a test file is not part of it.

A folder that pytest does not look into by default, or that a setting leaves out, would otherwise be
not missed. Runs that name files, or leave some out in so many words, are no whole ones.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest


@pytest.hookimpl(tryfirst=True)  # before options such as -k leave items out
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: Sequence[pytest.Item]
) -> None:
    # Modules that could not be imported are told of anyway.
    if session.testsfailed or not is_whole(config):
        return
    there = {
        file
        for folder in test_folders(config)
        for pattern in config.getini("python_files")
        for file in folder.rglob(pattern)
    }
    if missing := sorted(there - {item.path for item in items}):
        names = ", ".join(str(file.relative_to(config.rootpath)) for file in missing)
        raise pytest.UsageError(f"test files that pytest collects nothing of: {names}")


def is_whole(config: pytest.Config) -> bool:
    # Each has pytest leave out files, where others leave out what is in them.
    if any(config.getoption(name, None) for name in ("ignore", "ignore_glob", "lf")):
        return False
    given = {(config.invocation_params.dir / argument).resolve() for argument in config.args}
    return all(
        folder in given or any(above in given for above in folder.parents)
        for folder in test_folders(config)
    )


def test_folders(config: pytest.Config) -> list[Path]:
    return [(config.rootpath / name).resolve() for name in config.getini("testpaths")]
