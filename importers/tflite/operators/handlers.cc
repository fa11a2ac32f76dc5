// SPDX-License-Identifier: Apache-2.0

#include "importers/tflite/operators/handlers.h"

namespace halyard::tflite {

Handler findHandler(int32_t code) {
    switch (static_cast<OperatorCode>(code)) {
#define HALYARD_TFLITE_HANDLER(code, function) \
    case OperatorCode::code:                   \
        return function;
#include "importers/tflite/operators/handlers.inc"
#undef HALYARD_TFLITE_HANDLER
        default:
            return nullptr;
    }
}

}  // namespace halyard::tflite
