# SPDX-License-Identifier: Apache-2.0
# Draws of four classes follow the softmax of their logits, which may be halves.

logits = Input("logits", "TENSOR_FLOAT32", "{1, 4}")
seeds = Parameter("seeds", "TENSOR_INT32", "{2}", [37, 42])
draws = IgnoredOutput("draws", "TENSOR_INT32", "{1, 2048}")
Model().Operation("RANDOM_MULTINOMIAL", logits, 2048, seeds).To(draws)
Example(({logits: [0.0, 0.5, 1.0, 2.0]}, {draws: []})).WithMultinomialDistributionTolerance(
    0.05
).AddVariations("float16")
