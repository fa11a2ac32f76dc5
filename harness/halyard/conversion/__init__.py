# SPDX-License-Identifier: Apache-2.0
"""Models from files, of other formats as of Halyard's own, as NNAPI has them."""

from halyard.conversion.formats import FORMATS, Format, convert

__all__ = ["FORMATS", "Format", "convert"]
