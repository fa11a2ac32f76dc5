// SPDX-License-Identifier: Apache-2.0
//
// The files in which devices keep what they prepared, of a folder and a token that the program
// gives, or by descriptors.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "driver/model/call_options.h"
#include "driver/prepare/cache_key.h"
#include "engine/base/file_descriptor.h"
#include "nnapi/device.h"

namespace halyard::nnapi {

// How a compilation is asked for: two that differ in any of it share no file.
struct CompilationIdentity {
    driver::ExecutionPreference preference = driver::ExecutionPreference::FAST_SINGLE_ANSWER;
    driver::Priority priority = driver::Priority::MEDIUM;
    driver::ExtensionHints hints;
};

class CompilationFiles {
  public:
    using Token = std::array<uint8_t, 32>;

    // A folder's: files are named by SHA-256 over the token, the device, its version, how the
    // compilation is asked for, and the operations of a part.
    CompilationFiles(std::string folder, const Token& token)
        : mFolder(std::move(folder)), mToken(token) {}
    // For the only device.
    CompilationFiles(std::vector<FileDescriptor> models, std::vector<FileDescriptor> data,
                     const Token& token);

    // Those of a device and a part (`operations`; empty: all of the model). `isNew`: made, or
    // emptied, to be written. Null: the device keeps none, or there are none and the log says why.
    std::shared_ptr<const driver::CompilationCache> open(const RuntimeDevice& device,
                                                         std::span<const uint32_t> operations,
                                                         const CompilationIdentity& identity,
                                                         bool isNew) const;

  private:
    Token nameOf(const RuntimeDevice& device, std::span<const uint32_t> operations,
                 const CompilationIdentity& identity) const;

    const std::string mFolder;  // empty: descriptors
    const Token mToken;
    const std::vector<FileDescriptor> mModels;
    const std::vector<FileDescriptor> mData;
};

}  // namespace halyard::nnapi
