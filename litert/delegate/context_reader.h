// SPDX-License-Identifier: Apache-2.0
//
// The context that TFLite hands a delegate, as the importer's model. Nothing says which version of
// the interface a host speaks, so what is read is looked at for whether it makes sense first.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "importers/tflite/model.h"
#include "litert/tflite_abi.h"

namespace halyard::litert {

// A host's arrays, as far as their size makes sense.
inline constexpr int32_t kMostEntries = 1 << 20;

struct ContextModel {
    tflite::Model model;         // one subgraph, without inputs and outputs: a context tells none
    std::vector<int32_t> nodes;  // the context's number of each operator, in order of execution
};

// Constants point to where the host has them, which is as long as its interpreter. Only inside
// Delegate.Prepare. UNSUPPORTED where what is found is no context as this interface has it, with
// what is wrong.
Result<ContextModel> readContext(TfLiteContext* context);

// One of the context's tensors; `unreadable` where it has what can't be told here.
tflite::Tensor readTensor(const TfLiteTensor& tensor);
// The extents as they are now. No dims, or a number of them that makes no sense: none.
std::vector<int32_t> shapeOf(const TfLiteTensor& tensor);

}  // namespace halyard::litert
