// SPDX-License-Identifier: Apache-2.0
//
// Library: a shared library that is a backend, opened and found to be of our version.

#pragma once

#include <link.h>

#include <cstddef>
#include <memory>
#include <string>

#include "engine/base/status.h"
#include "halyard/backend.h"

namespace halyard::engine {

// Immutable and thread-safe. Its code is in memory as long as this is.
class Library {
  public:
    // Runs the library's code: never for a path that a client chose. INVALID_ARGUMENT for a path
    // that is not absolute. UNSUPPORTED says what is wrong with the file: it is none, others than
    // its owner and group may write to it, it does not load, it has no entry point, its version is
    // not ours, its functions are not all there, or its name is none that users could give. Also
    // in a program that is linked statically, which can't load anything.
    static Result<std::shared_ptr<const Library>> open(const std::string& path);
    // Calls `look` for each object that the process has loaded, until it answers other than 0: as
    // dl_iterate_phdr() does.
    using Objects = int (*)(int (*look)(dl_phdr_info* object, size_t size, void* data), void* data);
    // Whether this program has what it takes to load libraries.
    static bool canOpenAny(Objects objects = &dl_iterate_phdr);
    ~Library();
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    const halyard_backend& backend() const { return *mBackend; }
    const std::string& name() const { return mName; }
    // Of what lies in the file, so that another build of it is told from this one.
    const std::string& identity() const { return mIdentity; }

  private:
    Library(void* handle, const halyard_backend* backend, std::string name, std::string identity);

    void* const mHandle;
    const halyard_backend* const mBackend;
    const std::string mName;
    const std::string mIdentity;
};

}  // namespace halyard::engine
