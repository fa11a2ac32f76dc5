// SPDX-License-Identifier: Apache-2.0
//
// The device of all checks of compilation caching: keeps a model of one of the two kinds in files,
// and prepares it from them.

#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "driver/device/device_interface.h"
#include "harness/device/vts/compilation_caching/cache_folder.h"
#include "harness/device/vts/compilation_caching/cached_models.h"
#include "harness/device/vts/fixture/context.h"

namespace halyard::vts {

using Cache = std::shared_ptr<const driver::CompilationCache>;

class CachingDevice {
  public:
    CachingDevice(Context& context, driver::OperandType type) : mContext(context), mType(type) {}

    // Has to have passed before anything else is asked for. Skipped where the device does not
    // support one of the models.
    Verdict begin(std::initializer_list<const CachedModel*> models);
    bool keepsModels() const { return mKeepsModels; }
    // Of a device that keeps none.
    static Verdict skippedAsNoneIsKept() {
        return skipped("getNumberOfCacheFilesNeeded says that no model is kept");
    }

    Context& context() const { return mContext; }
    driver::OperandType type() const { return mType; }
    CacheFolder& folder() const { return *mFolder; }
    CacheToken& token() { return mToken; }

    // A model that is to be kept has to be prepared, whatever is wrong with the files.
    Verdict save(const CachedModel& model, const Cache& cache,
                 std::shared_ptr<driver::IPreparedModel>* prepared = nullptr) const;
    // The same with all files as they should be. `modelFiles`: null: the folder's.
    Verdict save(const CachedModel& model,
                 const std::vector<std::string>* modelFiles = nullptr) const;
    Result<std::shared_ptr<driver::IPreparedModel>> load(const Cache& cache) const {
        return mContext.device().prepareFromCache(optionsOf(cache));
    }
    Result<std::shared_ptr<driver::IPreparedModel>> load() const;
    Verdict expectLoad(const Status& status, std::string_view what,
                       std::initializer_list<driver::ErrorStatus> wanted) const {
        return expectStatus(status, mContext.version(), wanted,
                            "prepareModelFromCache " + std::string(what));
    }
    Verdict checkResult(driver::IPreparedModel& prepared, const CachedModel& expected) const {
        return vts::checkResult(prepared, expected, mContext.version());
    }

  private:
    static driver::PrepareOptions optionsOf(const Cache& cache) {
        driver::PrepareOptions options;
        options.cache = cache;
        return options;
    }

    Context& mContext;
    const driver::OperandType mType;
    bool mKeepsModels = false;
    std::unique_ptr<CacheFolder> mFolder;
    CacheToken mToken = {};
};

}  // namespace halyard::vts
