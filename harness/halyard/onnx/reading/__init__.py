# SPDX-License-Identifier: Apache-2.0
"""From ONNX files to NNAPI models, one file for each family of operators."""
