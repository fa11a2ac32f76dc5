# SPDX-License-Identifier: Apache-2.0
"""Models that PyTorch has serialised for NNAPI (torch.backends._nnapi), read without PyTorch."""

from halyard.torch_nnapi.convert_torch import read_conversion

__all__ = ["read_conversion"]
