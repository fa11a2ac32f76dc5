# SPDX-License-Identifier: Apache-2.0
"""A model on a device: executed, timed, compared with a reference, and told."""
