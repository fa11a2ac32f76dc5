// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace halyard::engine {

// Names the elements of a constant within one program and all graphs inside it: equal ids, equal
// bytes. Given when a program is built (constant_store.h), kept where the bytes are let go of, and
// saved with the program.
enum class ConstantId : uint32_t { NONE = 0 };

// Elements of a constant. `owner` keeps `bytes` alive (a mapped pool, a vector); the bytes may be
// unaligned in the client's pool, so Graph::addConstant copies those that are.
struct ConstantData {
    std::shared_ptr<const void> owner;
    std::span<const uint8_t> bytes;
    // A client may write to the bytes at any time. The verifier copies those that are a control
    // input of a node.
    bool shared = false;
    ConstantId id = ConstantId::NONE;

    // Where there is an id and nothing else, all that reads the constant has packed it.
    bool isPackedAway() const { return owner == nullptr && id != ConstantId::NONE; }
};

}  // namespace halyard::engine
