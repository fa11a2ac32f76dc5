# SPDX-License-Identifier: Apache-2.0
"""Results as a page: one file that needs no other, and no network."""
