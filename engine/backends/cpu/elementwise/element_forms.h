// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "engine/graph/tensor.h"

namespace halyard::engine::cpu {

// The forms of a family for each type of elements: functions, or structs of some. Families that
// take no INT32 leave that out.
template <typename Form>
struct ElementForms {
    Form floats{};
    Form halves{};
    Form unsignedBytes{};
    Form signedBytes{};
    Form ints{};

    // BOOL8 is as unsigned bytes are.
    const Form& of(DataType type) const {
        switch (type) {
            case DataType::FLOAT16:
                return halves;
            case DataType::INT32:
                return ints;
            case DataType::QUANT8_ASYMM:
            case DataType::BOOL8:
                return unsignedBytes;
            case DataType::QUANT8_ASYMM_SIGNED:
                return signedBytes;
            default:
                return floats;
        }
    }
};

}  // namespace halyard::engine::cpu
