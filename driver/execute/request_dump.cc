// SPDX-License-Identifier: Apache-2.0

#include "driver/execute/request_dump.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "engine/base/log.h"

namespace halyard::driver {

void dumpTensor(const std::string& directory, uint64_t request, std::string_view tensor,
                std::span<const uint8_t> bytes) {
    const std::string path =
            directory + "/" + std::to_string(request) + "_" + std::string(tensor) + ".dump";
    std::FILE* file = std::fopen(path.c_str(), "wb");
    bool written = file != nullptr;
    if (written && !bytes.empty()) {
        written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
    }
    if (file != nullptr) {
        written = std::fclose(file) == 0 && written;
    }
    if (!written) {
        log(LogLevel::WARNING, "can't write " + path + ": " + std::strerror(errno));
    }
}

}  // namespace halyard::driver
