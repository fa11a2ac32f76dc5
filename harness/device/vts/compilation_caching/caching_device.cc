// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/compilation_caching/caching_device.h"

#include <algorithm>
#include <future>
#include <utility>
#include <vector>

namespace halyard::vts {

using driver::ErrorStatus;

Verdict CachingDevice::begin(std::initializer_list<const CachedModel*> models) {
    driver::IDevice& device = mContext.device();
    const Result<driver::NumberOfCacheFiles> wanted = device.numberOfCacheFiles();
    if (!wanted.ok()) {
        return expectStatus(wanted.status(), mContext.version(), {ErrorStatus::NONE},
                            "getNumberOfCacheFilesNeeded");
    }
    mKeepsModels = *wanted != driver::NumberOfCacheFiles();
    Result<std::unique_ptr<CacheFolder>> folder = CacheFolder::create(*wanted);
    if (!folder.ok()) {
        return failed(folder.status().toString());
    }
    mFolder = std::move(*folder);
    for (const CachedModel* const model : models) {
        const Result<std::vector<bool>> supported = device.supportedOperations(model->model);
        if (!supported.ok()) {
            return expectStatus(supported.status(), mContext.version(), {ErrorStatus::NONE},
                                "getSupportedOperations");
        }
        if (std::ranges::count(*supported, false) != 0) {
            return skipped("the device does not support " +
                           std::string(nameOf(model->model.main.operations.front().type)) + " of " +
                           std::string(nameOf(mType)));
        }
    }
    return passed();
}

Verdict CachingDevice::save(const CachedModel& model, const Cache& cache,
                            std::shared_ptr<driver::IPreparedModel>* prepared) const {
    auto done = std::make_shared<
            std::promise<std::pair<Status, std::shared_ptr<driver::IPreparedModel>>>>();
    auto told = done->get_future();
    const Status launch = mContext.device().prepareAsync(
            model.model, optionsOf(cache),
            [done](const Status& status, std::shared_ptr<driver::IPreparedModel> made) {
                done->set_value({status, std::move(made)});
            });
    auto [status, made] = told.get();
    Verdict verdict = expectStatus(launch, mContext.version(), {ErrorStatus::NONE},
                                   "prepareModel with cache files");
    if (verdict.hasPassed()) {
        verdict = expectStatus(status, mContext.version(), {ErrorStatus::NONE},
                               "the callback of prepareModel with cache files");
    }
    if (verdict.hasPassed() && prepared != nullptr) {
        *prepared = std::move(made);
    }
    return verdict;
}

Verdict CachingDevice::save(const CachedModel& model,
                            const std::vector<std::string>* modelFiles) const {
    const auto cache =
            mFolder->open(modelFiles == nullptr ? mFolder->modelFiles() : *modelFiles, mToken);
    return cache.ok() ? save(model, *cache) : failed(cache.status().toString());
}

Result<std::shared_ptr<driver::IPreparedModel>> CachingDevice::load() const {
    HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<driver::CompilationCache> cache,
                             mFolder->open(mToken));
    return load(cache);
}

}  // namespace halyard::vts
