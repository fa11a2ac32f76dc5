// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/engine/reference/evaluation.h"

namespace halyard::engine::ref_test {
namespace {

constexpr int32_t kSamples = 20000;
const TensorType kInt = typeOf(DataType::INT32, {});

Result<Values> draw(const Values& logits, int32_t seed, int32_t samples = kSamples) {
    return evaluate(RandomMultinomial{.samples = samples}, {logits, ints({2}, {seed, 42})}, kInt);
}

// How often each class was drawn in a row of the batch.
std::vector<double> frequencies(const Values& drawn, size_t row, size_t classes) {
    std::vector<double> counts(classes);
    const std::vector<double> all = stored(drawn);
    for (size_t i = row * kSamples; i < (row + 1) * kSamples; ++i) {
        counts.at(static_cast<size_t>(all[i])) += 1.0 / kSamples;
    }
    return counts;
}

// Within five standard deviations.
void expectProbabilities(const std::vector<double>& frequency,
                         const std::vector<double>& probability) {
    ASSERT_EQ(frequency.size(), probability.size());
    for (size_t i = 0; i < frequency.size(); ++i) {
        const double deviation = std::sqrt(probability[i] * (1 - probability[i]) / kSamples);
        EXPECT_NEAR(frequency[i], probability[i], 5 * deviation) << "class " << i;
    }
}

TEST(RandomMultinomialRef, DrawsByProbability) {
    const float two = std::log(2.0F);
    const float five = std::log(5.0F);
    const std::vector<float> logits = {0, two, five, 1000, 1000 + two, -1000};
    for (const Values& x : {floats({2, 3}, logits), halves({2, 3}, {0, two, five, 9, 9, -9})}) {
        const Result<Values> drawn = draw(x, 37);
        ASSERT_TRUE(drawn.ok()) << drawn.status().toString();
        expectProbabilities(frequencies(*drawn, 0, 3), {0.125, 0.25, 0.625});
    }
    const Result<Values> drawn = draw(floats({2, 3}, logits), 37);
    expectProbabilities(frequencies(*drawn, 1, 3), {1.0 / 3, 2.0 / 3, 0});
}

TEST(RandomMultinomialRef, DrawsEachRowAndSampleAnew) {
    const Result<Values> drawn = draw(floats({2, 2}, {1, 1, 1, 1}), 37);
    ASSERT_TRUE(drawn.ok()) << drawn.status().toString();
    const std::vector<double> all = stored(*drawn);
    size_t sameRow = 0;
    size_t sameNext = 0;
    for (size_t i = 0; i + 1 < kSamples; ++i) {
        sameRow += all[i] == all[kSamples + i] ? 1 : 0;
        sameNext += all[i] == all[i + 1] ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(sameRow) / kSamples, 0.5, 0.02);
    EXPECT_NEAR(static_cast<double>(sameNext) / kSamples, 0.5, 0.02);
}

TEST(RandomMultinomialRef, RepeatsItselfForTheSameSeedsOnly) {
    const Values logits = floats({1, 2}, {1, 1});
    EXPECT_EQ(draw(logits, 37)->bytes, draw(logits, 37)->bytes);
    EXPECT_NE(draw(logits, 37)->bytes, draw(logits, 38)->bytes);
    const auto unseeded = [&] {
        return evaluate(RandomMultinomial{.samples = kSamples}, {logits, ints({2}, {0, 0})}, kInt)
                ->bytes;
    };
    EXPECT_NE(unseeded(), unseeded());
}

TEST(RandomMultinomialRef, NeverDrawsWhatIsNotFinite) {
    const Values logits = floats({1, 4}, {kInfinity, 0, std::nanf(""), -kInfinity});
    const Result<Values> drawn = draw(logits, 37, 1000);
    ASSERT_TRUE(drawn.ok()) << drawn.status().toString();
    EXPECT_TRUE(holds(drawn, std::vector<double>(1000, 1)));
    EXPECT_TRUE(holds(draw(floats({1, 2}, {std::nanf(""), kInfinity}), 37, 3), {0, 0, 0}));
}

}  // namespace
}  // namespace halyard::engine::ref_test
