# SPDX-License-Identifier: Apache-2.0
"""NNAPI models of .tflite files."""
