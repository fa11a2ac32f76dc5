# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share; a decorator fills a dataclass with what they say."""
