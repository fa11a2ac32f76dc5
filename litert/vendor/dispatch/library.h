// SPDX-License-Identifier: Apache-2.0
//
// Library: what the dispatch library knows of the process. LiteRT initialises it once, and hands
// its objects back as handles, of which those that are not alive are refused.

#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

#include "engine/base/status.h"
#include "litert/vendor/dispatch/counters.h"
#include "litert/vendor/dispatch/device.h"
#include "litert/vendor/dispatch/invocation.h"
#include "litert/vendor_abi.h"

namespace halyard::vendor {

// Objects that are alive, by their addresses. Thread-safe; what find() gives stays while it is
// held.
template <typename T>
class LiveObjects {
  public:
    T* add(std::shared_ptr<T> object) {
        T* const address = object.get();
        const std::lock_guard lock(mMutex);
        mObjects.emplace(address, std::move(object));
        return address;
    }
    Result<std::shared_ptr<T>> find(const void* address) const {
        const std::lock_guard lock(mMutex);
        const auto found = mObjects.find(address);
        if (found == mObjects.end()) {
            return invalidArgument("a handle is not one that is alive");
        }
        return found->second;
    }
    Result<std::shared_ptr<T>> take(const void* address) {
        const std::lock_guard lock(mMutex);
        auto node = mObjects.extract(address);
        if (node.empty()) {
            return invalidArgument("a handle is not one that is alive");
        }
        return std::move(node.mapped());
    }

  private:
    mutable std::mutex mMutex;
    std::unordered_map<const void*, std::shared_ptr<T>> mObjects;
};

struct Library {
    // Never ends: the host may call from other threads as the process ends.
    static Library& instance();

    ProcessCounts counts;
    LiveObjects<Device> devices;
    LiveObjects<Invocation> invocations;
    LiveObjects<MetricList> metrics;
};

// The table that LiteRT is given.
extern const abi::DispatchInterface kDispatchInterface;
extern const abi::AsyncInterface kAsyncInterface;

}  // namespace halyard::vendor
