# SPDX-License-Identifier: Apache-2.0
"""A driver put on a device, with all that starts and declares it, and taken away again."""
