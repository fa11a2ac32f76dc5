// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/cases.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "harness/device/cases/canonical_model.h"
#include "tests/driver/model_builder.h"
#include "tests/fuzz/case_mutation.h"
#include "tests/fuzz/seeded_choices.h"

namespace halyard::fuzz {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 18;  // of all outputs
constexpr uint8_t kUntouched = 0xa5;

bool small(const pb::TestCase& testCase) {
    uint64_t bytes = 0;
    for (const pb::Example& example : testCase.examples()) {
        for (const pb::OutputBuffer& output : example.outputs()) {
            if (output.byte_size() > kMostBytes) {
                return false;
            }
            bytes += output.byte_size();
        }
    }
    return bytes <= kMostBytes && testCase.examples_size() <= 4;
}

size_t store(const pb::TestCase& testCase, std::span<uint8_t> out) {
    const size_t size = testCase.ByteSizeLong();
    if (size > out.size() || !testCase.SerializeToArray(out.data(), static_cast<int>(size))) {
        return 0;
    }
    return size;
}

}  // namespace

std::optional<pb::TestCase> parseCase(std::span<const uint8_t> bytes) {
    pb::TestCase testCase;
    if (!testCase.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
        !small(testCase)) {
        return std::nullopt;
    }
    return testCase;
}

size_t mutateCase(uint8_t* data, size_t size, size_t maxSize, unsigned seed) {
    std::optional<pb::TestCase> testCase = parseCase({data, size});
    if (!testCase.has_value()) {
        testCase.emplace();
    }
    SeededChoices choices(seed);
    mutate(*testCase, choices);
    const size_t mutated = store(*testCase, {data, maxSize});
    return mutated == 0 ? size : mutated;
}

size_t crossCases(std::span<const uint8_t> first, std::span<const uint8_t> second,
                  std::span<uint8_t> out, unsigned seed) {
    std::optional<pb::TestCase> testCase = parseCase(first);
    const std::optional<pb::TestCase> other = parseCase(second);
    if (!testCase.has_value() || !other.has_value()) {
        return 0;
    }
    SeededChoices choices(seed);
    append(*testCase, *other, choices);
    return store(*testCase, out);
}

std::optional<driver::Model> modelOf(const pb::Model& model, Pools& pools) {
    pb::Model withoutPools = model;
    withoutPools.clear_pools();
    Result<driver::Model> converted = runner::toCanonical(withoutPools);
    if (!converted.ok()) {
        return std::nullopt;
    }
    for (const std::string& content : model.pools()) {
        auto pool = std::make_shared<driver::FakeMemory>(content.size());
        pools.push_back(*pool->map());
        std::copy(content.begin(), content.end(), pools.back().begin());
        converted->pools.push_back(std::move(pool));
    }
    return std::move(*converted);
}

driver::Request requestOf(const pb::Example& example, uint32_t offset, Pools& pools,
                          Pools& outputs) {
    driver::Request request;
    const auto place = [&](driver::RequestArgument& argument, size_t size) {
        auto pool = std::make_shared<driver::FakeMemory>(offset + size);
        const std::span<uint8_t> bytes = *pool->map();
        argument.location = {.poolIndex = static_cast<uint32_t>(request.pools.size()),
                             .offset = offset,
                             .length = static_cast<uint32_t>(size)};
        request.pools.emplace_back(std::move(pool));
        pools.push_back(bytes);
        return bytes.subspan(offset);
    };
    for (const pb::InputValue& input : example.inputs()) {
        driver::RequestArgument& argument = request.inputs.emplace_back();
        argument.hasNoValue = input.has_no_value();
        argument.dimensions.assign(input.dimensions().begin(), input.dimensions().end());
        if (!argument.hasNoValue) {
            const std::span<uint8_t> bytes = place(argument, input.data().size());
            std::copy(input.data().begin(), input.data().end(), bytes.begin());
        }
    }
    for (const pb::OutputBuffer& output : example.outputs()) {
        driver::RequestArgument& argument = request.outputs.emplace_back();
        argument.dimensions.assign(output.dimensions().begin(), output.dimensions().end());
        outputs.push_back(place(argument, output.byte_size()));
        std::fill(outputs.back().begin(), outputs.back().end(), kUntouched);
    }
    return request;
}

}  // namespace halyard::fuzz
