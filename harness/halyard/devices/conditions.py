# SPDX-License-Identifier: Apache-2.0
"""Conditions of a device that times depend on beside the model: heat, frequencies, power. And
waiting until it has cooled down."""

from __future__ import annotations

import re
import shlex
import textwrap
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from halyard.devices.device import Device
from halyard.records.conditions import Conditions, Cores, Energy, Supply, Waited, Zone
from halyard.terminal.console import Terminal

# As Android's PowerManager numbers them.
THROTTLING = ("none", "light", "moderate", "severe", "critical", "emergency", "shutdown")

# Below /sys.
_FILES = (
    "class/thermal/thermal_zone*/type",
    "class/thermal/thermal_zone*/temp",
    "devices/system/cpu/online",
    *(
        f"devices/system/cpu/cpufreq/policy*/{name}"
        for name in (
            "related_cpus",
            "scaling_governor",
            "scaling_cur_freq",
            "scaling_min_freq",
            "scaling_max_freq",
        )
    ),
    *(
        f"class/power_supply/*/{name}"
        for name in (
            "type",
            "status",
            "capacity",
            "voltage_now",
            "current_now",
            "charge_counter",
            "charge_now",
        )
    ),
    "class/powercap/*/name",
    "class/powercap/*/energy_uj",
    "class/powercap/*/max_energy_range_uj",
)
# A member of a class may have a colon in its name, these files have none.
_LINE = re.compile(rf"/.*?/(?:{'|'.join({name.rpartition('/')[2] for name in _FILES})}):")
# Degrees that a zone which is off does not report.
_PLAUSIBLE = (-40.0, 200.0)
# Of the lines that tell them, so that they fit 80 columns behind what stands before them.
_WIDTH = 76
# Seconds between two looks at a device that cools down.
_LOOK_AGAIN = 2.0


# Of a device that is not asked.
UNKNOWN = Conditions(
    temperature_c=None,
    zones=[],
    throttling=None,
    cores=[],
    online_cpus=None,
    allowed_cpus=None,
    load=None,
    supplies=[],
    energy=[],
    missing=["it was not asked for"],
)


def read(device: Device, root: str = "") -> Conditions:
    """One command. `root`: the folder that sys and proc are in."""
    base = shlex.quote(root)
    paths = " ".join(f"{base}/sys/{name}" for name in _FILES)
    said = device.shell(
        f"grep -sH '' {paths} {base}/proc/loadavg; "
        f"grep -sH ^Cpus_allowed_list: {base}/proc/self/status; "
        "command -v dumpsys >/dev/null && dumpsys thermalservice 2>/dev/null | "
        "grep -m 1 'Thermal Status'"
    ).stdout
    return _conditions(said, root)


def _conditions(said: str, root: str) -> Conditions:
    tree: dict[str, dict[str, dict[str, str]]] = {}
    single: dict[str, str] = {}
    for line in said.splitlines():
        path, value = _split(line.removeprefix(root))
        if path in ("/sys/devices/system/cpu/online", "/proc/loadavg"):
            single[path.rpartition("/")[2]] = value
        elif path == "/proc/self/status":
            single["allowed"] = value.partition(":")[2].strip()
        elif path == "Thermal Status":
            single["throttling"] = value.strip()
        elif path.count("/") >= 4:
            folder, _, name = path.rpartition("/")
            parent, _, member = folder.rpartition("/")
            tree.setdefault(parent.rpartition("/")[2], {}).setdefault(member, {})[name] = value
    zones = _zones(tree.get("thermal", {}))
    status = single.get("throttling", "")
    known = status.isdigit() and int(status) < len(THROTTLING)
    cores = _cores(tree.get("cpufreq", {}))
    supplies = _supplies(tree.get("power_supply", {}))
    energy = _energy(tree.get("powercap", {}))
    load = re.match(r"\d+\.\d+", single.get("loadavg", ""))
    missing = {
        "temperatures (/sys/class/thermal)": zones,
        "frequencies and governors (cpufreq)": cores,
        "battery or charger (/sys/class/power_supply)": supplies,
        "energy counters (/sys/class/powercap)": energy,
    }
    return Conditions(
        temperature_c=max((zone.celsius for zone in zones), default=None),
        zones=zones,
        throttling=THROTTLING[int(status)] if known else None,
        cores=cores,
        online_cpus=single.get("online"),
        allowed_cpus=single.get("allowed"),
        load=float(load[0]) if load else None,
        supplies=supplies,
        energy=energy,
        missing=[f"no {what}" for what, found in missing.items() if not found],
    )


def _split(line: str) -> tuple[str, str]:
    """The file and the line in it, of what grep says."""
    found = _LINE.match(line)
    if found is not None:
        return found[0][:-1], line[found.end() :]
    path, _, value = line.partition(":")
    return path, value


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and re.fullmatch(r"-?\d{1,18}", text) else None


def _scaled(text: str | None, factor: float) -> float | None:
    number = _number(text)
    return None if number is None else number * factor


def _zones(found: Mapping[str, Mapping[str, str]]) -> list[Zone]:
    zones = []
    for member, values in sorted(found.items()):
        celsius = _scaled(values.get("temp"), 1e-3)
        if celsius is not None and _PLAUSIBLE[0] <= celsius < _PLAUSIBLE[1]:
            zones.append(Zone(name=values.get("type", member), celsius=celsius))
    return zones


def _cores(found: Mapping[str, Mapping[str, str]]) -> list[Cores]:
    return [
        Cores(
            cpus=values.get("related_cpus", member),
            governor=values.get("scaling_governor", ""),
            mhz=_scaled(values.get("scaling_cur_freq"), 1e-3),
            min_mhz=_scaled(values.get("scaling_min_freq"), 1e-3),
            max_mhz=_scaled(values.get("scaling_max_freq"), 1e-3),
        )
        for member, values in sorted(found.items())
    ]


def _supplies(found: Mapping[str, Mapping[str, str]]) -> list[Supply]:
    return [
        Supply(
            name=member,
            type=values.get("type", ""),
            status=values.get("status", ""),
            percent=_number(values.get("capacity")),
            volts=_scaled(values.get("voltage_now"), 1e-6),
            amperes=_scaled(values.get("current_now"), 1e-6),
            charge_mah=_scaled(values.get("charge_counter", values.get("charge_now")), 1e-3),
        )
        for member, values in sorted(found.items())
    ]


def _energy(found: Mapping[str, Mapping[str, str]]) -> list[Energy]:
    """Of whole packages: their parts, which have a second colon, are in that already."""
    counters = []
    for member, values in sorted(found.items()):
        joules = _scaled(values.get("energy_uj"), 1e-6)
        if joules is not None and member.count(":") < 2:
            whole = _scaled(values.get("max_energy_range_uj"), 1e-6)
            name = values.get("name", member)
            counters.append(Energy(name=name, joules=joules, range_joules=whole))
    return counters


def joules_between(before: Conditions, after: Conditions) -> float | None:
    """By the energy counters, else by the batteries' charge; None where neither tells."""
    spent = []
    ends = {counter.name: counter for counter in after.energy}
    for start in before.energy:
        end = ends.get(start.name)
        if end is None:
            return None
        difference = end.joules - start.joules
        if difference < 0 and start.range_joules:
            difference += start.range_joules
        spent.append(difference)
    if spent:
        return sum(spent)
    charges = {supply.name: supply for supply in after.supplies}
    for battery in before.supplies:
        end_of = charges.get(battery.name)
        if battery.charge_mah is None or battery.volts is None or end_of is None:
            continue
        # One that is charged, or stands still between two steps of its counter, tells nothing.
        if end_of.charge_mah is not None and end_of.charge_mah < battery.charge_mah:
            spent.append((battery.charge_mah - end_of.charge_mah) * 3.6 * battery.volts)
    return sum(spent) if spent else None


def text(conditions: Conditions) -> list[str]:
    """In lines."""
    lines = []
    if conditions.temperature_c is not None:
        [hottest, *_] = sorted(conditions.zones, key=lambda zone: -zone.celsius)
        lines.append(f"temperature  {hottest.celsius:.1f} °C ({hottest.name})")
    if conditions.throttling is not None:
        lines.append(f"throttling   {conditions.throttling}")
    for cores in conditions.cores:
        limits = f", {_mhz(cores.min_mhz)} to {_mhz(cores.max_mhz)} MHz"
        lines.append(
            f"cores {cores.cpus:6} {cores.governor or 'no governor'}, "
            f"at {_mhz(cores.mhz)} MHz{limits}"
        )
    if conditions.allowed_cpus is not None:
        online = f" of {conditions.online_cpus}" if conditions.online_cpus else ""
        lines.append(f"affinity     cores {conditions.allowed_cpus}{online}")
    for supply in conditions.supplies:
        words = [supply.type, supply.status.lower()]
        words += [] if supply.percent is None else [f"{supply.percent} %"]
        lines.append(f"power        {supply.name}: {', '.join(word for word in words if word)}")
    if conditions.missing:
        lines += textwrap.wrap(
            "; ".join(conditions.missing),
            _WIDTH,
            initial_indent="not told     ",
            subsequent_indent=" " * 13,
        )
    return lines


def _mhz(value: float | None) -> str:
    return "?" if value is None else f"{value:.0f}"


# ---- cooling down -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gate:
    """Nothing is measured while a device is hotter than `most_c`, or throttles more than `most`."""

    most_c: float | None = None
    most_throttling: str | None = None
    patience_s: float = 300.0

    @property
    def is_open(self) -> bool:
        return self.most_c is None and self.most_throttling is None

    def closed_by(self, now: Conditions) -> str:
        """Why it has to wait; empty: it has not to."""
        if self.most_c is not None and (now.temperature_c or self.most_c) > self.most_c:
            return f"it has {now.temperature_c:.1f} °C, more than {self.most_c:g} °C"
        if self.most_throttling is not None and now.throttling is not None:
            level = THROTTLING.index(now.throttling)
            if level > THROTTLING.index(self.most_throttling):
                return f"its throttling is {now.throttling}, more than {self.most_throttling}"
        return ""

    def untold(self, now: Conditions) -> str:
        """Conditions that it can't wait for, since the device does not tell; empty: nothing."""
        words = []
        if self.most_c is not None and now.temperature_c is None:
            words.append("no temperature (/sys/class/thermal)")
        if self.most_throttling is not None and now.throttling is None:
            words.append("no throttling (dumpsys thermalservice)")
        return " and ".join(words)


def wait(
    look: Callable[[], Conditions],
    gate: Gate,
    say: Callable[[str], None],
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Waited:
    """Until the gate lets it through, or patience ends. `say` is told what it waits for."""
    start = clock()
    now = look()
    before = now.temperature_c
    untold = gate.untold(now)
    reason = f"the device tells {untold}: it was not waited for" if untold else ""
    while closed := gate.closed_by(now):
        passed = clock() - start
        if passed >= gate.patience_s:
            reason = f"{closed}, after {passed:.0f} s of waiting: it was measured all the same"
            break
        say(f"{closed}: waiting since {passed:.0f} s, for {gate.patience_s:.0f} s at most")
        sleep(min(_LOOK_AGAIN, gate.patience_s - passed))
        now = look()
    return Waited(
        seconds=clock() - start, before_c=before, after_c=now.temperature_c, reason=reason
    )


def cool(terminal: Terminal, device: Device, gate: Gate) -> Waited | None:
    """Waits, and shows for what; None where there is nothing to wait for."""
    if gate.is_open:
        return None
    with terminal.step(f"Waiting until {device.serial} is cool") as step:
        waited = wait(lambda: read(device), gate, step.now)
        step.outcome = waited.reason or f"it took {waited.seconds:.0f} s"
    return waited
