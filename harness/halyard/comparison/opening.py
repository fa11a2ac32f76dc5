# SPDX-License-Identifier: Apache-2.0
"""From the name of a side to what answers: devices opened once, services started for as long."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Self

from halyard.benchmark_model import AnyModel, FileModel
from halyard.comparison.choice import SideChoice
from halyard.comparison.litert_side import LiteRtSide
from halyard.comparison.original_side import OriginalSide
from halyard.comparison.side import HalyardSide, LibrarySide, Side
from halyard.comparison.torch_side import TorchSide
from halyard.devices import Device, LiteRtDevice, Service, ServiceOptions, Wire, open_config
from halyard.engines import litert
from halyard.engines.engine import Library
from halyard.engines.halyard import HalyardDevice
from halyard.engines.in_litert import InLiteRt
from halyard.engines.libraries import library
from halyard.engines.onnx_runtime import OnnxRuntime
from halyard.errors import ConfigError
from halyard.programs.driver_options import DriverOptions
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Target
from halyard.transport import resolve_transport
from halyard.transport.hal_version import wire_of

# By the formats of halyard.conversion.
_ENGINES = {"TFLite": litert.LiteRt, "ONNX": OnnxRuntime}


class Sides:
    """Leaving the context stops the services and closes the devices."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._devices: dict[str, Device] = {}
        # By device, wire and backends: sides that want the same have the same.
        self._services: dict[tuple[str, Wire, tuple[str, ...]], Service] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def open(self, choice: SideChoice, benchmark_model: AnyModel | None = None) -> Side:
        """EngineMissing for a library that is not installed; DeviceError for a device that is not
        there. Two sides of the same device share it. A model that is a file runs as it is in the
        library that it is for."""
        if choice.library:
            engine = _library(choice.library)
            if isinstance(benchmark_model, FileModel) and isinstance(
                engine, _ENGINES.get(benchmark_model.conversion.source.format, ())
            ):
                return OriginalSide(
                    choice.text, engine, benchmark_model.conversion, benchmark_model.runnable
                )
            return LibrarySide(choice.text, engine)
        if choice.script:
            if benchmark_model is None:
                raise ConfigError(f"{choice.text}: PyTorch's side takes a model")
            conversion = (
                benchmark_model.conversion if isinstance(benchmark_model, FileModel) else None
            )
            return TorchSide(choice.text, Path(choice.script), benchmark_model.runnable, conversion)
        if choice.device not in self._devices:
            with choice.or_alike():
                self._devices[choice.device] = self._stack.enter_context(open_config(choice.config))
        device = self._devices[choice.device]
        if isinstance(device, LiteRtDevice):
            return _in_litert(choice, device, benchmark_model)
        if benchmark_model is not None:
            resolve_transport.carrying(choice.hal, benchmark_model.runnable, choice.text, ":")
            chosen = resolve_transport.resolve(
                choice.hal, device, benchmark_model.runnable, choice.instance
            )
            choice = replace(choice, hal=chosen)
        version = choice.hal.versions[0] if choice.hal.versions else pb.HAL_VERSION_UNSPECIFIED
        options = pb.RunOptions(
            mode=pb.EXECUTION_MODE_ASYNC,
            hal_version=version,
            preference=pb.EXECUTION_PREFERENCE_FAST_SINGLE_ANSWER,
            priority=pb.PRIORITY_MEDIUM,
        )
        target, driver = self._target(choice, device), _driver(choice)
        ours = HalyardDevice(device, target, options, driver)
        return HalyardSide(choice.text, ours, choice.backends)

    def _target(self, choice: SideChoice, device: Device) -> Target:
        wire = wire_of(choice.hal.versions[0]) if choice.hal.versions else choice.hal.newest_of
        if choice.instance:
            return Target.service(choice.instance, wire)
        if not device.has_binder:
            return Target.within(device)
        key = (choice.device, wire, choice.backends)
        if key not in self._services:
            options = self._service_options(choice, wire)
            self._services[key] = self._stack.enter_context(device.start_service(options))
        return Target.service(self._services[key].instance, wire)

    def _service_options(self, choice: SideChoice, wire: Wire) -> ServiceOptions:
        """The first has the name that the device's manifest declares."""
        config = choice.config.service
        before = sum(key[:2] == (choice.device, wire) for key in self._services)
        if before and wire is Wire.AIDL:
            raise ConfigError(
                f"{choice.text}: a second service over AIDL has no name in the device's manifest; "
                "give one of the sides a version of HIDL, as in vm:1.3:backends=CpuRef"
            )
        return ServiceOptions(
            program=config.program,
            instance=f"{config.instance}-{before + 1}" if before else config.instance,
            wires=[wire],
            backends=choice.backends,
        )


def _in_litert(
    choice: SideChoice, device: LiteRtDevice, benchmark_model: AnyModel | None
) -> LiteRtSide:
    engine = InLiteRt(device.door, DriverOptions(choice.backends))
    if not isinstance(benchmark_model, FileModel):
        return LiteRtSide(choice.text, engine)
    return LiteRtSide(choice.text, engine, benchmark_model.runnable, benchmark_model.conversion)


def _driver(choice: SideChoice) -> DriverOptions:
    more = ["--backend-dir", str(Path(choice.backend_folder).resolve())]
    return DriverOptions(choice.backends, more=more if choice.backend_folder else ())


def _library(name: str) -> Library:
    if name == "litert-reference":
        return litert.LiteRt(kernels=litert.Kernels.REFERENCE)
    return library(name)
