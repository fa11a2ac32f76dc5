// SPDX-License-Identifier: Apache-2.0

#include "hal/memory/cache_files.h"

#include <fcntl.h>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hal/descriptors/client_workers.h"
#include "hal/descriptors/descriptor_kind.h"

namespace halyard::hal {
namespace {

// How long preparing a model waits for a client's files. A busy disk takes a while; a stuck one
// holds no more than the client's own share of what runs.
constexpr std::chrono::seconds kPatience{2};

// Of each kind, of any device.
constexpr size_t kMostFiles = 32;

Status import(std::span<const int> files, std::string_view kind,
              std::vector<FileDescriptor>& imported) {
    for (const int file : files) {
        const DescriptorKind found = kindOf(file);
        if (found != DescriptorKind::SHARED_MEMORY && found != DescriptorKind::FILE) {
            return internalError("a " + std::string(kind) +
                                 " file is neither memory nor on a disk of this device: it is " +
                                 describeDescriptor(file) + "; taken are " + describeWhatIsTaken());
        }
        FileDescriptor own(fcntl(file, F_DUPFD_CLOEXEC, 0));
        if (!own.valid()) {
            return {StatusCode::RESOURCE_EXHAUSTED,
                    "a " + std::string(kind) + " file's descriptor could not be duplicated"};
        }
        imported.push_back(std::move(own));
    }
    return {};
}

}  // namespace

Result<std::shared_ptr<const driver::CompilationCache>> importCache(
        std::span<const int> modelFiles, std::span<const int> dataFiles,
        const std::array<uint8_t, 32>& token, driver::ProcessId client) {
    if (modelFiles.size() > kMostFiles || dataFiles.size() > kMostFiles) {
        return invalidArgument(std::to_string(modelFiles.size()) + " model files and " +
                               std::to_string(dataFiles.size()) + " data files");
    }
    auto cache = std::make_shared<driver::CompilationCache>();
    HALYARD_RETURN_IF_ERROR(import(modelFiles, "model", cache->modelFiles));
    HALYARD_RETURN_IF_ERROR(import(dataFiles, "data", cache->dataFiles));
    cache->token = token;
    cache->access = [owner = ClientWorkers::Owner{.pid = client.pid, .uid = client.uid}](
                            std::function<void()> work) {
        ClientWorkers& workers = ClientWorkers::here();
        return !workers.isStuck(owner) && workers.runAndWait(owner, std::move(work), kPatience);
    };
    return std::shared_ptr<const driver::CompilationCache>(std::move(cache));
}

}  // namespace halyard::hal
