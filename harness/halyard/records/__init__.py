# SPDX-License-Identifier: Apache-2.0
"""The files that commands write about their results: what is in them, to write and to read."""

from halyard.records.record import Document, Error, Record, decode, encode, error

__all__ = ["Document", "Error", "Record", "decode", "encode", "error"]
