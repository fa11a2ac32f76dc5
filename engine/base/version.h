// SPDX-License-Identifier: Apache-2.0

#pragma once

// The version of Halyard, stated here alone: what clients are told, what names the kept models of
// this build, and the Python package's, which pyproject.toml takes from this line.
#define HALYARD_VERSION "0.1.0"
