// SPDX-License-Identifier: Apache-2.0
//
// Prefixes of extensions: the high 16 bits of their codes in models of this process. A name has its
// prefix from its first use on, in every model.

#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/model/capabilities.h"

namespace halyard::nnapi {

// Thread-safe.
class ExtensionPrefixes {
  public:
    // Those of all devices: no other name gets a prefix.
    explicit ExtensionPrefixes(std::vector<driver::Extension> known) : mKnown(std::move(known)) {}

    // Nothing where no device has the extension, or all prefixes are taken.
    std::optional<uint16_t> prefixOf(std::string_view name);
    // Nothing where it has been given to none.
    std::optional<std::string> nameOf(uint16_t prefix) const;
    // The size of an extension's operand type; null where the extension lacks it.
    const driver::Extension::OperandTypeInformation* findOperandType(int32_t code) const;

  private:
    const std::vector<driver::Extension> mKnown;
    mutable std::mutex mMutex;
    std::vector<size_t> mPrefixed;  // of mKnown, by the prefix less one
};

}  // namespace halyard::nnapi
