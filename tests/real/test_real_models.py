# SPDX-License-Identifier: Apache-2.0
"""Trained models that packages ship: each runs whole, or leaves the host no more than is listed,
and agrees with the engine of its format. Times are kept, and never judged."""

from pathlib import Path

import pytest

from tests.real import catalog, packages, table, trial
from tests.real.catalog import Model

OUTCOMES = Path(__file__).parents[2] / "build" / "results" / "real"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    words = metafunc.config.getoption("real").split()
    models = catalog.chosen(catalog.read(), [] if words == ["all"] else words)
    metafunc.parametrize("model", models, ids=[model.name for model in models])


@pytest.mark.slow
def test_runs_as_listed(model: Model) -> None:
    try:
        file = packages.model_file(model)
    except packages.Unreachable as reason:
        pytest.skip(str(reason))
    if model.fails:
        assert model.fails in trial.failure(model, file)
        return
    outcome = trial.attempt(model, file)
    table.leave(model, outcome, OUTCOMES)
    listed = table.kept().get(model.name)
    assert listed is not None, "make real-table puts it into the table"
    assert listed.sha256 == model.sha256, "the table has another file of it: make real-table"
    more = {name: count for name, count in outcome.host.items() if count > listed.host.get(name, 0)}
    assert not more, f"the host has to run more than is listed: {more}"
