// SPDX-License-Identifier: Apache-2.0
//
// "sync:": file transfer. The protocol is described in docs/dev/sync.md of the Android Debug
// Bridge: a request is four characters, a length and a path; what follows depends on the request.

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "harness/device/adbd/stream.h"

namespace halyard::adbd {

// `root` stands before every path; empty on a device. It is a convenience for running on a host and
// no jail: symbolic links lead out of it.
std::unique_ptr<Service> openSync(const std::string& root, Stream& stream);

// `path` below `root`, with "." and ".." taken out so that it stays there.
std::string resolvePath(std::string_view root, std::string_view path);

}  // namespace halyard::adbd
