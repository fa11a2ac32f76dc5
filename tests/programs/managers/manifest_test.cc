// SPDX-License-Identifier: Apache-2.0

#include "harness/device/managers/manifest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace halyard::device {
namespace {

using Names = std::vector<std::string>;

constexpr const char* kHidl = "android.hardware.neuralnetworks@1.2::IDevice";
constexpr const char* kAidl = "android.hardware.neuralnetworks.IDevice";

Manifest manifestOf(const std::string& hals) {
    Manifest manifest;
    manifest.addFragment("<manifest version=\"1.0\" type=\"device\">" + hals + "</manifest>");
    return manifest;
}

TEST(ManifestTest, KnowsInstancesByFullNames) {
    const Manifest manifest = manifestOf(R"(
        <hal format="hidl"><name>android.hardware.neuralnetworks</name>
            <transport>hwbinder</transport><fqname>@1.3::IDevice/one</fqname></hal>
        <hal format="aidl"><name>android.hardware.neuralnetworks</name><version>4</version>
            <fqname>IDevice/two</fqname><fqname>IDevice/three</fqname></hal>)");
    EXPECT_EQ(manifest.instancesOf(kHidl), Names{"one"});
    EXPECT_EQ(manifest.instancesOf(kAidl), (Names{"two", "three"}));
    EXPECT_TRUE(manifest.declares(kAidl, "three"));
    // One wire's are not the other's.
    EXPECT_FALSE(manifest.declares(kAidl, "one"));
    EXPECT_FALSE(manifest.declares(kHidl, "two"));
    EXPECT_FALSE(manifest.declares("android.hardware.neuralnetworks.IBurst", "two"));
}

TEST(ManifestTest, KnowsInstancesByInterface) {
    const Manifest manifest = manifestOf(R"(
        <hal format="hidl"><name>android.hardware.neuralnetworks</name>
            <transport>hwbinder</transport><version>1.2</version>
            <interface><name>IDevice</name><instance>one</instance></interface></hal>
        <hal format="aidl"><name>android.hardware.neuralnetworks</name>
            <interface><name>IDevice</name><instance>two</instance>
                <instance>three</instance></interface></hal>)");
    EXPECT_EQ(manifest.instancesOf(kHidl), Names{"one"});
    EXPECT_EQ(manifest.instancesOf(kAidl), (Names{"two", "three"}));
}

TEST(ManifestTest, ALaterMinorVersionHasTheEarlierOnes) {
    const Manifest manifest = manifestOf(
            R"(<hal format="hidl"><name>a.b</name><fqname>@1.1::IThing/x</fqname></hal>)");
    EXPECT_TRUE(manifest.declares("a.b@1.0::IThing", "x"));
    EXPECT_FALSE(manifest.declares("a.b@1.2::IThing", "x"));
    EXPECT_FALSE(manifest.declares("a.b@2.0::IThing", "x"));
}

TEST(ManifestTest, AnInstanceThatIsDeclaredTwiceIsOne) {
    const Manifest manifest = manifestOf(R"(
        <hal format="aidl"><name>a.b</name><fqname>IThing/x</fqname>
            <interface><name>IThing</name><instance>x</instance></interface></hal>)");
    EXPECT_EQ(manifest.instancesOf("a.b.IThing"), Names{"x"});
}

TEST(ManifestTest, LeavesOutWhatItDoesNotUnderstand) {
    const Manifest manifest = manifestOf(R"(
        <!-- <hal format="aidl"><name>a.b</name><fqname>IThing/x</fqname></hal> -->
        <hal format="aidl"><fqname>IThing/y</fqname></hal>
        <hal format="aidl"><name>a.b</name><fqname>IThing</fqname><fqname>/z</fqname></hal>
        <hal format="aidl"><name>a.b</name><fqname>IThing/)");
    EXPECT_EQ(manifest.instancesOf("a.b.IThing"), Names{});
    EXPECT_EQ(manifest.instancesOf(""), Names{});
}

}  // namespace
}  // namespace halyard::device
