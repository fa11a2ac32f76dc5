// SPDX-License-Identifier: Apache-2.0
//
// The service's command line: words are separated by zero bytes.

#include <unistd.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hal/service_options.h"
#include "tests/fuzz/finding.h"
#include "tests/fuzz/target.h"

namespace halyard::fuzz {

void run(std::span<const uint8_t> bytes) {
    std::vector<std::string> words = {"service"};
    words.emplace_back();
    for (const uint8_t byte : bytes) {
        if (byte == 0) {
            words.emplace_back();
        } else {
            words.back() += static_cast<char>(byte);
        }
    }
    std::vector<char*> arguments;
    for (std::string& word : words) {
        arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    // A word of which only part was read is remembered beyond its call, unless getopt is told so.
    optind = 0;
    char* none[] = {arguments[0], nullptr};
    getopt(1, none, "");
    const auto options = hal::parseServiceOptions(static_cast<int>(words.size()), arguments.data());
    if (options.ok()) {
        require(options->driver.threads <= 64, "at most 64 threads");
        require(options->serviceName.find('/') == std::string::npos,
                "an instance's name has no slash");
    }
}

}  // namespace halyard::fuzz
