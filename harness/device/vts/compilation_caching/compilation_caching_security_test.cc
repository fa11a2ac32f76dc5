// SPDX-License-Identifier: Apache-2.0

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/device/vts/compilation_caching/cache_folder.h"
#include "harness/device/vts/compilation_caching/cached_models.h"
#include "harness/device/vts/compilation_caching/caching_device.h"
#include "harness/device/vts/compilation_caching/compilation_caching_test.h"
#include "harness/device/vts/fixture/context.h"

namespace halyard::vts {
namespace {

using driver::ErrorStatus;
using driver::HalVersion;
using driver::OperandType;

using Random = std::mt19937;

uint32_t between(Random& random, uint32_t least, uint32_t most) {
    return std::uniform_int_distribution<uint32_t>(least, most)(random);
}

uint8_t randomBit(Random& random) {
    return static_cast<uint8_t>(1U << between(random, 0, 7));
}

// Each says in a sentence what can't be done.
using Corrupt = Status (*)(const std::string& path, Random& random);

Status flipBit(const std::string& path, Random& random) {
    HALYARD_ASSIGN_OR_RETURN(const FileDescriptor file, CacheFolder::openFile(path, O_RDWR));
    struct stat status = {};
    if (fstat(file.get(), &status) != 0 || status.st_size == 0) {
        return unsupported("there is nothing in the file");
    }
    const auto at =
            static_cast<off_t>(between(random, 0, static_cast<uint32_t>(status.st_size - 1)));
    uint8_t byte = 0;
    if (pread(file.get(), &byte, 1, at) != 1) {
        return internalError("the file can't be read");
    }
    byte ^= randomBit(random);
    return pwrite(file.get(), &byte, 1, at) == 1 ? Status()
                                                 : internalError("the file can't be written");
}

Status appendBytes(const std::string& path, Random& random) {
    HALYARD_ASSIGN_OR_RETURN(const FileDescriptor file,
                             CacheFolder::openFile(path, O_WRONLY | O_APPEND));
    std::vector<uint8_t> bytes(between(random, 1, 256));
    for (uint8_t& byte : bytes) {
        byte = static_cast<uint8_t>(between(random, 0, 255));
    }
    return write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size())
                   ? Status()
                   : internalError("the file can't be written");
}

// The model file is what has to be told from any other; what is in the data may be taken, but it
// must not hurt.
enum class File : uint8_t { MODEL, DATA };

Verdict loadChanged(CachingDevice& device, bool mayBeTaken, std::string_view what) {
    const auto loaded = device.load();
    if (mayBeTaken) {
        return passed();
    }
    return device.expectLoad(loaded.status(), what, {ErrorStatus::GENERAL_FAILURE});
}

template <File file, Corrupt corrupt>
Verdict corrupted(CachingDevice& device, Random& random) {
    const CachedModel model = fullyConnected(device.type());
    if (Verdict verdict = device.begin({&model}); !verdict.hasPassed()) {
        return verdict;
    }
    const std::vector<std::string>& paths =
            file == File::MODEL ? device.folder().modelFiles() : device.folder().dataFiles();
    if (paths.empty()) {
        return device.keepsModels() ? skipped("the device has no such files")
                                    : CachingDevice::skippedAsNoneIsKept();
    }
    for (const std::string& path : paths) {
        if (Verdict verdict = device.save(model); !verdict.hasPassed()) {
            return verdict;
        }
        const Status done = corrupt(path, random);
        if (done.code() == StatusCode::UNSUPPORTED) {
            return skipped(std::string(done.message()));
        }
        if (!done.ok()) {
            return failed(done.toString());
        }
        const Verdict verdict =
                loadChanged(device, file == File::DATA, "of files that somebody has changed");
        if (!verdict.hasPassed()) {
            return verdict;
        }
    }
    return passed();
}

Verdict wrongToken(CachingDevice& device, Random& random) {
    const CachedModel model = fullyConnected(device.type());
    if (Verdict verdict = device.begin({&model}); !verdict.hasPassed()) {
        return verdict;
    }
    if (!device.keepsModels()) {
        return CachingDevice::skippedAsNoneIsKept();
    }
    if (Verdict verdict = device.save(model); !verdict.hasPassed()) {
        return verdict;
    }
    device.token()[between(random, 0, static_cast<uint32_t>(device.token().size() - 1))] ^=
            randomBit(random);
    return loadChanged(device, false, "with another token");
}

struct SecurityRow {
    std::string_view name;
    Verdict (*run)(CachingDevice& device, Random& random);
};

constexpr SecurityRow kSecurityRows[] = {
        {"CorruptedModelCache", corrupted<File::MODEL, flipBit>},
        {"WrongLengthModelCache", corrupted<File::MODEL, appendBytes>},
        {"CorruptedDataCache", corrupted<File::DATA, flipBit>},
        {"WrongLengthDataCache", corrupted<File::DATA, appendBytes>},
        {"WrongToken", wrongToken},
};

constexpr uint32_t kSeeds = 10;

}  // namespace

Checks compilationCachingSecurityTest() {
    Checks checks;
    for (const SecurityRow& row : kSecurityRows) {
        for (const OperandType type :
             {OperandType::TENSOR_FLOAT32, OperandType::TENSOR_QUANT8_ASYMM}) {
            for (uint32_t seed = 0; seed < kSeeds; ++seed) {
                checks.push_back(
                        {.suite = "CompilationCachingSecurityTest",
                         .name = row.name,
                         .variant = std::string(driver::nameOf(type)) + "_" + std::to_string(seed),
                         .scope = Scope::DEVICE,
                         .since = HalVersion::V1_2,
                         .until = driver::kNewestVersion,
                         .run = [run = row.run, type, seed](Context& context) {
                             CachingDevice device(context, type);
                             Random random(seed);
                             return run(device, random);
                         }});
            }
        }
    }
    return checks;
}

}  // namespace halyard::vts
