// SPDX-License-Identifier: Apache-2.0

#include "engine/graph/serialization.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "engine/base/aligned_buffer.h"
#include "engine/base/checked_math.h"
#include "engine/graph/verifier.h"

namespace halyard::engine {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie");

constexpr std::string_view kMagic = "HALYGRPH";
constexpr uint32_t kVersion = 2;
constexpr size_t kAlignment = 64;
constexpr int8_t kUnknownRank = -1;

// What follows a field's name, so that a field that changed its type is noticed.
enum class Tag : uint8_t { BOOL, INT32, FLOAT, DOUBLE, ENUMERATOR, FIELDS, GRAPH };

template <typename T>
constexpr Tag tagOf() {
    if constexpr (std::is_same_v<T, bool>) {
        return Tag::BOOL;
    } else if constexpr (std::is_same_v<T, int32_t>) {
        return Tag::INT32;
    } else if constexpr (std::is_same_v<T, float>) {
        return Tag::FLOAT;
    } else if constexpr (std::is_same_v<T, double>) {
        return Tag::DOUBLE;
    } else if constexpr (std::is_enum_v<T>) {
        return Tag::ENUMERATOR;
    } else if constexpr (std::is_same_v<T, NestedGraph>) {
        return Tag::GRAPH;
    } else {
        static_assert(WithFields<T>);
        return Tag::FIELDS;
    }
}

size_t alignUp(size_t size) {
    return (size + kAlignment - 1) & ~(kAlignment - 1);
}

class Writer {
  public:
    std::vector<uint8_t> write(const Graph& graph) {
        writeGraph(graph);
        const std::vector<uint8_t> description = std::exchange(mBytes, {});
        mBytes.assign(kMagic.begin(), kMagic.end());
        put(kVersion);
        put(static_cast<uint64_t>(description.size()));
        put(static_cast<uint64_t>(mBlock.size()));
        mBytes.insert(mBytes.end(), description.begin(), description.end());
        mBytes.resize(alignUp(mBytes.size()));
        mBytes.insert(mBytes.end(), mBlock.begin(), mBlock.end());
        return std::move(mBytes);
    }

  private:
    template <typename T>
    requires std::is_arithmetic_v<T>
    void put(T value) {
        std::array<uint8_t, sizeof(T)> bytes;
        std::memcpy(bytes.data(), &value, sizeof(T));
        mBytes.insert(mBytes.end(), bytes.begin(), bytes.end());
    }

    void putCount(size_t count) { put(static_cast<uint32_t>(count)); }

    void putText(std::string_view text) {
        putCount(text.size());
        mBytes.insert(mBytes.end(), text.begin(), text.end());
    }

    void putIds(std::span<const uint32_t> ids) {
        putCount(ids.size());
        for (const uint32_t id : ids) {
            put(id);
        }
    }

    void writeGraph(const Graph& graph) {
        put(static_cast<uint8_t>(graph.relaxedFloat()));
        putCount(graph.tensors().size());
        for (const Tensor& tensor : graph.tensors()) {
            writeTensor(tensor);
        }
        putCount(graph.nodes().size());
        for (const Node& node : graph.nodes()) {
            writeNode(node);
        }
        putIds(graph.inputs());
        putIds(graph.outputs());
        putCount(graph.vanished().size());
        for (const VanishedOperation& vanished : graph.vanished()) {
            put(vanished.operation);
            putText(vanished.fate);
        }
        writeNames(graph);
    }

    // Most tensors have none.
    void writeNames(const Graph& graph) {
        const auto isNamed = [](const Tensor& tensor) { return !tensor.name.empty(); };
        putCount(static_cast<size_t>(std::ranges::count_if(graph.tensors(), isNamed)));
        for (TensorId id = 0; id < graph.tensors().size(); ++id) {
            if (isNamed(graph.tensor(id))) {
                put(id);
                putText(graph.tensor(id).name);
            }
        }
    }

    void writeTensor(const Tensor& tensor) {
        putText(nameOfEnumerator(tensor.type.type));
        const Shape& shape = tensor.type.shape;
        put(shape.hasKnownRank() ? static_cast<int8_t>(shape.rank()) : kUnknownRank);
        for (const int32_t extent : shape.extents()) {
            put(extent);
        }
        const Quantization& quantization = tensor.type.quantization;
        put(quantization.scale);
        put(quantization.zeroPoint);
        put(quantization.channelDim);
        putCount(quantization.channelScales.size());
        for (const float scale : quantization.channelScales) {
            put(scale);
        }
        put(static_cast<uint8_t>(tensor.isConstant()));
        if (tensor.isConstant()) {
            const std::span<const uint8_t> bytes = tensor.constant.bytes;
            mBlock.resize(alignUp(mBlock.size()));
            put(static_cast<uint64_t>(mBlock.size()));
            put(static_cast<uint64_t>(bytes.size()));
            mBlock.insert(mBlock.end(), bytes.begin(), bytes.end());
        }
    }

    void writeNode(const Node& node) {
        putText(toString(node.kind()));
        std::visit(
                [&]<typename Descriptor>(const Descriptor& descriptor) {
                    if constexpr (!std::is_same_v<Descriptor, std::monostate>) {
                        putValue(descriptor);
                    }
                },
                node.descriptor);
        putIds(node.inputs);
        putIds(node.outputs);
        putText(node.label);
        putIds(node.sources);
    }

    template <typename T>
    void putValue(const T& value) {
        put(static_cast<uint8_t>(tagOf<T>()));
        if constexpr (std::is_same_v<T, bool>) {
            put(static_cast<uint8_t>(value));
        } else if constexpr (std::is_enum_v<T>) {
            putText(nameOfEnumerator(value));
        } else if constexpr (std::is_same_v<T, NestedGraph>) {
            put(static_cast<uint8_t>(value.graph != nullptr));
            if (value.graph != nullptr) {
                writeGraph(*value.graph);
            }
        } else if constexpr (WithFields<T>) {
            putCount(std::tuple_size_v<decltype(value.fields())>);
            forEachField(value, [&](std::string_view name, const auto& field) {
                putText(name);
                putValue(field);
            });
        } else {
            put(value);
        }
    }

    std::vector<uint8_t> mBytes;
    std::vector<uint8_t> mBlock;
};

std::optional<NodeDescriptor> descriptorNamed(std::string_view kind) {
#define HALYARD_NODE_KIND(Descriptor) \
    if (kind == #Descriptor) {        \
        return Descriptor();          \
    }
#include "engine/graph/node_kinds.inc"
#undef HALYARD_NODE_KIND
    return std::nullopt;
}

// Reads the description. Each count is followed by at least as many bytes as it counts, so that
// nothing is allocated that is not there.
class Reader {
  public:
    Reader(std::span<const uint8_t> description, std::shared_ptr<const AlignedBuffer> block,
           size_t blockSize)
        : mRest(description), mBlock(std::move(block)), mBlockSize(blockSize) {}

    Result<Graph> read() {
        Graph graph;
        HALYARD_RETURN_IF_ERROR(readGraph(graph, 0));
        if (!mRest.empty()) {
            return invalidArgument("there is more than a graph");
        }
        return graph;
    }

  private:
    template <typename T>
    requires std::is_arithmetic_v<T> Status get(T& value) {
        if (mRest.size() < sizeof(T)) {
            return invalidArgument("the graph ends early");
        }
        std::memcpy(&value, mRest.data(), sizeof(T));
        mRest = mRest.subspan(sizeof(T));
        return {};
    }

    Status getFlag(bool& flag) {
        uint8_t byte = 0;
        HALYARD_RETURN_IF_ERROR(get(byte));
        if (byte > 1) {
            return invalidArgument("a flag is " + std::to_string(byte));
        }
        flag = byte == 1;
        return {};
    }

    Result<size_t> getCount() {
        uint32_t count = 0;
        HALYARD_RETURN_IF_ERROR(get(count));
        if (count > mRest.size()) {
            return invalidArgument("the graph ends early");
        }
        return size_t{count};
    }

    Result<std::string_view> getText() {
        HALYARD_ASSIGN_OR_RETURN(const size_t length, getCount());
        const std::string_view text(reinterpret_cast<const char*>(mRest.data()), length);
        mRest = mRest.subspan(length);
        return text;
    }

    template <typename T>
    Status getList(std::vector<T>& list) {
        HALYARD_ASSIGN_OR_RETURN(const size_t count, getCount());
        for (size_t i = 0; i < count; ++i) {
            HALYARD_RETURN_IF_ERROR(get(list.emplace_back()));
        }
        return {};
    }

    template <typename E>
    Status getEnumerator(E& value) {
        HALYARD_ASSIGN_OR_RETURN(const std::string_view name, getText());
        const std::optional<E> found = enumeratorNamed<E>(name);
        if (!found.has_value()) {
            return unsupported("'" + std::string(name) + "' is not known");
        }
        value = *found;
        return {};
    }

    Status readGraph(Graph& graph, size_t depth) {
        if (depth > kMaxNesting) {
            return unsupported("graphs are nested more than " + std::to_string(kMaxNesting) +
                               " deep");
        }
        bool relaxed = false;
        HALYARD_RETURN_IF_ERROR(getFlag(relaxed));
        graph.setRelaxedFloat(relaxed);
        HALYARD_ASSIGN_OR_RETURN(const size_t tensors, getCount());
        for (size_t i = 0; i < tensors; ++i) {
            HALYARD_RETURN_IF_ERROR(readTensor(graph).withContext("tensor " + std::to_string(i)));
        }
        HALYARD_ASSIGN_OR_RETURN(const size_t nodes, getCount());
        for (size_t i = 0; i < nodes; ++i) {
            HALYARD_RETURN_IF_ERROR(
                    readNode(graph, depth).withContext("node " + std::to_string(i)));
        }
        std::vector<TensorId> ids;
        HALYARD_RETURN_IF_ERROR(getList(ids));
        graph.setInputs(std::exchange(ids, {}));
        HALYARD_RETURN_IF_ERROR(getList(ids));
        graph.setOutputs(std::move(ids));
        HALYARD_ASSIGN_OR_RETURN(const size_t vanished, getCount());
        for (size_t i = 0; i < vanished; ++i) {
            VanishedOperation operation;
            HALYARD_RETURN_IF_ERROR(get(operation.operation));
            HALYARD_ASSIGN_OR_RETURN(operation.fate, getText());
            graph.addVanished(std::move(operation));
        }
        return readNames(graph);
    }

    Status readNames(Graph& graph) {
        HALYARD_ASSIGN_OR_RETURN(const size_t names, getCount());
        for (size_t i = 0; i < names; ++i) {
            TensorId id = kNoTensor;
            HALYARD_RETURN_IF_ERROR(get(id));
            HALYARD_ASSIGN_OR_RETURN(const std::string_view name, getText());
            if (id >= graph.tensors().size()) {
                return invalidArgument("there is no tensor " + std::to_string(id) + " to be named");
            }
            graph.setName(id, std::string(name));
        }
        return {};
    }

    Status readTensor(Graph& graph) {
        TensorType type;
        HALYARD_RETURN_IF_ERROR(getEnumerator(type.type));
        HALYARD_RETURN_IF_ERROR(readShape(type.shape));
        Quantization& quantization = type.quantization;
        HALYARD_RETURN_IF_ERROR(get(quantization.scale));
        HALYARD_RETURN_IF_ERROR(get(quantization.zeroPoint));
        HALYARD_RETURN_IF_ERROR(get(quantization.channelDim));
        std::vector<float> scales;
        HALYARD_RETURN_IF_ERROR(getList(scales));
        quantization.channelScales = std::move(scales);
        bool isConstant = false;
        HALYARD_RETURN_IF_ERROR(getFlag(isConstant));
        if (!isConstant) {
            graph.addTensor(std::move(type));
            return {};
        }
        uint64_t offset = 0;
        uint64_t size = 0;
        HALYARD_RETURN_IF_ERROR(get(offset));
        HALYARD_RETURN_IF_ERROR(get(size));
        if (!rangeFits<uint64_t>(offset, size, mBlockSize) || offset % kAlignment != 0) {
            return invalidArgument("the elements of a constant lie outside their block");
        }
        const auto* elements = reinterpret_cast<const uint8_t*>(mBlock->data()) + offset;
        return graph
                .addConstant(std::move(type),
                             {.owner = mBlock, .bytes = {elements, static_cast<size_t>(size)}})
                .status();
    }

    Status readShape(Shape& shape) {
        int8_t rank = 0;
        HALYARD_RETURN_IF_ERROR(get(rank));
        if (rank == kUnknownRank) {
            shape = Shape::unknownRank();
            return {};
        }
        if (rank < 0 || rank > static_cast<int8_t>(kMaxRank)) {
            return unsupported("rank " + std::to_string(rank));
        }
        std::array<int32_t, kMaxRank> extents = {};
        for (int8_t axis = 0; axis < rank; ++axis) {
            HALYARD_RETURN_IF_ERROR(get(extents[static_cast<size_t>(axis)]));
        }
        HALYARD_ASSIGN_OR_RETURN(
                shape,
                Shape::create(std::span<const int32_t>(extents).first(static_cast<size_t>(rank))));
        return {};
    }

    template <typename T>
    Status getValue(T& value, size_t depth) {
        uint8_t tag = 0;
        HALYARD_RETURN_IF_ERROR(get(tag));
        if (tag != static_cast<uint8_t>(tagOf<T>())) {
            return unsupported("it has another type here");
        }
        if constexpr (std::is_same_v<T, bool>) {
            return getFlag(value);
        } else if constexpr (std::is_enum_v<T>) {
            return getEnumerator(value);
        } else if constexpr (std::is_same_v<T, NestedGraph>) {
            return getNested(value, depth);
        } else if constexpr (WithFields<T>) {
            return getFields(value, depth);
        } else {
            return get(value);
        }
    }

    Status getNested(NestedGraph& nested, size_t depth) {
        bool present = false;
        HALYARD_RETURN_IF_ERROR(getFlag(present));
        if (present) {
            Graph graph;
            HALYARD_RETURN_IF_ERROR(readGraph(graph, depth + 1));
            nested.graph = std::make_shared<const Graph>(std::move(graph));
        }
        return {};
    }

    template <WithFields T>
    Status getFields(T& object, size_t depth) {
        HALYARD_ASSIGN_OR_RETURN(const size_t count, getCount());
        for (size_t i = 0; i < count; ++i) {
            HALYARD_ASSIGN_OR_RETURN(const std::string_view wanted, getText());
            bool found = false;
            Status status;
            forEachField(object, [&](std::string_view name, auto& field) {
                if (name == wanted) {
                    found = true;
                    status = getValue(field, depth).withContext(name);
                }
            });
            if (!found) {
                return unsupported("the field '" + std::string(wanted) + "' is not known");
            }
            HALYARD_RETURN_IF_ERROR(status);
        }
        return {};
    }

    Status readNode(Graph& graph, size_t depth) {
        HALYARD_ASSIGN_OR_RETURN(const std::string_view kind, getText());
        std::optional<NodeDescriptor> descriptor = descriptorNamed(kind);
        if (!descriptor.has_value()) {
            return unsupported("the kind '" + std::string(kind) + "' is not known");
        }
        Node node;
        node.descriptor = *std::move(descriptor);
        const auto read = [&]<typename Descriptor>(Descriptor& fields) -> Status {
            if constexpr (std::is_same_v<Descriptor, std::monostate>) {
                return internalError("a kind without a descriptor");
            } else {
                return getValue(fields, depth);
            }
        };
        HALYARD_RETURN_IF_ERROR(std::visit(read, node.descriptor).withContext(kind));
        HALYARD_RETURN_IF_ERROR(getList(node.inputs));
        HALYARD_RETURN_IF_ERROR(getList(node.outputs));
        HALYARD_ASSIGN_OR_RETURN(node.label, getText());
        HALYARD_RETURN_IF_ERROR(getList(node.sources));
        graph.addNode(std::move(node));
        return {};
    }

    std::span<const uint8_t> mRest;
    std::shared_ptr<const AlignedBuffer> mBlock;
    size_t mBlockSize;
};

struct Header {
    char magic[kMagic.size()];
    uint32_t version;
    uint64_t descriptionSize;
    uint64_t blockSize;
};
constexpr size_t kHeaderSize = kMagic.size() + sizeof(uint32_t) + 2 * sizeof(uint64_t);

Result<Header> readHeader(std::span<const uint8_t> bytes) {
    Header header = {};
    if (bytes.size() < kHeaderSize) {
        return invalidArgument("the header of the graph ends early");
    }
    const uint8_t* at = bytes.data();
    const auto take = [&](void* to, size_t size) {
        std::memcpy(to, at, size);
        at += size;
    };
    take(header.magic, sizeof header.magic);
    take(&header.version, sizeof header.version);
    take(&header.descriptionSize, sizeof header.descriptionSize);
    take(&header.blockSize, sizeof header.blockSize);
    if (std::string_view(header.magic, sizeof header.magic) != kMagic) {
        return invalidArgument("these bytes are no graph");
    }
    if (header.version != kVersion) {
        return unsupported("version " + std::to_string(header.version) + " of a graph's bytes");
    }
    return header;
}

}  // namespace

std::vector<uint8_t> serialize(const Graph& graph) {
    return Writer().write(graph);
}

Result<Graph> deserialize(std::span<const uint8_t> bytes) {
    HALYARD_ASSIGN_OR_RETURN(const Header header, readHeader(bytes));
    const size_t body = bytes.size() - kHeaderSize;
    if (header.descriptionSize > body || header.blockSize > body) {
        return invalidArgument("the graph ends early");
    }
    const auto descriptionSize = static_cast<size_t>(header.descriptionSize);
    const auto blockSize = static_cast<size_t>(header.blockSize);
    const size_t blockOffset = alignUp(kHeaderSize + descriptionSize);
    if (blockOffset > bytes.size() || bytes.size() - blockOffset != blockSize) {
        return invalidArgument("the block of constants does not end where the bytes do");
    }
    HALYARD_ASSIGN_OR_RETURN(
            AlignedBuffer block,
            AlignedBuffer::allocate(blockSize == 0 ? 1 : blockSize, kAlignment, nullptr));
    if (blockSize > 0) {
        std::memcpy(block.data(), bytes.data() + blockOffset, blockSize);
    }
    return Reader(bytes.subspan(kHeaderSize, descriptionSize),
                  std::make_shared<const AlignedBuffer>(std::move(block)), blockSize)
            .read();
}

}  // namespace halyard::engine
