# SPDX-License-Identifier: Apache-2.0
"""Random small modules of PyTorch, to be exported: with torch.onnx.export, of TorchScript and of
torch.export, and for NNAPI (torch.backends._nnapi), in real numbers and in 8 bits.

A module follows from a seed and its number alone, of one version of PyTorch.
"""
