# SPDX-License-Identifier: Apache-2.0
# Operations of which no golden case has signed bytes: negative axes, ends of the range, scales that
# differ.

import numpy as np

SIGNED = "TENSOR_QUANT8_ASYMM_SIGNED"
values = (np.arange(2 * 3 * 4) * 37 % 256 - 128).reshape(2, 3, 4)
flat = values.ravel().tolist()


def check(name, operation, inputs, outputs):
    """inputs: operands, or (type, values) of such; outputs: (type, values)."""
    feeds, operands = {}, []
    for entry in inputs:
        if isinstance(entry, tuple):
            operand = Input("x", entry[0])
            feeds[operand] = np.ravel(entry[1]).tolist()
            operands.append(operand)
        else:
            operands.append(entry)
    results = [Output("z", kind) for kind, _ in outputs]
    for operand, (_, expected) in zip(results, outputs, strict=True):
        feeds[operand] = np.ravel(expected).tolist()
    Model(name).Operation(operation, *operands).To(*results)
    Example(feeds)


def same(shape, scale=0.5, zero=-3):
    return (SIGNED, list(shape), scale, zero)


given = (same([2, 3, 4]), values)
for operation, find in (("ARGMAX", np.argmax), ("ARGMIN", np.argmin)):
    expected = find(values, axis=-2)
    check(operation.lower(), operation, [given, -2], [(("TENSOR_INT32", [2, 4]), expected)])
shuffled = values.reshape(2, 3, 2, 2).swapaxes(2, 3).reshape(2, 3, 4)
check("channel_shuffle", "CHANNEL_SHUFFLE", [given, 2, -1], [(same([2, 3, 4]), shuffled)])
check("expand_dims", "EXPAND_DIMS", [given, -2], [(same([2, 3, 1, 4]), values)])
indices = Parameter("indices", "TENSOR_INT32", "{2, 2}", [3, 0, 1, 1])
gathered = values[:, :, [[3, 0], [1, 1]]]
check("gather", "GATHER", [given, -1, indices], [(same([2, 3, 2, 2]), gathered)])
halves = np.split(values, 2, axis=-1)
check("split", "SPLIT", [given, -1, 2], [(same([2, 3, 2]), half) for half in halves])
check("tile", "TILE", [given, [1, 2, 3]], [(same([2, 6, 12]), np.tile(values, (1, 2, 3)))])
largest = np.sort(values, axis=-1)[:, :, :1:-1]
places = np.argsort(values, axis=-1)[:, :, :1:-1]
topk = [(same([2, 3, 2]), largest), (("TENSOR_INT32", [2, 3, 2]), places)]
check("topk_v2", "TOPK_V2", [given, 2], topk)

for operation, reduce in (("REDUCE_MAX", np.max), ("REDUCE_MIN", np.min)):
    expected = reduce(values, axis=(0, 2))
    check(operation.lower(), operation, [given, [0, -1], False], [(same([3]), expected)])
mean = np.rint(values.mean(axis=1, keepdims=True))
check("mean", "MEAN", [given, [-2], 1], [(same([2, 1, 4]), mean.astype(int))])

other = (same([4], 0.25, 20), [-128, 0, 20, 127])
real = (values + 3) * 0.5, (np.array([-128, 0, 20, 127]) - 20) * 0.25
truth = ("TENSOR_BOOL8", [2, 3, 4])
COMPARE = {
    "EQUAL": np.equal,
    "GREATER": np.greater,
    "GREATER_EQUAL": np.greater_equal,
    "LESS": np.less,
    "LESS_EQUAL": np.less_equal,
    "NOT_EQUAL": np.not_equal,
}
for operation, compare in COMPARE.items():
    check(operation.lower(), operation, [given, other], [(truth, compare(*real))])
for operation, extremum in (("MAXIMUM", np.maximum), ("MINIMUM", np.minimum)):
    steps = np.clip(np.rint(extremum(*real) / 0.25) - 7, -128, 127).astype(int)
    check(operation.lower(), operation, [given, other], [(same([2, 3, 4], 0.25, -7), steps)])

slopes = (same([4], 0.25, 0), [-8, 4, 2, 0])
real = (values + 3) * 0.5, np.array([-2.0, 1.0, 0.5, 0.0])
steps = np.where(real[0] >= 0, real[0], real[0] * real[1])
steps = np.clip(np.rint(steps / 0.5) - 40, -128, 127).astype(int)
check("prelu", "PRELU", [given, slopes], [(same([2, 3, 4], 0.5, -40), steps)])

for operation, low, high in (("RELU", 0, 1e9), ("RELU1", -1, 1), ("RELU6", 0, 6)):
    steps = np.clip(np.clip((values + 3) * 0.5, low, high) / 0.5 - 3, -128, 127).astype(int)
    check(operation.lower(), operation, [given], [(same([2, 3, 4]), steps)])

steps = np.arange(-128, 128)
real = (steps + 3) * 0.0625
everything = (same([256], 0.0625, -3), steps)
logistic = np.clip(np.rint(256 / (1 + np.exp(-real))) - 128, -128, 127).astype(int)
check("logistic", "LOGISTIC", [everything], [(same([256], 1 / 256, -128), logistic)])
tanh = np.clip(np.rint(128 * np.tanh(real)), -128, 127).astype(int)
check("tanh", "TANH", [everything], [(same([256], 1 / 128, 0), tanh)])
swish = np.clip(np.rint(real * np.clip(real + 3, 0, 6) / 6 / 0.0625) - 50, -128, 127).astype(int)
check("hard_swish", "HARD_SWISH", [everything], [(same([256], 0.0625, -50), swish)])

real = (values[0] + 3) * 0.5
powers = np.exp(real - real.max(axis=0))
steps = np.clip(np.rint(powers / powers.sum(axis=0) * 256) - 128, -128, 127).astype(int)
check(
    "softmax",
    "SOFTMAX",
    [(same([3, 4]), values[0]), Float32Scalar("beta", 1.0), -2],
    [(same([3, 4], 1 / 256, -128), steps)],
)

c = (("TENSOR_BOOL8", [3]), [True, False, True])
first, second = (same([3], 0.5, 0), [-128, 1, 127]), (same([3], 2.0, -5), [1, -128, 1])
check("select", "SELECT", [c, first, second], [(same([3], 1.0, 10), [-54, -128, 74])])
