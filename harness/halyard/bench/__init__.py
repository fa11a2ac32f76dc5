# SPDX-License-Identifier: Apache-2.0
"""Our engine and its peers on the very same weights, each in a process of its own, in turns."""
