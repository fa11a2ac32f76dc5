// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "engine/base/status.h"

namespace halyard {

// Where a path leads, without symbolic links, if nobody but root and this process's user decides on
// that or on what lies there: every folder on the way, every link and the end itself are theirs,
// and nobody else's to write to. A folder with the sticky bit, such as /tmp, may be anybody's to
// write to on the way: whoever adds to it there can't replace what is theirs. A group may write
// that is root's or the user's own (the group of the user's number).
// INVALID_ARGUMENT names the first that is not so, or that is not there.
Result<std::string> trustedPath(const std::string& path);

}  // namespace halyard
