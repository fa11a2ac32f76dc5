# SPDX-License-Identifier: Apache-2.0
# Scales of their own for each filter, in both layouts; a model whose scales only make values.

image = Input("image", ("TENSOR_FLOAT32", [1, 1, 2, 2]))
filters = Parameter("filters", ("TENSOR_FLOAT32", [2, 1, 1, 2]), [1, -2, 30, 63.5])
bias = Parameter("bias", ("TENSOR_FLOAT32", [2]), [1, -10])
layout = BoolScalar("layout", False)
out = Output("out", ("TENSOR_FLOAT32", [1, 1, 2, 2]))
Model().Operation("CONV_2D", image, filters, bias, 2, 1, 1, 0, layout).To(out)

per_channel = SymmPerChannelQuantParams(channelDim=0, scales=[0.25, 0.5])
# The bias has the scale of the input times that of each filter.
biases = SymmPerChannelQuantParams(channelDim=0, scales=[0.125, 0.25], hide=True)
channels = DataTypeConverter().Identify(
    {
        image: ("TENSOR_QUANT8_ASYMM", 0.5, 10),
        filters: ("TENSOR_QUANT8_SYMM_PER_CHANNEL", 0, 0, per_channel),
        bias: ("TENSOR_INT32", 0.0, 0, biases),
        out: ("TENSOR_QUANT8_ASYMM", 2.0, 50),
    }
)
# 1 * 1 - 2 * 2 + 1, 1 * 30 + 2 * 63.5 - 10, and so on
Example({image: [1, 2, 3, -1], out: [-2, 147, 6, 16.5]}).AddNchw(image, out, layout).AddVariations(
    "relaxed", "float16", channels
)

# The same filters, written in their own type.
written = Parameter(
    "written",
    "TENSOR_QUANT8_SYMM_PER_CHANNEL",
    "{2, 1, 1, 2}",
    [4, -8, 60, 127],
    extraParams=per_channel,
)
steps = Parameter("steps", ("TENSOR_INT32", [2]), [8, -40], extraParams=biases)
q = Input("q", ("TENSOR_QUANT8_ASYMM", [1, 1, 2, 2], 0.5, 10))
r = Output("r", ("TENSOR_QUANT8_ASYMM", [1, 1, 2, 2], 2.0, 50))
Model("written").Operation("CONV_2D", q, written, steps, 2, 1, 1, 0, layout).To(r)
Example({q: [12, 14, 16, 8], r: [49, 124, 53, 58]}).AddVariations(
    DataLayoutConverter("nchw").Identify([q, r, layout]), defaultName="nhwc"
)
