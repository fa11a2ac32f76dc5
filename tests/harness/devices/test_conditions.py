# SPDX-License-Identifier: Apache-2.0
"""A device's heat, frequencies and power: a tree of files stands for /sys."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from halyard.devices import HostDevice, conditions
from halyard.devices.conditions import Gate, joules_between
from halyard.devices.device import CommandResult
from halyard.records.conditions import Conditions, Energy, Supply

PHONE = {
    "sys/class/thermal/thermal_zone0/type": "battery",
    "sys/class/thermal/thermal_zone0/temp": "31500",
    "sys/class/thermal/thermal_zone1/type": "cpu-1-0",
    "sys/class/thermal/thermal_zone1/temp": "48200",
    "sys/class/thermal/thermal_zone2/type": "modem",
    "sys/class/thermal/thermal_zone2/temp": "-274000",
    "sys/devices/system/cpu/online": "0-7",
    "sys/devices/system/cpu/cpufreq/policy0/related_cpus": "0 1 2 3",
    "sys/devices/system/cpu/cpufreq/policy0/scaling_governor": "schedutil",
    "sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq": "1804800",
    "sys/devices/system/cpu/cpufreq/policy0/scaling_min_freq": "300000",
    "sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq": "2208000",
    "sys/class/power_supply/battery/type": "Battery",
    "sys/class/power_supply/battery/status": "Discharging",
    "sys/class/power_supply/battery/capacity": "80",
    "sys/class/power_supply/battery/voltage_now": "4000000",
    "sys/class/power_supply/battery/current_now": "-250000",
    "sys/class/power_supply/battery/charge_counter": "3000000",
    "proc/loadavg": "0.52 0.40 0.30 1/234 5678",
    "proc/self/status": "Name:\tsh\nCpus_allowed:\tff\nCpus_allowed_list:\t0-7",
}

NONE = Conditions(
    temperature_c=None,
    zones=[],
    throttling=None,
    cores=[],
    online_cpus=None,
    allowed_cpus=None,
    load=None,
    supplies=[],
    energy=[],
    missing=[],
)


@pytest.fixture
def device() -> Iterator[HostDevice]:
    with HostDevice() as device:
        yield device


def tree(folder: Path, files: dict[str, str]) -> str:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content + "\n")
    return str(folder)


def test_reads_what_a_phone_tells(device: HostDevice, tmp_path: Path) -> None:
    found = conditions.read(device, tree(tmp_path, PHONE))
    assert found.temperature_c == 48.2
    assert [zone.name for zone in found.zones] == ["battery", "cpu-1-0"]
    [cores] = found.cores
    assert (cores.cpus, cores.governor, cores.mhz) == ("0 1 2 3", "schedutil", 1804.8)
    assert (cores.min_mhz, cores.max_mhz) == (300, 2208)
    assert (found.online_cpus, found.allowed_cpus, found.load) == ("0-7", "0-7", 0.52)
    [battery] = found.supplies
    assert (battery.type, battery.status, battery.percent) == ("Battery", "Discharging", 80)
    assert (battery.volts, battery.amperes, battery.charge_mah) == (4.0, -0.25, 3000)
    assert found.missing == ["no energy counters (/sys/class/powercap)"]


def test_reads_a_laptop_s_energy_counters_once(device: HostDevice, tmp_path: Path) -> None:
    """A package counts what its cores take, too."""
    files = {}
    for member, name, joules in (("intel-rapl:0", "package-0", 5), ("intel-rapl:0:0", "core", 3)):
        files[f"sys/class/powercap/{member}/name"] = name
        files[f"sys/class/powercap/{member}/energy_uj"] = str(joules * 1_000_000)
        files[f"sys/class/powercap/{member}/max_energy_range_uj"] = "262143328850"
    [counter] = conditions.read(device, tree(tmp_path, files)).energy
    assert (counter.name, counter.joules) == ("package-0", 5)
    assert counter.range_joules == pytest.approx(262143.32885)


def test_says_what_there_is_none_of_and_gives_no_zeros(device: HostDevice, tmp_path: Path) -> None:
    found = conditions.read(device, tree(tmp_path, {"proc/loadavg": "0.10 0 0 1/1 1"}))
    assert (found.temperature_c, found.throttling, found.online_cpus) == (None, None, None)
    assert (found.zones, found.cores, found.supplies, found.energy) == ([], [], [], [])
    assert found.missing == [
        "no temperatures (/sys/class/thermal)",
        "no frequencies and governors (cpufreq)",
        "no battery or charger (/sys/class/power_supply)",
        "no energy counters (/sys/class/powercap)",
    ]
    assert "not told     no temperatures" in "\n".join(conditions.text(found))


def test_takes_no_number_that_is_none(device: HostDevice, tmp_path: Path) -> None:
    files = {name: f"1{'0' * 40}" for name in PHONE if name.startswith("sys/")}
    files["sys/class/power_supply/battery/capacity"] = "many"
    found = conditions.read(device, tree(tmp_path, files))
    assert found.zones == []
    assert found.cores[0].mhz is None
    assert found.supplies[0].percent is None


@pytest.mark.parametrize(
    ("line", "throttling"),
    [("Thermal Status: 0", "none"), ("Thermal Status: 3", "severe"), ("Thermal Status: 99", None)],
)
def test_reads_android_s_throttling(
    device: HostDevice, monkeypatch: pytest.MonkeyPatch, line: str, throttling: str | None
) -> None:
    monkeypatch.setattr(
        device, "shell", lambda command: CommandResult(command, 0, f"{line}\n", "", 0, "x")
    )
    assert conditions.read(device).throttling == throttling


def test_the_lines_tell_governor_affinity_and_power(device: HostDevice, tmp_path: Path) -> None:
    assert conditions.text(conditions.read(device, tree(tmp_path, PHONE))) == [
        "temperature  48.2 °C (cpu-1-0)",
        "cores 0 1 2 3 schedutil, at 1805 MHz, 300 to 2208 MHz",
        "affinity     cores 0-7 of 0-7",
        "power        battery: Battery, discharging, 80 %",
        "not told     no energy counters (/sys/class/powercap)",
    ]


# ---- energy -------------------------------------------------------------------------------------


def with_energy(joules: float) -> Conditions:
    counter = Energy(name="package-0", joules=joules, range_joules=1000)
    return conditions_with(energy=[counter])


def conditions_with(**changes: object) -> Conditions:
    return msgspec.structs.replace(NONE, **changes)


def with_charge(charge: float | None, volts: float | None = 4.0) -> Conditions:
    battery = Supply(
        name="battery",
        type="Battery",
        status="",
        percent=None,
        volts=volts,
        amperes=None,
        charge_mah=charge,
    )
    return conditions_with(supplies=[battery])


def test_energy_is_what_counters_went_on_by() -> None:
    assert joules_between(with_energy(10), with_energy(35)) == 25


def test_a_counter_that_began_anew_is_no_gain() -> None:
    assert joules_between(with_energy(990), with_energy(15)) == 25


def test_energy_of_a_battery_is_charge_by_voltage() -> None:
    assert joules_between(with_charge(3000), with_charge(2990)) == pytest.approx(144)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (NONE, NONE),
        (with_charge(3000), with_charge(3000)),
        (with_charge(3000), with_charge(3010)),
        (with_charge(None), with_charge(None)),
        (with_charge(3000, None), with_charge(2990, None)),
        (with_energy(1), NONE),
    ],
)
def test_energy_that_is_not_told_is_none(before: Conditions, after: Conditions) -> None:
    assert joules_between(before, after) is None


# ---- the gate -----------------------------------------------------------------------------------


class Cooling:
    """A device that has a temperature less at each look, and a clock of its own."""

    def __init__(self, *temperatures: float | None, throttling: str | None = None) -> None:
        self._left = list(temperatures)
        self._throttling = throttling
        self.said: list[str] = []
        self.now = 100.0

    def look(self) -> Conditions:
        celsius = self._left.pop(0) if len(self._left) > 1 else self._left[0]
        return conditions_with(temperature_c=celsius, throttling=self._throttling)

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def wait(self, gate: Gate) -> conditions.Waited:
        return conditions.wait(
            self.look, gate, self.said.append, clock=lambda: self.now, sleep=self.sleep
        )


def test_waits_until_a_device_is_cool_enough() -> None:
    device = Cooling(52.0, 48.0, 44.0)
    waited = device.wait(Gate(45))
    assert (waited.seconds, waited.before_c, waited.after_c) == (4, 52, 44)
    assert waited.reason == ""
    assert device.said[0] == (
        "it has 52.0 °C, more than 45 °C: waiting since 0 s, for 300 s at most"
    )


def test_does_not_wait_for_a_device_that_is_cool() -> None:
    device = Cooling(40.0)
    assert device.wait(Gate(45)).seconds == 0
    assert device.said == []


def test_waits_no_longer_than_its_patience_and_says_so() -> None:
    waited = Cooling(60.0).wait(Gate(45, patience_s=5))
    assert waited.seconds == 5
    assert waited.reason == (
        "it has 60.0 °C, more than 45 °C, after 5 s of waiting: it was measured all the same"
    )


def test_does_not_wait_for_what_the_device_does_not_tell() -> None:
    waited = Cooling(None).wait(Gate(45, "light"))
    assert waited.seconds == 0
    assert waited.reason == (
        "the device tells no temperature (/sys/class/thermal) and no throttling "
        "(dumpsys thermalservice): it was not waited for"
    )


@pytest.mark.parametrize(
    ("throttling", "seconds"), [("none", 0), ("light", 0), ("moderate", 6), ("severe", 6)]
)
def test_waits_for_throttling_to_end(throttling: str, seconds: float) -> None:
    waited = Cooling(40.0, throttling=throttling).wait(Gate(None, "light", patience_s=6))
    assert waited.seconds == seconds
    assert ("throttling" in waited.reason) == (seconds > 0)
