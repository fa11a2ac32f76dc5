// SPDX-License-Identifier: Apache-2.0
//
// The instances of interfaces that VINTF manifest fragments declare.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace halyard::device {

// "android.hardware.neuralnetworks@1.3::IDevice" in its parts.
struct InterfaceName {
    std::string package;
    uint32_t major = 0;
    uint32_t minor = 0;
    std::string interface;
};

// False if the text is not a full HIDL interface name.
bool parseInterfaceName(std::string_view text, InterfaceName& name);

// An interface's name says whose it is: android.hardware.neuralnetworks@1.3::IDevice is HIDL's,
// android.hardware.neuralnetworks.IDevice stable AIDL's.
class Manifest {
  public:
    // Adds what one fragment's text declares; what it doesn't understand is left out.
    void addFragment(std::string_view xml);
    // Adds every *.xml file of a folder; a folder that isn't there has none.
    void addFolder(const std::string& folder);

    // The instances of the interface, or of a later minor version of it, without duplicates.
    std::vector<std::string> instancesOf(std::string_view interface) const;
    bool declares(std::string_view interface, std::string_view instance) const;

  private:
    struct Declaration {
        InterfaceName name;
        std::string instance;
    };
    struct AidlDeclaration {
        std::string interface;
        std::string instance;
    };
    void addHidl(std::string_view package, std::string_view hal);
    void addAidl(std::string_view package, std::string_view hal);
    void declare(std::string_view fqName, std::string_view instance);

    std::vector<Declaration> mDeclarations;
    std::vector<AidlDeclaration> mAidlDeclarations;
};

}  // namespace halyard::device
