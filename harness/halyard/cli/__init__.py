# SPDX-License-Identifier: Apache-2.0
"""The command line: each module that has COMMANDS adds them to the program `halyard`."""
