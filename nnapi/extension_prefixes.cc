// SPDX-License-Identifier: Apache-2.0

#include "nnapi/extension_prefixes.h"

#include <algorithm>
#include <limits>

namespace halyard::nnapi {

std::optional<uint16_t> ExtensionPrefixes::prefixOf(std::string_view name) {
    const auto known = std::ranges::find(mKnown, name, &driver::Extension::name);
    if (known == mKnown.end()) {
        return std::nullopt;
    }
    const auto index = static_cast<size_t>(known - mKnown.begin());
    const std::lock_guard lock(mMutex);
    const auto found = std::ranges::find(mPrefixed, index);
    if (found != mPrefixed.end()) {
        return static_cast<uint16_t>(found - mPrefixed.begin() + 1);
    }
    // A code is an int32_t: the highest bit is its sign.
    if (mPrefixed.size() >= std::numeric_limits<int16_t>::max()) {
        return std::nullopt;
    }
    mPrefixed.push_back(index);
    return static_cast<uint16_t>(mPrefixed.size());
}

std::optional<std::string> ExtensionPrefixes::nameOf(uint16_t prefix) const {
    const std::lock_guard lock(mMutex);
    if (prefix == 0 || prefix > mPrefixed.size()) {
        return std::nullopt;
    }
    return mKnown[mPrefixed[prefix - 1]].name;
}

const driver::Extension::OperandTypeInformation* ExtensionPrefixes::findOperandType(
        int32_t code) const {
    const std::lock_guard lock(mMutex);
    const auto prefix = static_cast<size_t>(static_cast<uint32_t>(code) >> 16);
    if (prefix == 0 || prefix > mPrefixed.size()) {
        return nullptr;
    }
    const auto& types = mKnown[mPrefixed[prefix - 1]].operandTypes;
    const auto found = std::ranges::find(types, static_cast<uint16_t>(code & 0xFFFF),
                                         &driver::Extension::OperandTypeInformation::type);
    return found == types.end() ? nullptr : &*found;
}

}  // namespace halyard::nnapi
