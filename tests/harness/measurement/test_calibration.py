# SPDX-License-Identifier: Apache-2.0
"""Performance that a driver may claim of a device: measured here, and taken by the programs."""

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from halyard.cli import program
from halyard.devices import config_of, open_config
from halyard.errors import HalyardError
from halyard.measurement.calibration import Extent, Ratios, as_text, calibrate, models
from halyard.programs import native
from halyard.programs.driver_options import DriverOptions

_TINY = Extent(size=4, channels=4, iterations=2)


def service(*words: str) -> subprocess.CompletedProcess[str]:
    """Its options are looked at in full where it makes its device, before it looks for binder."""
    command = [native.program("service"), "-c", "CpuRef", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_every_name_is_measured_and_taken(tmp_path: Path) -> None:
    with open_config(config_of("host")) as device:
        ratios = calibrate(device, DriverOptions(threads=2), _TINY, runs=2)
    assert {name for name, _ in models(_TINY)} <= set(ratios)
    for ratio in ratios.values():
        assert ratio.exec_time > 0
        assert ratio.power_usage == pytest.approx(2 * ratio.exec_time)
    file = tmp_path / "capabilities"
    file.write_text(as_text(ratios, ["a remark"]))
    ended = service("--capabilities", str(file))
    assert str(file) not in ended.stderr, "it was not taken"
    assert "with CpuRef" in ended.stderr, "there was a device"
    # All that there are: a second line of any is one too many.
    names = [line.split()[0] for line in file.read_text().splitlines()[1:]]
    assert len(names) == len(set(names)) == 19


def test_a_driver_as_slow_as_the_baseline_is_told_so() -> None:
    with open_config(config_of("host")) as device:
        same = DriverOptions(backends=("CpuRef",), threads=1)
        ratios = calibrate(device, same, Extent(size=16, channels=8, iterations=10), runs=5)
    assert 0.1 < ratios["TENSOR_FLOAT32"].exec_time < 10


def test_what_does_not_run_is_named() -> None:
    with (
        open_config(config_of("host")) as device,
        pytest.raises(HalyardError, match=r"TENSOR_FLOAT32 can't be measured: .*CONV_2D"),
    ):
        calibrate(device, DriverOptions(unsupported=("CONV_2D",)), _TINY, runs=1)


def test_a_file_has_a_line_for_each() -> None:
    text = as_text({"IF": Ratios(0.25, 1 / 3), "WHILE": Ratios(1e-6, 12345.678)}, ["made here"])
    assert text == "# made here\nIF 0.25 0.3333\nWHILE 1e-06 1.235e+04\n"


def test_the_command_writes_what_it_shows(tmp_path: Path) -> None:
    file = tmp_path / "capabilities"
    words = ["calibrate", "--size", "4", "--runs", "1", "--threads", "1", "-o", str(file)]
    done = CliRunner().invoke(program.cli, words)
    assert done.exit_code == 0, done.output
    assert "TENSOR_QUANT8_SYMM_PER_CHANNEL" in done.output
    assert file.read_text().startswith("# ")
    assert "with CpuRef" in service("--capabilities", str(file)).stderr
    (tmp_path / "wrong").write_text(file.read_text() + "IF 1 1\n")
    assert (
        "wrong: line 21: IF has a performance already"
        in service("--capabilities", str(tmp_path / "wrong")).stderr
    )
