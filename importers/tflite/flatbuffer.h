// SPDX-License-Identifier: Apache-2.0
//
// Reads .tflite files: FlatBuffers with the identifier "TFL3". No offset, count or index is
// believed before it is checked; what is read takes memory in proportion to the file.

#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "engine/base/status.h"
#include "importers/tflite/model.h"

namespace halyard::tflite {

// Shapes are those of the file, where an extent that may change is 1 as a rule: what runtimes begin
// with, too, before anyone resizes an input.
//
// The model in these bytes, whose constants stay where they are: `owner` keeps the bytes alive and
// unchanged. INVALID_ARGUMENT says where the file is broken; UNSUPPORTED of one with a version or
// an identifier that is not known. What a tensor or an operator has that is not known makes these
// unreadable, and not the model.
Result<Model> readFlatbuffer(std::span<const uint8_t> bytes, std::shared_ptr<const void> owner);

}  // namespace halyard::tflite
