// SPDX-License-Identifier: Apache-2.0
//
// A fuzz target without a fuzzer: goes through the files, and the files in the folders, that it is
// given, so that the corpora are tests with any compiler. What a fuzzer would find ends the
// process. `--seconds N [--seed N]` before them goes on with what a target's own mutator makes of
// them, where libFuzzer is not to be had: on machines with other devices. What it is at lies in the
// file that `--at FILE` names, so that a finding can be replayed.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

extern "C" {
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
int LLVMFuzzerInitialize(int* argc, char*** argv);
// libFuzzer's own mutation, which nothing asks for here.
size_t LLVMFuzzerMutate(uint8_t* /*data*/, size_t size, size_t /*maxSize*/) {
    return size;
}
// Of a target that has one.
__attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t maxSize,
                                                     unsigned seed);
}

namespace {

using Bytes = std::vector<char>;

std::optional<Bytes> bytesOf(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    // The exact size on the heap, so that a sanitizer sees every access beyond.
    Bytes bytes{std::istreambuf_iterator<char>(file), {}};
    if (!file) {
        std::fprintf(stderr, "%s can't be read\n", path.c_str());
        return std::nullopt;
    }
    return bytes;
}

void run(const Bytes& bytes) {
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

struct Options {
    double seconds = 0;
    unsigned seed = 1;
    std::string at;
};

// Mutates the results of mutations, as far as there is time.
void mutate(std::vector<Bytes> pool, const Options& options) {
    constexpr size_t kLongest = 4096;
    constexpr size_t kMostInPool = 4096;
    if (LLVMFuzzerCustomMutator == nullptr) {
        std::fprintf(stderr, "this target has no mutator of its own\n");
        return;
    }
    std::mt19937 random(options.seed);
    const auto end =
            std::chrono::steady_clock::now() + std::chrono::duration<double>(options.seconds);
    size_t runs = 0;
    for (; std::chrono::steady_clock::now() < end; ++runs) {
        Bytes bytes = pool[random() % pool.size()];
        const size_t size = bytes.size();
        bytes.resize(std::max(size, kLongest));
        bytes.resize(LLVMFuzzerCustomMutator(reinterpret_cast<uint8_t*>(bytes.data()), size,
                                             bytes.size(), static_cast<unsigned>(random())));
        bytes.shrink_to_fit();
        if (!options.at.empty()) {
            std::ofstream(options.at, std::ios::binary)
                    .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        }
        run(bytes);
        if (random() % 4 == 0) {
            if (pool.size() < kMostInPool) {
                pool.push_back(std::move(bytes));
            } else {
                pool[random() % pool.size()] = std::move(bytes);
            }
        }
    }
    std::printf("%zu mutated inputs, seed %u\n", runs, options.seed);
}

}  // namespace

int main(int argc, char** argv) {
    LLVMFuzzerInitialize(&argc, &argv);
    Options options;
    std::vector<Bytes> replayed;
    const auto replay = [&](const std::filesystem::path& path) {
        std::optional<Bytes> bytes = bytesOf(path);
        if (!bytes.has_value()) {
            return false;
        }
        std::printf("%s\n", path.c_str());
        std::fflush(stdout);
        run(*bytes);
        replayed.push_back(*std::move(bytes));
        return true;
    };
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        if (i + 1 < argc && argument == "--seconds") {
            options.seconds = std::strtod(argv[++i], nullptr);
            continue;
        }
        if (i + 1 < argc && argument == "--seed") {
            options.seed = static_cast<unsigned>(std::strtoul(argv[++i], nullptr, 10));
            continue;
        }
        if (i + 1 < argc && argument == "--at") {
            options.at = argv[++i];
            continue;
        }
        const std::filesystem::path path = argument;
        std::error_code none;
        if (!std::filesystem::is_directory(path, none)) {
            if (!replay(path)) {
                return 1;
            }
            continue;
        }
        for (const auto& entry : std::filesystem::directory_iterator(path)) {
            if (!replay(entry.path())) {
                return 1;
            }
        }
    }
    if (replayed.empty()) {
        std::fprintf(stderr, "there is nothing to replay\n");
        return 1;
    }
    if (options.seconds > 0) {
        mutate(std::move(replayed), options);
    }
    return 0;
}
