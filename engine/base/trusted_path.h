// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "engine/base/status.h"

namespace halyard {

// Resolves a path to one without symbolic links, where root and this process's user alone decide on
// it and on the file: every folder on the way, every link and the end itself are owned by one of
// the two and writable for no other user. A folder with the sticky bit, such as /tmp, may be
// writable for all on the way: other users can't replace entries that are not theirs. A group may
// write that is root's or the user's own (the group of the user's number). INVALID_ARGUMENT names
// the first that is not so, or that is not there.
Result<std::string> trustedPath(const std::string& path);

}  // namespace halyard
