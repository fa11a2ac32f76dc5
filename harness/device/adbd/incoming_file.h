// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/file_descriptor.h"
#include "engine/base/status.h"

namespace halyard::adbd {

// A file or symbolic link that a client sends. What was written of it is removed again unless
// finish() succeeds. Messages of failures are for the client.
class IncomingFile {
  public:
    IncomingFile() = default;
    ~IncomingFile() { discard(); }
    IncomingFile(const IncomingFile&) = delete;
    IncomingFile& operator=(const IncomingFile&) = delete;

    // Makes missing parent folders and replaces a file or link that is there. `mode` is st_mode's:
    // its type says whether the data is content or the target of a link.
    Status begin(std::string path, uint32_t mode);
    Status append(std::span<const uint8_t> bytes);
    // `modified`: seconds since the epoch.
    Status finish(uint32_t modified);
    void discard();

  private:
    std::string mPath;
    uint32_t mMode = 0;
    FileDescriptor mFile;
    std::string mTarget;
    bool mRegular = false;  // what mFile is; anything else was there before and stays
    bool mOpen = false;
};

}  // namespace halyard::adbd
