# SPDX-License-Identifier: Apache-2.0
"""A service under mixed load for long, and whether it grows.

`python -m tests.soak --minutes 60` runs it.
"""
