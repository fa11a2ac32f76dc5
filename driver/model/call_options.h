// SPDX-License-Identifier: Apache-2.0
//
// How a model is prepared and a request executed, as far as clients may say so: the newest
// contract's, of which older ones say less.

#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "driver/model/codes.h"
#include "driver/model/model.h"
#include "driver/model/request.h"
#include "engine/base/checkpoint.h"
#include "engine/base/file_descriptor.h"

namespace halyard::engine {
class TraceSink;
}

namespace halyard::driver {

class CacheKey;
class Client;

// Hints of extensions to one call. Hints of an extension that the driver does not know are ignored,
// as the contract wants it.
struct ExtensionHints {
    struct TokenValuePair {
        // The low 16 bits: which hint; those above: the extension's prefix.
        uint32_t token = 0;
        std::vector<uint8_t> value;
    };
    std::vector<TokenValuePair> pairs;
    std::vector<ExtensionNameAndPrefix> extensionNameToPrefix;
};

// Says that the hints of such a call are ignored, if there are any. `call`: "prepareModel".
void noteIgnored(const ExtensionHints& hints, std::string_view call);

// How many files a device wants to keep of a prepared model.
struct NumberOfCacheFiles {
    uint32_t model = 0;
    uint32_t data = 0;

    bool operator==(const NumberOfCacheFiles&) const = default;
};

// Files for what a device keeps of a prepared model, in the client's name.
struct CompilationCache {
    std::vector<FileDescriptor> modelFiles;
    std::vector<FileDescriptor> dataFiles;
    std::array<uint8_t, 32> token = {};
    // As how many descriptors each file goes over HIDL, in whose handles there is room for any
    // number. One is right.
    uint32_t descriptorsPerFile = 1;
    // Does work that reads or writes the files, which may wait for others that have them open,
    // maybe for good: false where it has not ended in time. It may go on, and what it needs then
    // outlives the call. Null: the work is done on the caller's thread.
    std::function<bool(std::function<void()> work)> access;
    // The key that authenticates the files instead of the device's, where this process has opened
    // them itself, in a folder of its own; null: the device's.
    std::shared_ptr<const CacheKey> key = nullptr;
};

struct PrepareOptions {
    ExecutionPreference preference = ExecutionPreference::FAST_SINGLE_ANSWER;
    Priority priority = Priority::MEDIUM;
    Deadline deadline;
    // Null: there is nothing to be kept. Where it does not have as many files as the device wants,
    // open for what is to be done with them, the model is prepared all the same, and not kept.
    std::shared_ptr<const CompilationCache> cache = nullptr;
    ExtensionHints hints = {};
    // The client whose account the model is charged to; null: this process's.
    std::shared_ptr<Client> client = nullptr;
};

// How long each WHILE of an execution may take: NNAPI's default and maximum.
inline constexpr std::chrono::nanoseconds kDefaultLoopTimeout = std::chrono::seconds(2);
inline constexpr std::chrono::nanoseconds kMaxLoopTimeout = std::chrono::seconds(15);

// Descriptors that become readable, or an error, when what they stand for has happened: sync_file,
// eventfd, pipes.
using Fences = std::vector<std::shared_ptr<const FileDescriptor>>;

struct ExecuteOptions {
    bool measureTiming = false;
    Deadline deadline;
    std::chrono::nanoseconds loopTimeout = kDefaultLoopTimeout;  // kMaxLoopTimeout at most counts
    // The fences that it waits for before it begins, and how long it may take from then on.
    Fences waitFor = {};
    Duration durationAfterFences = {};
    ExtensionHints hints = {};
    engine::TraceSink* trace = nullptr;  // told what each node took; null: not asked for
};

}  // namespace halyard::driver
