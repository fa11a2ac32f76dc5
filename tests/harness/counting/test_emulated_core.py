# SPDX-License-Identifier: Apache-2.0
"""Cores as programs know them: the files that hide the host's own."""

from pathlib import Path

import pytest

from halyard.counting.emulated_core import CORES, EmulatedCore

CPU = "sys/devices/system/cpu"


@pytest.mark.parametrize("core", CORES.values(), ids=str)
def test_is_a_machine_of_one_core(core: EmulatedCore, tmp_path: Path) -> None:
    core.write(tmp_path)
    assert (tmp_path / CPU / "present").read_text() == "0\n"
    assert (tmp_path / "proc/cpuinfo").read_text().count("processor\t:") == 1


@pytest.mark.parametrize("core", CORES.values(), ids=str)
def test_says_the_same_in_cpuinfo_and_in_its_register(core: EmulatedCore, tmp_path: Path) -> None:
    core.write(tmp_path)
    register = int((tmp_path / CPU / "cpu0/regs/identification/midr_el1").read_text(), 16)
    lines = (tmp_path / "proc/cpuinfo").read_text().splitlines()
    said = dict(each.split("\t: ") for each in lines if each)
    assert int(said["CPU implementer"], 16) == register >> 24
    assert int(said["CPU part"], 16) == register >> 4 & 0xFFF


@pytest.mark.parametrize("core", CORES.values(), ids=str)
def test_hides_caches_that_the_host_has_beyond_its_own(core: EmulatedCore, tmp_path: Path) -> None:
    core.write(tmp_path)
    folders = sorted((tmp_path / CPU / "cpu0/cache").iterdir())
    levels = [(folder / "level").read_text() for folder in folders]
    assert levels == [*(f"{cache.level}\n" for cache in core.caches), ""]


def test_features_grow_from_core_to_core() -> None:
    features = [set(core.features.split()) for core in CORES.values()]
    assert features[0] < features[1]
    assert "asimddp" in features[1] - features[0]
    assert "i8mm" in features[2] - features[1]
