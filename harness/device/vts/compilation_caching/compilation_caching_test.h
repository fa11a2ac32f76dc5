// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "harness/device/vts/fixture/check.h"

namespace halyard::vts {

// CompilationCachingTest: models that are kept in files and prepared from them; once with floats,
// once with 8 bits.
Checks compilationCachingTest();
// CompilationCachingSecurityTest: files that somebody has changed, at random by ten seeds.
Checks compilationCachingSecurityTest();

}  // namespace halyard::vts
