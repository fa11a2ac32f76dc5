// SPDX-License-Identifier: Apache-2.0
//
// libneuralnetworks.so: what programs link or load in place of Android's runtime.

#include "nnapi/runtime.h"

namespace halyard::nnapi {

const Form kForm = Form::NEURAL_NETWORKS;

}  // namespace halyard::nnapi
