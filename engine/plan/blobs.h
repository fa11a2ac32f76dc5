// SPDX-License-Identifier: Apache-2.0
//
// Blobs: bytes that a backend wants to find again when the program comes back: kernel binaries,
// what it has measured. They are kept with the program, and saved and mapped with it.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "engine/base/budget.h"
#include "engine/base/status.h"

namespace halyard::engine {

struct Blob {
    std::shared_ptr<const void> owner;
    std::span<const uint8_t> bytes;
};

// Of a program, by name. Thread-safe.
class BlobStore {
  public:
    // put() reserves from `memory`; null: not limited.
    explicit BlobStore(std::shared_ptr<Budget> memory) : mMemory(std::move(memory)) {}

    std::optional<Blob> get(const std::string& name) const;
    // A copy. Holders of an earlier one of that name keep it.
    Status put(const std::string& name, std::span<const uint8_t> bytes);
    // As it lies.
    void adopt(const std::string& name, Blob blob);
    std::map<std::string, Blob> all() const;

  private:
    const std::shared_ptr<Budget> mMemory;
    mutable std::mutex mMutex;
    std::map<std::string, Blob> mBlobs;
};

// A backend's own among a program's, whatever others call theirs. Thread-safe.
class Blobs {
  public:
    Blobs() = default;  // nothing is kept
    Blobs(std::shared_ptr<BlobStore> store, std::string_view backend)
        : mStore(std::move(store)), mBackend(backend) {}

    // Nothing where none was put, in this process or before the program was saved. Backends check
    // what they find: it is what a file says.
    std::optional<Blob> get(std::string_view name) const;
    // RESOURCE_EXHAUSTED where there is no room.
    Status put(std::string_view name, std::span<const uint8_t> bytes) const;

    Blobs of(std::string_view backend) const { return {mStore, backend}; }

  private:
    std::string nameOf(std::string_view name) const;

    std::shared_ptr<BlobStore> mStore;  // null: there is none
    std::string mBackend;
};

}  // namespace halyard::engine
