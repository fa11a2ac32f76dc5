# SPDX-License-Identifier: Apache-2.0
"""Through which HAL version a service is reached where none is named."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self, cast

import numpy as np
import pytest
from click.testing import CliRunner

from halyard.bench.pair import Spec
from halyard.bench.pair_run import Devices, PairRun
from halyard.bench.site import Site
from halyard.cli.program import cli
from halyard.comparison import opening
from halyard.comparison.choice import choose
from halyard.comparison.opening import Sides
from halyard.devices import Device, ServiceOptions, Wire
from halyard.errors import CommandFailed, ConfigError, TargetUnreachable
from halyard.model import DataType, ModelBuilder, RunnableModel, TensorType
from halyard.proto import halyard_pb2 as pb
from halyard.records.run import Model
from halyard.terminal.console import Terminal
from halyard.timing import machine
from halyard.timing.machine import Peak
from halyard.transport import hal_version, resolve_transport
from halyard.transport.hal_version import Choice

_HIDL = "android.hardware.neuralnetworks@1.3::IDevice/{}"
_AIDL = "android.hardware.neuralnetworks.IDevice/{}"
Register = Callable[..., Device]


class Phone:
    """A device of which only the names of its services matter."""

    serial = "0A1B"

    def __init__(self, has_binder: bool = True) -> None:
        self.has_binder = has_binder


@pytest.fixture
def phone(monkeypatch: pytest.MonkeyPatch) -> Register:
    def with_services(*services: str) -> Device:
        monkeypatch.setattr(resolve_transport, "list_services", lambda _: list(services))
        return cast("Device", Phone())

    return with_services


def floats(*shape: int) -> TensorType:
    return TensorType(pb.OPERAND_TYPE_TENSOR_FLOAT32, shape)


def old() -> RunnableModel:
    """Any version carries it."""
    builder = ModelBuilder("old")
    x = builder.input("x", floats(1, 4))
    return RunnableModel.of(
        builder.build([builder.operation(pb.OPERATION_TYPE_RELU, [x], "y", floats(1, 4))])
    )


def new() -> RunnableModel:
    """AIDL-2 carries it, and nothing before."""
    builder = ModelBuilder("new")
    x = builder.input("x", floats(1, 2, 3))
    weights = builder.constant("w", floats(1, 3, 2), np.ones((1, 3, 2), np.float32))
    arguments = [x, weights, builder.boolean(False), builder.boolean(False)]
    product = builder.operation(
        pb.OPERATION_TYPE_BATCH_MATMUL, arguments, "product", floats(1, 2, 2)
    )
    return RunnableModel.of(builder.build([product]))


@pytest.mark.parametrize(
    ("model", "services", "instance", "wire"),
    [
        (old(), [], "", Wire.HIDL),
        (new(), [], "", Wire.AIDL),
        (old(), [_HIDL, _AIDL], "vendor", Wire.HIDL),
        (new(), [_HIDL, _AIDL], "vendor", Wire.AIDL),
        (old(), [_HIDL], "vendor", Wire.HIDL),
        (old(), [_AIDL], "vendor", Wire.AIDL),
    ],
)
def test_the_model_and_the_service_say_which_wire(
    phone: Register, model: RunnableModel, services: Sequence[str], instance: str, wire: Wire
) -> None:
    device = phone(*(each.format("vendor") for each in services))
    chosen = resolve_transport.resolve(Choice(), device, model, instance)
    assert list(chosen.wires) == [wire]
    assert Site(device, instance=instance or None).reaching(model).wire is wire


def test_what_is_asked_for_stays(phone: Register) -> None:
    asked = hal_version.choose("1.2")
    assert resolve_transport.resolve(asked, phone(_AIDL.format("vendor")), old(), "vendor") == asked


def test_in_process_there_is_no_wire_to_choose() -> None:
    host = cast("Device", Phone(has_binder=False))
    assert resolve_transport.resolve(Choice(), host, new()) == Choice()


def test_a_service_on_the_wrong_wire_is_told_with_what_to_do(phone: Register) -> None:
    with pytest.raises(ConfigError, match=r"registered over HIDL alone: .* --wires hidl,aidl"):
        resolve_transport.resolve(Choice(), phone(_HIDL.format("vendor")), new(), "vendor")


def test_a_service_that_is_not_there_is_told_with_those_that_are(phone: Register) -> None:
    device = phone(_HIDL.format("edge"), _AIDL.format("edge"), _AIDL.format("tpu"), "other/vendor")
    said = r"as vendor; there is edge, tpu\. halyard doctor --device 0A1B --instance vendor"
    with pytest.raises(TargetUnreachable, match=said):
        resolve_transport.resolve(Choice(), device, old(), "vendor")


def test_a_device_that_does_not_list_its_services_is_asked_for_the_usual_one(
    phone: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = phone()

    def denied(device: Device) -> list[str]:
        raise CommandFailed("denied", serial=device.serial)

    for listing in (denied, lambda _: []):
        monkeypatch.setattr(resolve_transport, "list_services", listing)
        assert resolve_transport.resolve(Choice(), device, old(), "vendor") == Choice()
        assert resolve_transport.resolve(Choice(), device, new(), "vendor").newest_of is Wire.AIDL


@pytest.mark.parametrize(
    ("named", "option", "said"),
    [
        ("", "--hal ", "--hal 1.3: the model needs HAL AIDL-2 or newer: --hal aidl, or leave it"),
        ("vm:1.3", ":", "vm:1.3: the model needs HAL AIDL-2 or newer: :aidl, or leave it out"),
        ("", "hal=", "hal=1.3: the model needs HAL AIDL-2 or newer: hal=aidl, or leave it out"),
    ],
)
def test_a_version_that_can_not_carry_the_model_is_told_with_one_that_can(
    named: str, option: str, said: str
) -> None:
    with pytest.raises(ConfigError) as refusal:
        resolve_transport.carrying(hal_version.choose("1.3"), new(), named, option)
    assert str(refusal.value).startswith(said)
    resolve_transport.carrying(hal_version.choose("aidl"), new(), named, option)
    resolve_transport.carrying(hal_version.choose("1.3"), old(), named, option)


# ---- commands with two sides --------------------------------------------------------------------


class Started(contextlib.nullcontext[None]):
    def __init__(self, options: ServiceOptions) -> None:
        super().__init__()
        self.instance = options.instance

    def __enter__(self) -> Self:  # type: ignore[override]
        return self


class Served(Phone, contextlib.nullcontext[None]):
    """One that starts services, of which it keeps the options."""

    def __init__(self) -> None:
        Phone.__init__(self)
        contextlib.nullcontext.__init__(self)
        self.started: list[ServiceOptions] = []

    def __enter__(self) -> Self:  # type: ignore[override]
        return self

    def start_service(self, options: ServiceOptions) -> Started:
        self.started.append(options)
        return Started(options)


@dataclass(frozen=True)
class Given:
    """A model of the benchmark."""

    runnable: RunnableModel
    seed: int = 0

    def record(self) -> Model:
        return Model(name=self.runnable.name, seed=self.seed)


def test_a_side_of_a_comparison_is_reached_as_its_model_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    device = Served()
    monkeypatch.setattr(opening, "open_config", lambda _: device)
    with Sides() as sides:
        sides.open(choose("0A1B"), Given(new()))
        sides.open(choose("0A1B"), Given(old()))
        assert [list(each.wires) for each in device.started] == [[Wire.AIDL], [Wire.HIDL]]
        with pytest.raises(ConfigError, match=r"^0A1B:1\.3: the model needs HAL AIDL-2"):
            sides.open(choose("0A1B:1.3"), Given(new()))


SPEC = Spec("m", DataType.FLOAT32, "0A1B", [], 1, False, "sync", None)


def sites(model: RunnableModel, *words: str) -> list[Site]:
    """Of the sides A and B of a bench."""
    device = cast("Device", Served())
    run = PairRun(Terminal(), Site(device), "0A1B")
    devices = Devices({"0A1B": device})
    specs = [SPEC.parse(each, "--a", ["sync"]) for each in words]
    with contextlib.ExitStack() as stack:
        return [
            run._site_of(stack, name, spec, model, devices)
            for name, spec in zip("AB", specs, strict=True)
        ]


def test_two_sides_of_a_bench_may_be_two_versions() -> None:
    found = sites(old(), "hal=1.2", "hal=aidl3")
    assert [each.version for each in found] == [pb.HAL_VERSION_1_2, pb.HAL_VERSION_AIDL_3]
    assert [each.target.name for each in found] == [
        "hidl:halyard-default-a",
        "aidl:halyard-default",
    ]


def test_over_aidl_one_side_of_a_bench_has_a_name() -> None:
    with pytest.raises(ConfigError, match=r"^--b: a second service over AIDL has no name"):
        sites(new(), "backends=CpuRef", "backends=CpuAcc")
    found = sites(old(), "backends=CpuRef", "backends=CpuAcc")
    assert [each.target.name for each in found] == [
        "hidl:halyard-default-a",
        "hidl:halyard-default-b",
    ]


def test_a_side_of_a_bench_is_refused_with_the_word_that_helps() -> None:
    with pytest.raises(ConfigError, match=r"^hal=1\.3: the model needs .*: hal=aidl"):
        sites(new(), "hal=1.3", "")


@pytest.mark.parametrize("words", [["run"], ["profile"], ["bench"], ["compare", "CpuRef", "host"]])
def test_every_command_that_runs_models_asks(
    words: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(*_: object) -> Choice:
        raise ConfigError("which wire?")

    monkeypatch.setattr(resolve_transport, "resolve", asked)
    monkeypatch.setattr(machine, "measure_peak", lambda threads: Peak(threads, "", 0, "", 0, 0, 0))
    small = ["small_classifier", "--size", "16", "--width", "0.35"]
    done = CliRunner().invoke(cli, [*words, *small])
    assert done.exit_code in (1, 2)
    assert "which wire?" in done.output
