// SPDX-License-Identifier: Apache-2.0
//
// Delegate: what tflite_plugin_create_delegate() makes. Everything of an interpreter belongs to its
// kernels: one delegate serves several interpreters, at the same time, and may end before them.

#pragma once

#include <memory>

#include "engine/base/status.h"
#include "litert/delegate/options.h"
#include "litert/tflite_abi.h"

namespace halyard::litert {

// INVALID_ARGUMENT as Runtime::create() says.
Result<TfLiteDelegate*> makeDelegate(const DelegateOptions& options);
// Null is nothing to end.
void endDelegate(TfLiteDelegate* delegate);

}  // namespace halyard::litert
