// SPDX-License-Identifier: Apache-2.0
//
// What maps each of TFLite's operators, by the file that has it. A handler is a Handler
// (importers/tflite/mapper.h); handlers.inc says which operator is whose.

#pragma once

#include "engine/base/status.h"
#include "importers/tflite/mapper.h"

namespace halyard::tflite {

#define HALYARD_TFLITE_HANDLER(code, function) Status function(Mapper& mapper);
#include "importers/tflite/operators/handlers.inc"
#undef HALYARD_TFLITE_HANDLER

}  // namespace halyard::tflite
