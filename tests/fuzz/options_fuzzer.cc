// SPDX-License-Identifier: Apache-2.0
//
// The service's command line: words are separated by zero bytes.

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "hal/service_options.h"
#include "tests/fuzz/finding.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::vector<std::string> words = {"service"};
    words.emplace_back();
    for (size_t i = 0; i < size; ++i) {
        if (data[i] == 0) {
            words.emplace_back();
        } else {
            words.back() += static_cast<char>(data[i]);
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
    const auto options =
            halyard::hal::parseServiceOptions(static_cast<int>(words.size()), arguments.data());
    if (options.ok()) {
        halyard::fuzz::require(options->driver.threads <= 64, "at most 64 threads");
        halyard::fuzz::require(options->serviceName.find('/') == std::string::npos,
                               "an instance's name has no slash");
    }
    return 0;
}
