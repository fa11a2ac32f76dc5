// SPDX-License-Identifier: Apache-2.0

#include "engine/base/trusted_path.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

namespace halyard {
namespace {

// As many as the kernel follows.
constexpr int kMostLinks = 40;

bool isOurs(const struct stat& info) {
    return info.st_uid == 0 || info.st_uid == geteuid();
}

bool othersMayWrite(const struct stat& info) {
    const bool isOwnGroup =
            info.st_gid == 0 || (info.st_gid == getegid() && info.st_gid == geteuid());
    return (info.st_mode & S_IWOTH) != 0 || ((info.st_mode & S_IWGRP) != 0 && !isOwnGroup);
}

Status check(const std::string& path, const struct stat& info, bool isEnd) {
    if (!isOurs(info)) {
        return invalidArgument(path + " belongs to user " + std::to_string(info.st_uid) +
                               ", who is neither root nor user " + std::to_string(geteuid()));
    }
    const bool isShared = S_ISDIR(info.st_mode) && (info.st_mode & S_ISVTX) != 0 && !isEnd;
    // A link can't be written to.
    if (!S_ISLNK(info.st_mode) && !isShared && othersMayWrite(info)) {
        return invalidArgument(path + ((info.st_mode & S_IWOTH) != 0
                                               ? ": everybody may write to it"
                                               : ": a group may write to it"));
    }
    return {};
}

// The last component first, so that the next one is at the end.
void pushReversed(std::vector<std::string>& left, std::string_view path) {
    std::vector<std::string> names;
    while (!path.empty()) {
        const size_t slash = std::min(path.find('/'), path.size());
        if (const std::string_view name = path.substr(0, slash); !name.empty() && name != ".") {
            names.emplace_back(name);
        }
        path.remove_prefix(std::min(slash + 1, path.size()));
    }
    std::ranges::move(names.rbegin(), names.rend(), std::back_inserter(left));
}

Result<std::string> absolute(const std::string& path) {
    if (path.starts_with('/')) {
        return path;
    }
    std::array<char, PATH_MAX> here = {};
    if (getcwd(here.data(), here.size()) == nullptr) {
        return invalidArgument(path + ": " + std::strerror(errno));
    }
    return std::string(here.data()) + "/" + path;
}

}  // namespace

Result<std::string> trustedPath(const std::string& path) {
    HALYARD_ASSIGN_OR_RETURN(const std::string whole, absolute(path));
    std::vector<std::string> left;
    pushReversed(left, whole);
    std::string at;  // without links; empty: the root
    for (int links = 0;;) {
        struct stat info = {};
        const std::string shown = at.empty() ? "/" : at;
        if (lstat(shown.c_str(), &info) != 0) {
            return invalidArgument(shown + ": " + std::strerror(errno));
        }
        const bool isLink = S_ISLNK(info.st_mode);
        HALYARD_RETURN_IF_ERROR(check(shown, info, left.empty() && !isLink));
        if (isLink) {
            std::array<char, PATH_MAX> target = {};
            const ssize_t size = readlink(shown.c_str(), target.data(), target.size());
            if (size < 0 || static_cast<size_t>(size) >= target.size() || ++links > kMostLinks) {
                return invalidArgument(shown + ": a link that can't be followed");
            }
            const std::string_view to(target.data(), static_cast<size_t>(size));
            at = to.starts_with('/') ? "" : at.substr(0, at.rfind('/'));
            pushReversed(left, to);
            continue;  // what the link lies in has been looked at, and is again
        }
        if (left.empty()) {
            return shown;
        }
        const std::string name = std::move(left.back());
        left.pop_back();
        if (name == "..") {
            at = at.substr(0, at.empty() ? 0 : at.rfind('/'));
        } else {
            at += "/" + name;
        }
    }
}

}  // namespace halyard
