# SPDX-License-Identifier: Apache-2.0
"""A campaign of random graphs runs each number once, in several processes, and counts faults."""

import json
from collections import Counter
from pathlib import Path

import pytest

from halyard.devices.host import HostDevice
from tests import campaign

pytest.importorskip("onnxruntime")


def test_processes_share_the_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.jsonl"
    words = ["qdq", "--graphs", "60", "--first", "7", "--seed", "3", "--processes", "2"]
    assert campaign.main([*words, "--log", str(log)]) == 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert sorted(line["first"] for line in lines) == [7, 32, 57]
    assert sorted(line["counts"]["graphs"] for line in lines) == [10, 25, 25]
    assert "60 graphs" in capsys.readouterr().out


def test_what_is_wrong_or_raises_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def check(host: HostDevice, seed: int, numbers: range, counts: Counter[str]) -> list[str]:
        if numbers[0]:
            raise RuntimeError("it broke")
        return ["graph 3: it is off"]

    monkeypatch.setitem(campaign.KINDS, "qdq", lambda: check)
    log = tmp_path / "log.jsonl"
    campaign._run(campaign.Share("qdq", 5, 0, 50, float("inf"), 0, 1, log))
    total, wrong = campaign.summary(log, "qdq")
    assert (total["graphs"], wrong) == (50, 2)
    said = capsys.readouterr().out
    assert "--seed 5: graph 3: it is off" in said
    assert "it broke" in said
