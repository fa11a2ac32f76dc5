# SPDX-License-Identifier: Apache-2.0
"""The programs of the package: where they are, how they are asked, and what they say."""
