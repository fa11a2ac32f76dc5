// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/bindings.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

namespace halyard::engine {
namespace {

std::array<uint8_t, 100> memory;

InputBinding input(size_t begin, size_t size) {
    return {.bytes = std::span(memory).subspan(begin, size),
            .shape = {},
            .present = true,
            .isPrivate = false};
}

RunOutput output(size_t begin, size_t size) {
    return {.bytes = std::span(memory).subspan(begin, size),
            .shape = Shape::unknownRank(),
            .present = true,
            .buffer = nullptr};
}

std::vector<uint8_t> find(const std::vector<InputBinding>& inputs,
                          const std::vector<RunOutput>& outputs) {
    OverlapFinder finder(inputs.size(), outputs.size());
    std::vector<uint8_t> overlaps(outputs.size(), 7);
    finder.find(inputs, outputs, overlaps);
    return overlaps;
}

using Overlaps = std::vector<uint8_t>;

TEST(OverlapFinder, FindsNothingWhereRangesOnlyTouch) {
    EXPECT_EQ(find({input(0, 10)}, {output(10, 10), output(20, 1)}), (Overlaps{0, 0}));
}

TEST(OverlapFinder, FindsOutputsThatMeetAnInput) {
    EXPECT_EQ(find({input(0, 10)}, {output(9, 10), output(50, 10)}), (Overlaps{1, 0}));
    EXPECT_EQ(find({input(20, 1)}, {output(0, 100)}), Overlaps{1});
    EXPECT_EQ(find({input(0, 100)}, {output(20, 1)}), Overlaps{1});
}

TEST(OverlapFinder, FindsBothOfTwoOutputsThatMeet) {
    EXPECT_EQ(find({}, {output(0, 10), output(5, 10), output(15, 5)}), (Overlaps{1, 1, 0}));
}

TEST(OverlapFinder, LooksBehindARangeThatEndsEarly) {
    // The last range meets the first, though not the one that begins right before it.
    EXPECT_EQ(find({input(0, 50), input(10, 5)}, {output(40, 5)}), Overlaps{1});
}

TEST(OverlapFinder, IgnoresInputsThatMeetEachOtherAndWhatIsNotBound) {
    EXPECT_EQ(find({input(0, 10), input(0, 10)}, {output(10, 10)}), Overlaps{0});
    InputBinding absent = input(0, 10);
    absent.present = false;
    RunOutput unwanted = output(0, 10);
    unwanted.present = false;
    EXPECT_EQ(find({absent}, {output(0, 10), unwanted, output(5, 0)}), (Overlaps{0, 0, 0}));
}

TEST(OverlapFinder, AgreesWithComparingAllPairs) {
    const unsigned seed = std::random_device()();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto share = [](auto a, auto b) {
        return !a.empty() && !b.empty() && a.data() < b.data() + b.size() &&
               b.data() < a.data() + a.size();
    };
    for (int round = 0; round < 500; ++round) {
        std::vector<InputBinding> inputs;
        std::vector<RunOutput> outputs;
        for (size_t i = random() % 4; i > 0; --i) {
            inputs.push_back(input(random() % 80, random() % 20));
        }
        for (size_t i = random() % 5; i > 0; --i) {
            outputs.push_back(output(random() % 80, random() % 20));
        }
        Overlaps expected;
        for (size_t i = 0; i < outputs.size(); ++i) {
            bool any = false;
            for (const InputBinding& other : inputs) {
                any = any || share(std::span<const uint8_t>(outputs[i].bytes), other.bytes);
            }
            for (size_t j = 0; j < outputs.size(); ++j) {
                any = any || (i != j && share(outputs[i].bytes, outputs[j].bytes));
            }
            expected.push_back(any ? 1 : 0);
        }
        EXPECT_EQ(find(inputs, outputs), expected);
    }
}

}  // namespace
}  // namespace halyard::engine
