// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/compilation_caching/compilation_caching_test.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "harness/device/vts/compilation_caching/cache_folder.h"
#include "harness/device/vts/compilation_caching/cached_models.h"
#include "harness/device/vts/compilation_caching/caching_device.h"
#include "harness/device/vts/fixture/context.h"

namespace halyard::vts {
namespace {

using driver::ErrorStatus;
using driver::HalVersion;
using driver::OperandType;
using driver::OperationType;
using enum ErrorStatus;

// How often something races: whether it meets the other at a bad moment is a matter of chance.
constexpr int kRaces = 100;

// ---- Saving and loading -------------------------------------------------------------------------

template <typename Visit>
void forEachFile(const driver::CompilationCache& cache, const Visit& visit) {
    for (const auto* const files : {&cache.modelFiles, &cache.dataFiles}) {
        for (const FileDescriptor& file : *files) {
            visit(file.get());
        }
    }
}

void writeZeros(int file, off_t count) {
    const std::vector<char> zeros(static_cast<size_t>(count));
    // Where that fails the check is none of offsets, and no worse.
    static_cast<void>(!write(file, zeros.data(), zeros.size()));
}

// `offset`: where descriptors stand when the model is kept, behind what is in the files already.
Verdict saveAndRetrieve(CachingDevice& device, off_t offset) {
    const CachedModel model = fullyConnected(device.type());
    if (Verdict verdict = device.begin({&model}); !verdict.hasPassed()) {
        return verdict;
    }
    const auto into = device.folder().open(device.token());
    if (!into.ok()) {
        return failed(into.status().toString());
    }
    forEachFile(**into, [offset](int file) { writeZeros(file, offset); });
    if (Verdict verdict = device.save(model, *into); !verdict.hasPassed()) {
        return verdict;
    }
    const auto from = device.folder().open(device.token());
    if (!from.ok()) {
        return failed(from.status().toString());
    }
    forEachFile(**from, [offset](int file) { lseek(file, offset / 2, SEEK_SET); });
    const auto loaded = device.load(*from);
    if (!device.keepsModels()) {
        Verdict verdict = device.expectLoad(loaded.status(), "of a device that keeps no models",
                                            {GENERAL_FAILURE});
        return verdict.hasPassed() ? CachingDevice::skippedAsNoneIsKept() : verdict;
    }
    Verdict verdict = device.expectLoad(loaded.status(), "of what has just been kept", {NONE});
    return verdict.hasPassed() ? device.checkResult(**loaded, model) : verdict;
}

Verdict cacheSavingAndRetrieval(CachingDevice& device) {
    return saveAndRetrieve(device, 0);
}

Verdict cacheSavingAndRetrievalNonZeroOffset(CachingDevice& device) {
    return saveAndRetrieve(device, 2);
}

// ---- Files that are not what the device wants ---------------------------------------------------

using Alterations = std::vector<CacheAlteration> (*)(const CacheFolder& folder);

constexpr std::string_view kNoHandles =
        "the device runs in-process, where files are not sent in handles";

std::vector<CacheAlteration> numbersOfDescriptors(const CacheFolder& /*folder*/) {
    return wrongNumbersOfDescriptors();
}
std::vector<CacheAlteration> forReading(const CacheFolder& folder) {
    return wrongAccessModes(folder, O_RDONLY);
}
std::vector<CacheAlteration> forWriting(const CacheFolder& folder) {
    return wrongAccessModes(folder, O_WRONLY);
}

Result<Cache> openAltered(CachingDevice& device, const CacheAlteration& alteration) {
    HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<driver::CompilationCache> cache,
                             device.folder().open(device.token()));
    HALYARD_RETURN_IF_ERROR(alteration.apply(*cache));
    return Cache(cache);
}

// The model is prepared all the same, and not kept.
template <Alterations alterations>
Verdict saveToCache(CachingDevice& device) {
    const CachedModel model = fullyConnected(device.type());
    if (Verdict verdict = device.begin({&model}); !verdict.hasPassed()) {
        return verdict;
    }
    for (const CacheAlteration& alteration : alterations(device.folder())) {
        const Result<Cache> cache = openAltered(device, alteration);
        if (!cache.ok()) {
            return failed(cache.status().toString());
        }
        std::shared_ptr<driver::IPreparedModel> prepared;
        Verdict verdict = device.save(model, *cache, &prepared);
        if (verdict.hasPassed()) {
            verdict = device.checkResult(*prepared, model);
        }
        if (verdict.hasPassed()) {
            verdict = device.expectLoad(device.load(*cache).status(), "of the same files",
                                        {INVALID_ARGUMENT, GENERAL_FAILURE});
        }
        if (!verdict.hasPassed()) {
            return failed(alteration.what + ": " + verdict.reason);
        }
    }
    return passed();
}

// Checks that a kept model can't be prepared from such files. HIDL's suite knows one answer to
// files that are open for something else.
template <Alterations alterations>
Verdict prepareModelFromCache(CachingDevice& device) {
    const bool isGeneral =
            alterations == &forWriting && device.context().version() <= HalVersion::V1_3;
    const CachedModel model = fullyConnected(device.type());
    if (Verdict verdict = device.begin({&model}); !verdict.hasPassed()) {
        return verdict;
    }
    if (Verdict verdict = device.save(model); !verdict.hasPassed()) {
        return verdict;
    }
    for (const CacheAlteration& alteration : alterations(device.folder())) {
        const Result<Cache> cache = openAltered(device, alteration);
        if (!cache.ok()) {
            return failed(cache.status().toString());
        }
        const Verdict verdict = device.expectLoad(
                device.load(*cache).status(), "with " + alteration.what,
                {isGeneral ? GENERAL_FAILURE : INVALID_ARGUMENT, GENERAL_FAILURE});
        if (!verdict.hasPassed()) {
            return verdict;
        }
    }
    return passed();
}

// ---- Files that change --------------------------------------------------------------------------

// Two long models: that of sums is kept in the device's files, that of products in others.
struct Rivals {
    CachedModel sums;
    CachedModel products;
    std::vector<std::string> filesOfProducts;
};

Verdict begin(CachingDevice& device, Rivals& rivals) {
    rivals.products = chain(device.type(), OperationType::MUL);
    rivals.sums = chain(device.type(), OperationType::ADD);
    if (Verdict verdict = device.begin({&rivals.products, &rivals.sums}); !verdict.hasPassed()) {
        return verdict;
    }
    if (!device.keepsModels()) {
        return CachingDevice::skippedAsNoneIsKept();
    }
    rivals.filesOfProducts = device.folder().otherModelFiles();
    Verdict verdict = device.save(rivals.products, &rivals.filesOfProducts);
    // The sums have one of their own.
    ++device.token()[0];
    return verdict;
}

// `step`, while the files of the products are copied over those of the sums.
template <typename Step>
void race(CachingDevice& device, const Rivals& rivals, const Step& step) {
    std::thread copying([&] {
        static_cast<void>(CacheFolder::copy(rivals.filesOfProducts, device.folder().modelFiles()));
    });
    step();
    copying.join();
}

// It may fail or succeed, but compute nothing else.
Verdict checkRaced(CachingDevice& device, const Rivals& rivals,
                   const Result<std::shared_ptr<driver::IPreparedModel>>& loaded) {
    return loaded.ok() ? device.checkResult(**loaded, rivals.sums) : passed();
}

Verdict saveToCacheToctou(CachingDevice& device) {
    Rivals rivals;
    if (Verdict verdict = begin(device, rivals); !verdict.hasPassed()) {
        return verdict;
    }
    for (int i = 0; i < kRaces; ++i) {
        Verdict verdict;
        race(device, rivals, [&] { verdict = device.save(rivals.sums); });
        if (verdict.hasPassed()) {
            verdict = checkRaced(device, rivals, device.load());
        }
        if (!verdict.hasPassed()) {
            return failed("race " + std::to_string(i) + ": " + verdict.reason);
        }
    }
    return passed();
}

Verdict prepareFromCacheToctou(CachingDevice& device) {
    Rivals rivals;
    if (Verdict verdict = begin(device, rivals); !verdict.hasPassed()) {
        return verdict;
    }
    for (int i = 0; i < kRaces; ++i) {
        Verdict verdict = device.save(rivals.sums);
        if (verdict.hasPassed()) {
            Result<std::shared_ptr<driver::IPreparedModel>> loaded = internalError("nothing");
            race(device, rivals, [&] { loaded = device.load(); });
            verdict = checkRaced(device, rivals, loaded);
        }
        if (!verdict.hasPassed()) {
            return failed("race " + std::to_string(i) + ": " + verdict.reason);
        }
    }
    return passed();
}

Verdict replaceSecuritySensitiveCache(CachingDevice& device) {
    Rivals rivals;
    Verdict verdict = begin(device, rivals);
    if (!verdict.hasPassed()) {
        return verdict;
    }
    if (device.folder().modelFiles().empty()) {
        return skipped("the device has no model cache files");
    }
    verdict = device.save(rivals.sums);
    if (!verdict.hasPassed()) {
        return verdict;
    }
    const Status copied = CacheFolder::copy(rivals.filesOfProducts, device.folder().modelFiles());
    if (!copied.ok()) {
        return failed(copied.toString());
    }
    return device.expectLoad(device.load().status(), "of another model's file", {GENERAL_FAILURE});
}

template <Verdict (*run)(CachingDevice& device)>
Verdict overAWire(CachingDevice& device) {
    return device.context().serviceName().empty() ? skipped(std::string(kNoHandles)) : run(device);
}

struct Row {
    std::string_view name;
    Verdict (*run)(CachingDevice& device);
    HalVersion until = driver::kNewestVersion;
};

constexpr Row kRows[] = {
        {"CacheSavingAndRetrieval", cacheSavingAndRetrieval},
        {"CacheSavingAndRetrievalNonZeroOffset", cacheSavingAndRetrievalNonZeroOffset},
        {"SaveToCacheInvalidNumCache", saveToCache<wrongNumbersOfFiles>},
        {"PrepareModelFromCacheInvalidNumCache", prepareModelFromCache<wrongNumbersOfFiles>},
        {"SaveToCacheInvalidNumFd", overAWire<saveToCache<numbersOfDescriptors>>, HalVersion::V1_3},
        {"PrepareModelFromCacheInvalidNumFd",
         overAWire<prepareModelFromCache<numbersOfDescriptors>>, HalVersion::V1_3},
        {"SaveToCacheInvalidAccessMode", saveToCache<forReading>},
        {"PrepareModelFromCacheInvalidAccessMode", prepareModelFromCache<forWriting>},
        {"SaveToCache_TOCTOU", saveToCacheToctou},
        {"PrepareFromCache_TOCTOU", prepareFromCacheToctou},
        {"ReplaceSecuritySensitiveCache", replaceSecuritySensitiveCache},
};

}  // namespace

Checks compilationCachingTest() {
    Checks checks;
    for (const Row& row : kRows) {
        for (const OperandType type :
             {OperandType::TENSOR_FLOAT32, OperandType::TENSOR_QUANT8_ASYMM}) {
            checks.push_back({.suite = "CompilationCachingTest",
                              .name = row.name,
                              .variant = std::string(driver::nameOf(type)),
                              .scope = Scope::DEVICE,
                              .since = HalVersion::V1_2,
                              .until = row.until,
                              .run = [run = row.run, type](Context& context) {
                                  CachingDevice device(context, type);
                                  return run(device);
                              }});
        }
    }
    return checks;
}

}  // namespace halyard::vts
