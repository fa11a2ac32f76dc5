// SPDX-License-Identifier: Apache-2.0
//
// Backends in shared libraries (include/halyard/backend.h). What a library says is checked: its
// statuses, the shapes it gives its outputs, its sizes and its messages.

#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/plan/backend.h"

namespace halyard::engine {

// Fails as Library::open() does.
Result<std::unique_ptr<const Backend>> loadBackend(const std::string& path);

// Those of all files of the folder that end in ".so", in the order of their names. A file that is
// no backend, or has a name that an earlier one has or that is `taken`, is logged as a warning with
// the reason and left out. INVALID_ARGUMENT if the folder's path is not absolute, if it is no
// folder that can be read, or if everybody may write to it; UNSUPPORTED in a program that is linked
// statically.
Result<std::vector<std::unique_ptr<const Backend>>> loadBackends(
        const std::string& directory, const std::set<std::string>& taken);

}  // namespace halyard::engine
