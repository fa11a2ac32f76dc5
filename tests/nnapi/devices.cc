// SPDX-License-Identifier: Apache-2.0
//
// The devices of all tests of this program, which are there before the first call.

#include <cstdlib>

namespace {

// `adds` takes no MUL, `multiplies` no ADD; neither takes a SUB.
const bool kIsSet = setenv("HALYARD_NNAPI_DEVICES",
                           "in-process --name whole --number-of-threads 2;"
                           "in-process --name adds -u MUL,SUB --number-of-threads 1;"
                           "in-process --name multiplies -u ADD,SUB --number-of-threads 1",
                           1) == 0;

}  // namespace
