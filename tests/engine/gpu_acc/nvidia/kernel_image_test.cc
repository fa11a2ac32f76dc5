// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/nvidia/cuda/kernel_image.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace halyard::engine::gpu {
namespace {

// As NVIDIA's OpenCL compiler writes a kernel (driver 580).
std::string ptxOf(const std::string& body) {
    return ".version 9.0\n"
           ".target sm_90, texmode_independent\n"
           ".address_size 64\n"
           "\n"
           ".entry scale(\n"
           "\t.param .u64 .ptr .global .align 1 scale_param_0,\n"
           "\t.param .u64 scale_param_1,\n"
           "\t.param .f32 scale_param_2,\n"
           "\t.param .align 4 .b8 scale_param_3[12]\n"
           ")\n"
           ".reqntid 256, 1, 1\n"
           "{\n" +
           body + "\tret;\n}\n";
}

TEST(PortedPtx, TellsWhatAKernelTakes) {
    const Result<PortedPtx> ported = portPtx(ptxOf(""));
    ASSERT_TRUE(ported.ok()) << ported.status().message();
    const KernelSignature expected = {.name = "scale",
                                      .parameters = {{.bytes = 8, .isMemory = true},
                                                     {.bytes = 8, .isMemory = false},
                                                     {.bytes = 4, .isMemory = false},
                                                     {.bytes = 12, .isMemory = false}}};
    ASSERT_EQ(ported->kernels.size(), 1u);
    EXPECT_EQ(ported->kernels.front(), expected);
}

TEST(PortedPtx, HandsAKernelWhereItsItemsBegin) {
    const Result<PortedPtx> ported =
            portPtx(ptxOf("\tmov.b32 \t%r18, %envreg4;\n"
                          "\tmov.b32 \t%r19, %envreg6;\n"
                          "\tmov.b32 \t%r20, %envreg0;\n"));
    ASSERT_TRUE(ported.ok()) << ported.status().message();
    EXPECT_NE(ported->text.find("scale_param_3[12],\n"
                                "\t.param .align 4 .b8 scale_halyard_begin[12]\n)\n"),
              std::string::npos)
            << ported->text;
    EXPECT_NE(ported->text.find("\tld.param.u32 \t%r18, [scale_halyard_begin+4];\n"
                                "\tmov.u32 \t%r19, %nctaid.x;\n"
                                "\tmov.u32 \t%r20, 0;\n"),
              std::string::npos)
            << ported->text;
    EXPECT_EQ(ported->text.find("envreg"), std::string::npos);
    EXPECT_EQ(ported->text.find("texmode"), std::string::npos);
}

TEST(PortedPtx, GivesAKernelThatTakesNothingItsBeginning) {
    const Result<PortedPtx> ported = portPtx(".target sm_90\n.entry idle(\n\n)\n{\n\tret;\n}\n");
    ASSERT_TRUE(ported.ok()) << ported.status().message();
    EXPECT_TRUE(ported->kernels.front().parameters.empty());
    EXPECT_NE(ported->text.find(".entry idle(\n\n\t.param .align 4 .b8 idle_halyard_begin[12]\n)"),
              std::string::npos)
            << ported->text;
}

TEST(PortedPtx, RefusesWhatCudaHasNoWordFor) {
    const std::string local = ".entry f(\n\t.param .u64 .ptr .shared .align 4 f_param_0\n)\n{\n}\n";
    const std::string texture = ".entry f(\n\t.param .texref f_param_0\n)\n{\n}\n";
    for (const std::string& text :
         {local, texture, ptxOf("\tmov.b32 \t%r1, %envreg9;\n"),
          ptxOf("\tadd.s32 \t%r1, %r2, %envreg3;\n"), std::string("BC\xc0\xde"), std::string(),
          std::string(".entry f("), std::string("\tmov.b32 \t%r1, %envreg3;\n")}) {
        EXPECT_EQ(portPtx(text).status().code(), StatusCode::UNSUPPORTED) << text;
    }
}

KernelImage imageOfTwo() {
    return {.kernels = {{.name = "a", .parameters = {{.bytes = 8, .isMemory = true}}},
                        {.name = "bc", .parameters = {{.bytes = 4, .isMemory = false}}}},
            .code = {1, 2, 3}};
}

TEST(KernelImage, ComesBackFromItsBytes) {
    const Result<KernelImage> back = KernelImage::fromBytes(imageOfTwo().toBytes());
    ASSERT_TRUE(back.ok()) << back.status().message();
    EXPECT_EQ(back->kernels, imageOfTwo().kernels);
    EXPECT_EQ(back->code, imageOfTwo().code);
}

// A cache's file may hold anything.
TEST(KernelImage, RefusesBytesThatEndEarly) {
    const std::vector<uint8_t> bytes = imageOfTwo().toBytes();
    for (size_t size = 0; size + imageOfTwo().code.size() <= bytes.size(); ++size) {
        EXPECT_FALSE(KernelImage::fromBytes(std::span(bytes).first(size)).ok()) << size;
    }
}

TEST(KernelImage, IsToldByItsFirstBytes) {
    std::vector<uint8_t> bytes = imageOfTwo().toBytes();
    for (size_t at = 0; at < 8; ++at) {
        bytes[at] ^= 1;
        EXPECT_EQ(KernelImage::fromBytes(bytes).status().code(), StatusCode::INVALID_ARGUMENT);
        bytes[at] ^= 1;
    }
    EXPECT_TRUE(KernelImage::fromBytes(bytes).ok());
}

TEST(KernelImage, RefusesParametersThatCantBe) {
    const auto withParameter = [](const KernelParameter& parameter) {
        KernelImage image = imageOfTwo();
        image.kernels[0].parameters = {parameter};
        return KernelImage::fromBytes(image.toBytes()).status().code();
    };
    EXPECT_EQ(withParameter({.bytes = 8, .isMemory = true}), StatusCode::OK);
    EXPECT_EQ(withParameter({.bytes = 32752, .isMemory = false}), StatusCode::OK) << "with 12 more";
    EXPECT_EQ(withParameter({.bytes = 4, .isMemory = true}), StatusCode::INVALID_ARGUMENT)
            << "an address takes 8 bytes";
    EXPECT_EQ(withParameter({.bytes = 12, .isMemory = true}), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(withParameter({.bytes = 0, .isMemory = false}), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(withParameter({.bytes = 32753, .isMemory = false}), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(withParameter({.bytes = 0x7fffffff, .isMemory = false}),
              StatusCode::INVALID_ARGUMENT);
}

TEST(KernelImage, RefusesKernelsThatCantBeToldApart) {
    KernelImage image = imageOfTwo();
    image.kernels[1].name = image.kernels[0].name;
    EXPECT_EQ(KernelImage::fromBytes(image.toBytes()).status().code(),
              StatusCode::INVALID_ARGUMENT);
    image.kernels[1].name.clear();
    EXPECT_EQ(KernelImage::fromBytes(image.toBytes()).status().code(),
              StatusCode::INVALID_ARGUMENT);
}

TEST(KernelImage, SurvivesAnyBytes) {
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    for (int round = 0; round < 2000; ++round) {
        std::vector<uint8_t> bytes = imageOfTwo().toBytes();
        for (int i = 0; i < 3; ++i) {
            bytes[8 + random() % (bytes.size() - 8)] = static_cast<uint8_t>(random());
        }
        const Result<KernelImage> image = KernelImage::fromBytes(bytes);
        if (image.ok()) {
            EXPECT_LE(image->kernels.size(), bytes.size());
        }
    }
}

}  // namespace
}  // namespace halyard::engine::gpu
