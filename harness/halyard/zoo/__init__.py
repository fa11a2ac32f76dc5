# SPDX-License-Identifier: Apache-2.0
"""The model zoo: well-known networks of any size, with seeded weights, in every data type."""

from __future__ import annotations

from halyard.errors import ConfigError
from halyard.model import DataType, half, stimuli, tensor_infos
from halyard.zoo.networks import ARCHITECTURES
from halyard.zoo.quantization import SIGNED, UNSIGNED, calibrate, quantize
from halyard.zoo.zoo_model import ZooModel

__all__ = [
    "MAX_SIZE",
    "MIN_SIZE",
    "NAMES",
    "ZooModel",
    "build",
    "check",
    "check_type",
    "data_types",
    "default_size",
]

NAMES = tuple(sorted(ARCHITECTURES))

# The smallest image, or sequence, that leaves every architecture something to pool; and the
# largest, of which a network takes no more than a few GiB.
MIN_SIZE = 8
MAX_SIZE = 2048

# The first of the inputs that ranges are taken from; apart from those of examples.
_CALIBRATION_SEED = 1 << 41


def data_types(name: str) -> tuple[DataType, ...]:
    """Those that the network comes in."""
    return ARCHITECTURES[name].types


def default_size(name: str) -> int:
    """That of the network as it is published."""
    return ARCHITECTURES[name].size


def check(size: int | None, width: float) -> None:
    """ConfigError for a size or a width that no network is built with."""
    if size is not None and not MIN_SIZE <= size <= MAX_SIZE:
        raise ConfigError(f"--size {size}: from {MIN_SIZE} to {MAX_SIZE}")
    if not 0 < width <= 4:
        raise ConfigError(f"--width {width:g}: more than 0, at most 4")


def check_type(name: str, data_type: DataType) -> None:
    """ConfigError for a type that the network does not come in."""
    known = data_types(name)
    if data_type not in known:
        raise ConfigError(f"{name} comes in {', '.join(map(str, known))}, not in {data_type}")


def build(
    name: str,
    data_type: DataType,
    *,
    size: int | None = None,
    width: float = 1.0,
    seed: int = 0,
    classes: int | None = None,
) -> ZooModel:
    """The network `name` (one of NAMES) for images of size x size, or sequences of `size` frames.

    Size and classes are the architecture's own unless others are asked for. width scales the
    channels of every layer. On one machine the same arguments give the same bytes; all data types
    of the same arguments have the same weights before rounding. ConfigError for a name that is not
    there, for a type that the network does not come in, and for arguments out of range.
    """
    if name not in ARCHITECTURES:
        raise ConfigError(f"no model {name!r} in the zoo (one of {', '.join(NAMES)})")
    architecture = ARCHITECTURES[name]
    size = architecture.size if size is None else size
    check(size, width)
    check_type(name, data_type)
    classes = architecture.classes if classes is None else classes
    if classes < 2:
        raise ConfigError(f"{classes} classes: at least 2")
    model = architecture.compose(size, width, seed, classes)
    if data_type is DataType.FLOAT16:
        model = half.narrow(model)
    elif data_type is not DataType.FLOAT32:
        shape = tuple(model.main.operands[model.main.input_indexes[0]].dimensions)
        observed = calibrate(model, stimuli.samples(shape, _CALIBRATION_SEED))
        scheme = SIGNED if data_type is DataType.QUANT8_SIGNED else UNSIGNED
        model = quantize(model, observed, scheme)
    return ZooModel(
        name=name,
        data_type=data_type,
        model=model,
        inputs=tensor_infos(model, model.main.input_indexes),
        outputs=tensor_infos(model, model.main.output_indexes),
    )
