// SPDX-License-Identifier: Apache-2.0
//
// Maps in the format of FlexBuffers, whose numbers have 32 bits.

#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace halyard::tflite {

struct FlexValue {
    uint8_t type = 1;  // an integer
    uint32_t bits = 0;
};

inline FlexValue flexInteger(int32_t value) {
    return {.type = 1, .bits = static_cast<uint32_t>(value)};
}
inline FlexValue flexFloat(float value) {
    FlexValue flex = {.type = 3};
    std::memcpy(&flex.bits, &value, sizeof value);
    return flex;
}
inline FlexValue flexBool(bool value) {
    return {.type = 26, .bits = value ? 1U : 0U};
}

inline std::vector<uint8_t> flexMap(const std::map<std::string, FlexValue>& values) {
    constexpr uint8_t kFourBytes = 2;
    std::vector<uint8_t> bytes;
    const auto add = [&](size_t number) {
        for (size_t i = 0; i < 4; ++i) {
            bytes.push_back(static_cast<uint8_t>(number >> (8 * i)));
        }
    };
    std::vector<size_t> keys;
    for (const auto& [key, value] : values) {
        keys.push_back(bytes.size());
        bytes.insert(bytes.end(), key.begin(), key.end());
        bytes.push_back(0);
    }
    add(values.size());
    const size_t keysAt = bytes.size();
    for (const size_t key : keys) {
        add(bytes.size() - key);
    }
    add(bytes.size() - keysAt);
    add(4);
    add(values.size());
    const size_t valuesAt = bytes.size();
    for (const auto& [key, value] : values) {
        add(value.bits);
    }
    for (const auto& [key, value] : values) {
        bytes.push_back(static_cast<uint8_t>(value.type << 2 | kFourBytes));
    }
    add(bytes.size() - valuesAt);
    bytes.push_back(9 << 2 | kFourBytes);
    bytes.push_back(4);
    return bytes;
}

}  // namespace halyard::tflite
