// SPDX-License-Identifier: Apache-2.0

#include "engine/graph/serialization.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "engine/graph/verifier.h"
#include "tests/engine/graph_building.h"

namespace halyard::engine {
namespace {

using Bytes = std::vector<uint8_t>;

Graph small() {
    Graph graph;
    const TensorId x = graph.addTensor(float32({2, kUnknownDimension}));
    graph.setInputs({x});
    const TensorId constant = addConstant<float>(graph, float32({1}), {1.5F});
    graph.setOutputs({addSum(graph, x, constant, "a \"label\"")});
    return graph;
}

// Gives every field another value than its default.
template <typename T>
void disturb(T& field) {
    if constexpr (std::is_same_v<T, NestedGraph>) {
        field.graph = std::make_shared<const Graph>(small());
    } else if constexpr (std::is_same_v<T, bool>) {
        field = !field;
    } else if constexpr (std::is_enum_v<T>) {
        field = static_cast<T>(static_cast<int>(field) == 1 ? 0 : 1);
    } else if constexpr (WithFields<T>) {
        forEachField(field, [](std::string_view /*name*/, auto& inner) { disturb(inner); });
    } else {
        field += static_cast<T>(1.25);
    }
}

// A node of every kind, with and without its defaults, and everything else that a graph can hold.
Graph everything() {
    Graph graph = small();
    const auto add = [&](NodeDescriptor descriptor) {
        graph.addNode({.descriptor = std::move(descriptor),
                       .inputs = {0, kNoTensor},
                       .outputs = {2},
                       .label = "label " + std::to_string(graph.nodes().size()),
                       .sources = {1, 5}});
    };
#define HALYARD_NODE_KIND(Descriptor) \
    {                                 \
        Descriptor descriptor;        \
        add(descriptor);              \
        disturb(descriptor);          \
        add(descriptor);              \
    }
#include "engine/graph/node_kinds.inc"
#undef HALYARD_NODE_KIND
    graph.addTensor(float32(Shape::unknownRank()));
    graph.addTensor({.type = DataType::QUANT8_ASYMM,
                     .shape = {},
                     .quantization = {.scale = 0.1F, .zeroPoint = 7, .channelScales = {}}});
    addConstant<int8_t>(graph,
                        {.type = DataType::QUANT8_SYMM_PER_CHANNEL,
                         .shape = {2, 1},
                         .quantization = {.channelScales = {0.5F, 0.25F}, .channelDim = 0}},
                        {3, -4});
    addConstant<float>(graph, float32({0, 3}), {});
    graph.setRelaxedFloat(true);
    graph.addVanished({.operation = 4, .fate = "folded"});
    return graph;
}

TEST(Serialization, BringsEveryKindBack) {
    const Graph graph = everything();
    const Result<Graph> back = deserialize(serialize(graph));
    ASSERT_TRUE(back.ok()) << back.status().toString();
    ASSERT_EQ(back->nodes().size(), graph.nodes().size());
    for (NodeId id = 0; id < graph.nodes().size(); ++id) {
        EXPECT_TRUE(back->node(id) == graph.node(id)) << toString(graph.node(id).descriptor);
        EXPECT_EQ(back->node(id).label, graph.node(id).label);
    }
    EXPECT_TRUE(*back == graph);
}

TEST(Serialization, OfAnEmptyGraphIsOne) {
    const Result<Graph> back = deserialize(serialize(Graph()));
    ASSERT_TRUE(back.ok()) << back.status().toString();
    EXPECT_TRUE(*back == Graph());
}

TEST(Serialization, KeepsConstantsAlignedInOneBlockAtTheEnd) {
    Graph graph = small();
    addConstant<uint8_t>(graph, {.type = DataType::BOOL8, .shape = {3}, .quantization = {}},
                         {1, 0, 1});
    const Bytes bytes = serialize(graph);
    // 64 bytes for the first constant, and the second.
    ASSERT_EQ((bytes.size() - 67) % 64, 0U);
    const uint8_t* const block = bytes.data() + bytes.size() - 67;
    EXPECT_EQ(Bytes(block, block + 4), Bytes({0, 0, 0xC0, 0x3F}));
    EXPECT_EQ(Bytes(block + 64, block + 67), Bytes({1, 0, 1}));
    const Result<Graph> back = deserialize(bytes);
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(back->tensor(1).constant.bytes.data() + 64, back->tensor(3).constant.bytes.data());
    EXPECT_FALSE(back->tensor(1).constant.shared);
}

TEST(Serialization, KeepsIdentitiesForTheProgramTheyBelongTo) {
    Graph graph = small();
    graph.mutableTensor(1).constant.id = static_cast<ConstantId>(3);
    graph.addPackedConstant(float32({2, 2}), static_cast<ConstantId>(9));
    const SerializedGraph serialized = describe(graph, ConstantIds::KEEP);
    Bytes block(serialized.block.size() + 128);
    uint8_t* const begin = block.data() + 64 - reinterpret_cast<uintptr_t>(block.data()) % 64;
    serialized.block.copyTo(begin);
    const auto owner = std::make_shared<int>(0);
    const ConstantData mapped = {
            .owner = owner, .bytes = {begin, serialized.block.size()}, .shared = true};
    const Result<Graph> back = deserialize(serialized.description, mapped);
    ASSERT_TRUE(back.ok()) << back.status().toString();
    EXPECT_TRUE(*back == graph);
    EXPECT_EQ(back->tensor(1).constant.id, static_cast<ConstantId>(3));
    EXPECT_EQ(back->tensor(1).constant.bytes.data(), begin) << "where it lies";
    EXPECT_TRUE(back->tensor(1).constant.shared);
    EXPECT_TRUE(back->tensors().back().isPackedAway());
    EXPECT_EQ(back->tensors().back().constant.id, static_cast<ConstantId>(9));
    EXPECT_FALSE(deserialize(serialized.description,
                             {.owner = owner, .bytes = {begin + 4, serialized.block.size()}})
                         .ok())
            << "unless it lies askew";
    // Others than that program have no use for them.
    const Graph without = deserialize(serialize(small())).value();
    EXPECT_EQ(without.tensor(1).constant.id, ConstantId::NONE);
}

TEST(Serialization, WritesWhatTwoConstantsShareOnce) {
    Graph graph;
    const auto pool = std::make_shared<const Bytes>(Bytes(256));
    const ConstantData data = {.owner = pool, .bytes = *pool};
    graph.addConstant(float32({64}), data).value();
    const size_t once = serialize(graph).size();
    graph.addConstant(float32({8, 8}), data).value();
    EXPECT_LT(serialize(graph).size(), once + pool->size());
    EXPECT_TRUE(deserialize(serialize(graph)).value() == graph);
}

// Replaces the first `from` after its length by `to`, which is as long.
Bytes renamed(Bytes bytes, const std::string& from, const std::string& to) {
    const auto at = std::search(bytes.begin(), bytes.end(), from.begin(), from.end());
    EXPECT_NE(at, bytes.end()) << from;
    std::copy(to.begin(), to.end(), at);
    return bytes;
}

TEST(Serialization, NamesWhatItDoesNotKnow) {
    const Bytes bytes = serialize(small());
    for (const std::string name : {"Binary", "activation", "NONE", "FLOAT32"}) {
        const std::string other = "Q" + name.substr(1);
        const Status status = deserialize(renamed(bytes, name, other)).status();
        EXPECT_EQ(status.code(), StatusCode::UNSUPPORTED);
        EXPECT_NE(status.message().find("'" + other + "' is not known"), std::string::npos)
                << status.message();
    }
}

TEST(Serialization, RejectsOtherBytesAndVersions) {
    Bytes bytes = serialize(small());
    bytes[0] ^= 1;
    EXPECT_EQ(deserialize(bytes).status().code(), StatusCode::INVALID_ARGUMENT);
    bytes[0] ^= 1;
    bytes[8] ^= 2;
    EXPECT_EQ(deserialize(bytes).status().code(), StatusCode::UNSUPPORTED);
    EXPECT_FALSE(deserialize({}).ok());
}

TEST(Serialization, RejectsBytesThatEndEarlyOrLate) {
    Bytes bytes = serialize(everything());
    for (size_t size = 0; size < bytes.size(); size += size < 1024 ? 1 : 37) {
        EXPECT_FALSE(deserialize(std::span(bytes).first(size)).ok()) << size;
    }
    bytes.push_back(0);
    EXPECT_FALSE(deserialize(bytes).ok());
}

// The sizes in the header are made to fit, so that the description itself ends early.
TEST(Serialization, RejectsADescriptionThatEndsAnywhere) {
    const Bytes bytes = serialize(small());
    constexpr size_t kHeader = 28;
    uint64_t description = 0;
    std::memcpy(&description, bytes.data() + 12, 8);
    for (uint64_t size = 0; size < description; ++size) {
        Bytes cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(kHeader + size));
        cut.resize((cut.size() + 63) / 64 * 64);
        cut.insert(cut.end(), bytes.end() - 4, bytes.end());
        std::memcpy(cut.data() + 12, &size, 8);
        EXPECT_EQ(deserialize(cut).status().code(), StatusCode::INVALID_ARGUMENT) << size;
    }
}

// A description, and its constants where they have to lie.
class Described {
  public:
    explicit Described(const Graph& graph) {
        SerializedGraph serialized = describe(graph, ConstantIds::KEEP);
        bytes = std::move(serialized.description);
        mBlock.resize(serialized.block.size() + 128);
        mBegin = mBlock.data() + 64 - reinterpret_cast<uintptr_t>(mBlock.data()) % 64;
        serialized.block.copyTo(mBegin);
        mSize = serialized.block.size();
    }

    Result<Graph> read() const {
        return deserialize(bytes, {.owner = std::make_shared<int>(0), .bytes = {mBegin, mSize}});
    }
    // The result of reading once the first `from` is `to`.
    template <typename T>
    Status readWith(const std::vector<T>& from, const std::vector<T>& to) const {
        Described changed = *this;
        const auto* const wanted = reinterpret_cast<const uint8_t*>(from.data());
        const auto at = std::search(changed.bytes.begin(), changed.bytes.end(), wanted,
                                    wanted + from.size() * sizeof(T));
        if (at == changed.bytes.end()) {
            return internalError("this is not there");
        }
        std::memcpy(&*at, to.data(), to.size() * sizeof(T));
        return changed.read().status();
    }

    Bytes bytes;

  private:
    Described(const Described& other) = default;

    Bytes mBlock;
    uint8_t* mBegin = nullptr;
    size_t mSize = 0;
};

TEST(Serialization, EndsWithItsDescription) {
    Described described(small());
    ASSERT_TRUE(described.read().ok());
    described.bytes.push_back(0);
    EXPECT_EQ(described.read().status().message(), "there is more than the graph");
}

TEST(Serialization, HasConstantsWhereTensorsMayLieInsideTheBlock) {
    Graph graph;
    addConstant<float>(graph, float32({16}), std::vector<float>(16));
    addConstant<float>(graph, float32({16}), std::vector<float>(16, 1.0F));
    const Described described(graph);
    const auto at = [&](uint64_t offset) {
        return described.readWith<uint64_t>({64, 64}, {offset, 64}).code();
    };
    EXPECT_EQ(at(64), StatusCode::OK);
    EXPECT_EQ(at(0), StatusCode::OK) << "two may be one";
    for (const uint64_t offset :
         {uint64_t{1}, uint64_t{4}, uint64_t{60}, uint64_t{65}, uint64_t{128}, uint64_t{0} - 64}) {
        EXPECT_EQ(at(offset), StatusCode::INVALID_ARGUMENT) << offset;
    }
}

TEST(Serialization, HasNoConstantsWithoutAnIdentityWhereTheyHaveOne) {
    Graph graph = small();
    graph.mutableTensor(1).constant.id = static_cast<ConstantId>(0x5a5b5c5d);
    graph.addPackedConstant(float32({2, 2}), static_cast<ConstantId>(0x6a6b6c6d));
    const Described described(graph);
    for (const uint32_t id : {0x5a5b5c5dU, 0x6a6b6c6dU}) {
        EXPECT_TRUE(described.readWith<uint32_t>({id}, {7}).ok());
        EXPECT_EQ(described.readWith<uint32_t>({id}, {0}).message().substr(0, 7), "tensor ") << id;
    }
}

TEST(Serialization, NamesNoTensorThatThereIsNot) {
    Graph graph = small();
    graph.setName(2, "the sum");
    const auto named = [&](uint32_t id) {
        // How many names, whose, and how long.
        return Described(graph).readWith<uint32_t>({1, 2, 7}, {1, id, 7}).code();
    };
    EXPECT_EQ(named(0), StatusCode::OK);
    EXPECT_EQ(named(3), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(named(kNoTensor), StatusCode::INVALID_ARGUMENT);
}

TEST(Serialization, HasNoShapesOfRanksThatThereAreNot) {
    Graph graph;
    graph.addTensor(float32({0x1a1b1c1d}));
    const auto ranked = [&](int rank) {
        const auto byte = static_cast<uint8_t>(rank);
        return Described(graph)
                .readWith<uint8_t>({'3', '2', 1, 0x1d, 0x1c}, {'3', '2', byte, 0x1d, 0x1c})
                .code();
    };
    EXPECT_EQ(ranked(1), StatusCode::OK);
    for (const int rank : {-128, -2, static_cast<int>(kMaxRank) + 1, 127}) {
        EXPECT_EQ(ranked(rank), StatusCode::UNSUPPORTED) << rank;
    }
}

TEST(Serialization, HasFieldsOfTheTypesThatTheyAre) {
    Graph graph;
    graph.addNode(
            {.descriptor = Binary(), .inputs = {}, .outputs = {}, .label = "", .sources = {}});
    const Described described(graph);
    // The kind's own tag comes behind its name.
    const auto tagged = [&](uint8_t tag) {
        return described.readWith<uint8_t>({'a', 'r', 'y', 5}, {'a', 'r', 'y', tag}).code();
    };
    EXPECT_EQ(tagged(5), StatusCode::OK);
    for (const uint8_t tag : {0, 4, 6, 255}) {
        EXPECT_EQ(tagged(tag), StatusCode::UNSUPPORTED) << int{tag};
    }
}

TEST(Serialization, HasNoSizesThatWrapAround) {
    Bytes bytes = serialize(small());
    // A description whose end, rounded up, is 64, and a block that begins there.
    const uint64_t description = std::numeric_limits<uint64_t>::max();
    const uint64_t block = bytes.size() - 64;
    std::memcpy(bytes.data() + 12, &description, sizeof description);
    std::memcpy(bytes.data() + 20, &block, sizeof block);
    EXPECT_EQ(deserialize(bytes).status().message(), "the graph ends early");
}

TEST(Serialization, RejectsGraphsNestedTooDeep) {
    Graph graph = small();
    for (size_t depth = 0; depth <= kMaxNesting; ++depth) {
        Graph outer;
        outer.addNode({.descriptor = If{.then = {.graph = std::make_shared<const Graph>(graph)},
                                        .otherwise = {}},
                       .inputs = {},
                       .outputs = {},
                       .label = "",
                       .sources = {}});
        graph = outer;
    }
    EXPECT_TRUE(deserialize(serialize(*std::get<If>(graph.node(0).descriptor).then.graph)).ok());
    EXPECT_EQ(deserialize(serialize(graph)).status().code(), StatusCode::UNSUPPORTED);
}

// Whatever comes out can be verified, or is refused, without harm.
TEST(Serialization, SurvivesRandomChanges) {
    const char* chosen = std::getenv("HALYARD_SEED");
    const auto seed = chosen != nullptr ? static_cast<uint32_t>(std::strtoul(chosen, nullptr, 10))
                                        : std::random_device()();
    SCOPED_TRACE("HALYARD_SEED=" + std::to_string(seed));
    std::mt19937 engine(seed);
    Graph graph = everything();
    const Bytes bytes = serialize(graph);
    const Bytes few = serialize(small());
    size_t accepted = 0;
    for (int round = 0; round < 4000; ++round) {
        Bytes changed = round % 4 == 0 ? bytes : few;
        for (uint32_t flips = 1 + engine() % 4; flips > 0; --flips) {
            changed[engine() % changed.size()] ^= static_cast<uint8_t>(1U << engine() % 8);
        }
        Result<Graph> back = deserialize(changed);
        if (back.ok()) {
            ++accepted;
            (void)verifyAndInfer(*back);
        }
    }
    EXPECT_GT(accepted, 0U) << "some changes mean something else";
}

}  // namespace
}  // namespace halyard::engine
