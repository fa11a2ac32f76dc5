// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/loaded/library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/checksum.h"
#include "engine/base/file_descriptor.h"
#include "engine/base/trusted_path.h"

namespace halyard::engine {
namespace {

constexpr size_t kMostNameLetters = 32;
constexpr size_t kPart = size_t{1} << 16;

// Its path, where no other user decides on that or on its code.
Result<std::string> trustedFile(const std::string& path) {
    struct stat info = {};
    if (stat(path.c_str(), &info) != 0) {
        return unsupported(std::strerror(errno));
    }
    if (!S_ISREG(info.st_mode)) {
        return unsupported("it is no file");
    }
    Result<std::string> trusted = trustedPath(path);
    return trusted.ok() ? std::move(trusted)
                        : Result<std::string>(unsupported(std::string(trusted.status().message())));
}

// Its bytes and their number.
Result<std::string> contentOf(const std::string& path) {
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    Checksum sum;
    uint64_t size = 0;
    std::vector<uint8_t> part(kPart);
    ssize_t count = 0;
    while ((count = read(file.get(), part.data(), part.size())) > 0) {
        sum.add(std::span<const uint8_t>(part).first(static_cast<size_t>(count)));
        size += static_cast<uint64_t>(count);
    }
    if (count < 0) {
        return unsupported(std::strerror(errno));
    }
    return std::to_string(size) + " bytes " + std::to_string(sum.value());
}

bool isName(std::string_view name) {
    const auto isLetter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    return !name.empty() && name.size() <= kMostNameLetters && isLetter(name.front()) &&
           std::ranges::all_of(name, [&](char c) {
               return isLetter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_';
           });
}

// Its name, once all that can be looked at without calling it is as it should be.
Result<std::string> check(const halyard_backend* backend) {
    if (backend == nullptr) {
        return unsupported("it can't work here");
    }
    if (backend->abi_version != HALYARD_BACKEND_ABI_VERSION) {
        return unsupported("it is for version " + std::to_string(backend->abi_version) +
                           " of the interface; this is version " +
                           std::to_string(HALYARD_BACKEND_ABI_VERSION));
    }
    if (backend->struct_size != sizeof(halyard_backend)) {
        return unsupported("its description has " + std::to_string(backend->struct_size) +
                           " bytes instead of " + std::to_string(sizeof(halyard_backend)));
    }
    if (backend->name == nullptr) {
        return unsupported("it has no name");
    }
    const std::string name(backend->name, strnlen(backend->name, kMostNameLetters + 1));
    if (!isName(name)) {
        return unsupported("its name is not up to " + std::to_string(kMostNameLetters) +
                           " letters, digits, '-' and '_', a letter first");
    }
    if (backend->supports == nullptr || backend->compile == nullptr ||
        backend->release_partition == nullptr || backend->specialize == nullptr ||
        backend->release_shaped == nullptr || backend->run == nullptr ||
        (backend->make_state == nullptr) != (backend->release_state == nullptr)) {
        return unsupported("it lacks a function");
    }
    return name;
}

}  // namespace

// A program without an interpreter has no loader. (With glibc it would look for the very C library
// that it was linked with, and run a second copy of it.) Where there is one, the program need not
// come first: bionic has the loader itself before it, which has no interpreter.
bool Library::canOpenAny(Objects objects) {
    return objects(
                   [](dl_phdr_info* object, size_t, void*) {
                       const std::span headers(object->dlpi_phdr, object->dlpi_phnum);
                       return static_cast<int>(std::ranges::any_of(headers, [](const auto& header) {
                           return header.p_type == PT_INTERP;
                       }));
                   },
                   nullptr) != 0;
}

Result<std::shared_ptr<const Library>> Library::open(const std::string& path) {
    if (!path.starts_with('/')) {
        return invalidArgument(path + ": the path of a backend has to be absolute");
    }
    if (!canOpenAny()) {
        return unsupported(path + ": this program is linked statically, and can't load backends");
    }
    const Result<std::string> file = trustedFile(path);
    if (!file.ok()) {
        return file.status().withContext(path);
    }
    const Result<std::string> content = contentOf(*file);
    if (!content.ok()) {
        return content.status().withContext(path);
    }
    void* const handle = dlopen(file->c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        const char* const reason = dlerror();
        return unsupported(reason != nullptr ? reason : "it does not load").withContext(path);
    }
    void* const entry = dlsym(handle, HALYARD_BACKEND_ENTRY);
    if (entry == nullptr) {
        dlclose(handle);
        return unsupported("it is no backend: it has no " HALYARD_BACKEND_ENTRY "()")
                .withContext(path);
    }
    const halyard_backend* const backend =
            reinterpret_cast<halyard_backend_open_function>(entry)(HALYARD_BACKEND_ABI_VERSION);
    Result<std::string> name = check(backend);
    if (!name.ok()) {
        dlclose(handle);
        return name.status().withContext(path);
    }
    std::string identity = *name + " of " + *content;
    return std::shared_ptr<const Library>(
            new Library(handle, backend, std::move(*name), std::move(identity)));
}

Library::Library(void* handle, const halyard_backend* backend, std::string name,
                 std::string identity)
    : mHandle(handle), mBackend(backend), mName(std::move(name)), mIdentity(std::move(identity)) {}

Library::~Library() {
    dlclose(mHandle);
}

}  // namespace halyard::engine
