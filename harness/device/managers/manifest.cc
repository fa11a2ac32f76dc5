// SPDX-License-Identifier: Apache-2.0

#include "harness/device/managers/manifest.h"

#include <dirent.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <memory>

namespace halyard::device {
namespace {

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kSpace = " \t\r\n";
    const size_t first = text.find_first_not_of(kSpace);
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// The contents of every <tag> element in `xml`; elements of one name don't nest in manifests. The
// attributes are those of the opening tag.
struct Element {
    std::string_view attributes;
    std::string_view content;
};
std::vector<Element> elements(std::string_view xml, std::string_view tag) {
    std::vector<Element> found;
    const std::string opening = "<" + std::string(tag);
    const std::string closing = "</" + std::string(tag) + ">";
    size_t position = 0;
    while ((position = xml.find(opening, position)) != std::string_view::npos) {
        const size_t attributes = position + opening.size();
        const size_t end = xml.find('>', attributes);
        if (end == std::string_view::npos) {
            break;
        }
        position = end + 1;
        const bool otherTag = attributes < xml.size() && xml[attributes] != '>' &&
                              xml[attributes] != '/' && xml[attributes] != ' ' &&
                              xml[attributes] != '\t' && xml[attributes] != '\n';
        if (otherTag || xml[end - 1] == '/') {
            continue;
        }
        const size_t close = xml.find(closing, position);
        if (close == std::string_view::npos) {
            break;
        }
        found.push_back({xml.substr(attributes, end - attributes),
                         trimmed(xml.substr(position, close - position))});
        position = close + closing.size();
    }
    return found;
}

std::string withoutComments(std::string_view xml) {
    std::string text(xml);
    size_t start = 0;
    while ((start = text.find("<!--", start)) != std::string::npos) {
        const size_t end = text.find("-->", start);
        text.erase(start, end == std::string::npos ? std::string::npos : end + 3 - start);
    }
    return text;
}

bool parseNumber(std::string_view text, uint32_t& number) {
    const char* end = text.data() + text.size();
    auto [stopped, error] = std::from_chars(text.data(), end, number);
    return error == std::errc() && stopped == end && !text.empty();
}

// An instance that an <interface> element of `hal` names.
struct NamedInstance {
    std::string_view type;
    std::string_view name;
};
std::vector<NamedInstance> instancesBelow(std::string_view hal) {
    std::vector<NamedInstance> found;
    for (const Element& interface : elements(hal, "interface")) {
        const std::vector<Element> type = elements(interface.content, "name");
        if (type.empty()) {
            continue;
        }
        for (const Element& instance : elements(interface.content, "instance")) {
            found.push_back({type[0].content, instance.content});
        }
    }
    return found;
}

}  // namespace

bool parseInterfaceName(std::string_view text, InterfaceName& name) {
    const size_t at = text.find('@');
    const size_t dot = text.find('.', at);
    const size_t colons = text.find("::", dot);
    if (at == std::string_view::npos || dot == std::string_view::npos ||
        colons == std::string_view::npos) {
        return false;
    }
    name.package = text.substr(0, at);
    name.interface = text.substr(colons + 2);
    return parseNumber(text.substr(at + 1, dot - at - 1), name.major) &&
           parseNumber(text.substr(dot + 1, colons - dot - 1), name.minor) &&
           !name.package.empty() && !name.interface.empty();
}

void Manifest::addFragment(std::string_view xml) {
    const std::string text = withoutComments(xml);
    for (const Element& hal : elements(text, "hal")) {
        const std::vector<Element> names = elements(hal.content, "name");
        if (names.empty()) {
            continue;
        }
        if (hal.attributes.find("aidl") == std::string_view::npos) {
            addHidl(names[0].content, hal.content);
        } else {
            addAidl(names[0].content, hal.content);
        }
    }
}

void Manifest::declare(std::string_view fqName, std::string_view instance) {
    Declaration declaration;
    if (parseInterfaceName(fqName, declaration.name) && !instance.empty()) {
        declaration.instance = instance;
        mDeclarations.push_back(std::move(declaration));
    }
}

void Manifest::addHidl(std::string_view package, std::string_view hal) {
    for (const Element& fqName : elements(hal, "fqname")) {
        const size_t slash = fqName.content.find('/');
        if (slash != std::string_view::npos) {
            declare(std::string(package).append(fqName.content.substr(0, slash)),
                    fqName.content.substr(slash + 1));
        }
    }
    for (const Element& version : elements(hal, "version")) {
        for (const NamedInstance& instance : instancesBelow(hal)) {
            declare(std::string(package)
                            .append("@")
                            .append(version.content)
                            .append("::")
                            .append(instance.type),
                    instance.name);
        }
    }
}

void Manifest::addAidl(std::string_view package, std::string_view hal) {
    const auto add = [&](std::string_view type, std::string_view instance) {
        if (!type.empty() && !instance.empty()) {
            std::string interface(package);
            mAidlDeclarations.push_back(
                    {interface.append(".").append(type), std::string(instance)});
        }
    };
    for (const Element& fqName : elements(hal, "fqname")) {
        const size_t slash = fqName.content.find('/');
        if (slash != std::string_view::npos) {
            add(fqName.content.substr(0, slash), fqName.content.substr(slash + 1));
        }
    }
    for (const NamedInstance& instance : instancesBelow(hal)) {
        add(instance.type, instance.name);
    }
}

void Manifest::addFolder(const std::string& folder) {
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(folder.c_str()), &closedir);
    if (directory == nullptr) {
        return;
    }
    std::vector<std::string> files;
    while (const dirent* entry = readdir(directory.get())) {
        const std::string file = entry->d_name;
        if (file.ends_with(".xml")) {
            files.push_back(folder + "/" + file);
        }
    }
    std::sort(files.begin(), files.end());
    for (const std::string& file : files) {
        std::ifstream stream(file);
        addFragment(std::string(std::istreambuf_iterator<char>(stream), {}));
    }
}

std::vector<std::string> Manifest::instancesOf(std::string_view interface) const {
    std::vector<std::string> instances;
    const auto add = [&](const std::string& instance) {
        if (std::find(instances.begin(), instances.end(), instance) == instances.end()) {
            instances.push_back(instance);
        }
    };
    InterfaceName wanted;
    if (!parseInterfaceName(interface, wanted)) {
        for (const AidlDeclaration& declaration : mAidlDeclarations) {
            if (declaration.interface == interface) {
                add(declaration.instance);
            }
        }
        return instances;
    }
    for (const Declaration& declaration : mDeclarations) {
        const InterfaceName& name = declaration.name;
        if (name.package == wanted.package && name.interface == wanted.interface &&
            name.major == wanted.major && name.minor >= wanted.minor) {
            add(declaration.instance);
        }
    }
    return instances;
}

bool Manifest::declares(std::string_view interface, std::string_view instance) const {
    const std::vector<std::string> instances = instancesOf(interface);
    return std::find(instances.begin(), instances.end(), instance) != instances.end();
}

}  // namespace halyard::device
