// SPDX-License-Identifier: Apache-2.0
//
// Arguments of operations that say no more than what holds without them, of which older devices
// know nothing: a layout of NHWC, dilations of 1, the last axis.

#pragma once

#include "driver/model/model.h"

namespace halyard::nnapi {

// Takes them away, from the last argument on, in the main subgraph of a valid model. Operands stay,
// with fewer consumers. As Android's runtime does, so that such models go to devices of earlier
// versions.
void dropDefaultArguments(driver::Model& model);

}  // namespace halyard::nnapi
