# SPDX-License-Identifier: Apache-2.0
"""Operation specs: files in the NNAPI spec language (`NAME.mod.py`), read as conformance cases.

A spec is Python code and is run, with all that the user may do: load only specs that you trust.
"""

from halyard.specs.loader import files, load

__all__ = ["files", "load"]
