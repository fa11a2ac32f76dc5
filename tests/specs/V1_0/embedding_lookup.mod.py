# SPDX-License-Identifier: Apache-2.0
# Rows in another order, one of them twice.

indices = Input("indices", "TENSOR_INT32", "{3}")
table = Input("table", "TENSOR_FLOAT32", "{3, 2}")
rows = Output("rows", "TENSOR_FLOAT32", "{3, 2}")
Model().Operation("EMBEDDING_LOOKUP", indices, table).To(rows)
Example({indices: [2, 0, 2], table: [0, 1, 10, 11, 20, 21], rows: [20, 21, 0, 1, 20, 21]})
