// SPDX-License-Identifier: Apache-2.0
//
// halyard/halyard.h for C++20: handles that release themselves, spans, and Result in place of
// status codes. Header only, over the C API alone, and without exceptions. What is said there of
// ownership, threads, errors and units holds here.
//
// A handle that was moved from is empty: its functions fail with INVALID_ARGUMENT.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halyard/halyard.h"

namespace halyard {

class [[nodiscard]] Status {
  public:
    Status() = default;  // OK
    Status(halyard_status code, std::string message) : mCode(code), mMessage(std::move(message)) {}

    bool ok() const { return mCode == HALYARD_OK; }
    halyard_status code() const { return mCode; }
    const std::string& message() const { return mMessage; }  // empty where it is OK

  private:
    halyard_status mCode = HALYARD_OK;
    std::string mMessage;
};

// A value, or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
  public:
    Result(T value) : mValue(std::move(value)) {}
    Result(Status status) : mStatus(std::move(status)) {}

    bool ok() const { return mValue.has_value(); }
    const Status& status() const { return mStatus; }
    // Ends the process where there is none: look at ok() before.
    T& value() & { return checked(); }
    const T& value() const& { return const_cast<Result*>(this)->checked(); }
    T&& value() && { return std::move(checked()); }
    T& operator*() & { return checked(); }
    T&& operator*() && { return std::move(checked()); }
    T* operator->() { return &checked(); }

  private:
    T& checked() {
        if (!mValue.has_value()) {
            std::abort();
        }
        return *mValue;
    }

    Status mStatus;
    std::optional<T> mValue;
};

namespace detail {

template <typename Call>
Status statusOf(Call call) {
    halyard_message message = {};
    const halyard_status code = call(&message);
    return code == HALYARD_OK ? Status() : Status(code, message.text);
}

template <typename Options>
Options sized() {
    Options options = {};
    options.struct_size = sizeof options;
    return options;
}

inline halyard_shape shapeOf(std::span<const int32_t> extents) {
    halyard_shape shape = {};
    // One that is too long is refused by its rank.
    shape.rank = static_cast<int32_t>(extents.size());
    for (size_t i = 0; i < extents.size() && i < HALYARD_MAX_RANK; ++i) {
        shape.extents[i] = extents[i];
    }
    return shape;
}

inline uint64_t countOf(std::chrono::nanoseconds time) {
    return time.count() > 0 ? static_cast<uint64_t>(time.count()) : 0;
}

}  // namespace detail

// ---- Runtime ------------------------------------------------------------------------------------

struct RuntimeOptions {
    std::string backends = "CpuAcc";
    std::string backendDirectory = {};
    uint32_t permissions = 0;
    std::function<void(int32_t level, std::string_view line)> log = nullptr;
    int32_t logLevel = HALYARD_LOG_INFO;
    uint32_t threads = 1;
    std::optional<halyard_executor> executor = std::nullopt;  // `threads` does not count then
    uint64_t memoryLimit = 0;
};

class Memory;

class Runtime {
  public:
    static Result<Runtime> create(RuntimeOptions options = {}) {
        Runtime runtime;
        halyard_runtime_options plain = detail::sized<halyard_runtime_options>();
        plain.backends = options.backends.c_str();
        plain.backend_directory =
                options.backendDirectory.empty() ? nullptr : options.backendDirectory.c_str();
        plain.permissions = options.permissions;
        plain.log_level = options.logLevel;
        plain.memory_limit = options.memoryLimit;
        if (options.executor.has_value()) {
            plain.executor = &*options.executor;
        } else {
            plain.threads = options.threads;
        }
        if (options.log != nullptr) {
            runtime.mLog = std::make_shared<Log>(std::move(options.log));
            plain.log = [](void* context, int32_t level, const char* line) {
                (*static_cast<const Log*>(context))(level, line);
            };
            plain.log_context = runtime.mLog.get();
        }
        halyard_runtime* handle = nullptr;
        Status status = detail::statusOf([&](halyard_message* message) {
            return halyard_runtime_create(&plain, &handle, message);
        });
        if (!status.ok()) {
            return status;
        }
        runtime.mHandle.reset(handle);
        return runtime;
    }

    halyard_runtime* get() const { return mHandle.get(); }
    // In order of preference.
    std::vector<std::string> backends() const {
        std::vector<std::string> names;
        while (const char* const name = halyard_runtime_backend(get(), names.size())) {
            names.emplace_back(name);
        }
        return names;
    }

  private:
    friend class Memory;
    friend class Program;
    using Log = std::function<void(int32_t, std::string_view)>;
    struct Release {
        void operator()(halyard_runtime* handle) const { halyard_runtime_release(handle); }
    };
    std::shared_ptr<Log> mLog;  // programs keep it, too
    std::unique_ptr<halyard_runtime, Release> mHandle;
};

// ---- Memory -------------------------------------------------------------------------------------

class Memory {
  public:
    // Bytes of the caller's, used where they lie until `owner` is let go of: when this and all that
    // names it are gone. Null: they outlive that.
    static Result<Memory> borrow(std::span<std::byte> bytes,
                                 std::shared_ptr<const void> owner = nullptr) {
        auto kept = std::make_unique<std::shared_ptr<const void>>(std::move(owner));
        Result<Memory> memory = make([&](halyard_memory** handle, halyard_message* message) {
            return halyard_memory_borrow(
                    bytes.data(), bytes.size(),
                    [](void* each) { delete static_cast<std::shared_ptr<const void>*>(each); },
                    kept.get(), handle, message);
        });
        if (memory.ok()) {
            static_cast<void>(kept.release());
        }
        return memory;
    }
    // A buffer on the device of one of the runtime's backends: "GpuAcc".
    static Result<Memory> create(const Runtime& runtime, const char* backend, size_t size) {
        Result<Memory> memory = make([&](halyard_memory** handle, halyard_message* message) {
            return halyard_memory_create(runtime.get(), backend, size, handle, message);
        });
        if (memory.ok()) {
            memory->mLog = runtime.mLog;
        }
        return memory;
    }

    Status write(std::span<const std::byte> bytes, size_t offset = 0) {
        return detail::statusOf([&](halyard_message* message) {
            return halyard_memory_write(get(), offset, bytes.data(), bytes.size(), message);
        });
    }
    Status read(std::span<std::byte> bytes, size_t offset = 0) const {
        return detail::statusOf([&](halyard_message* message) {
            return halyard_memory_read(get(), offset, bytes.data(), bytes.size(), message);
        });
    }
    size_t size() const { return halyard_memory_size(get()); }
    halyard_memory* get() const { return mHandle.get(); }

  private:
    struct Release {
        void operator()(halyard_memory* handle) const { halyard_memory_release(handle); }
    };

    template <typename Make>
    static Result<Memory> make(Make call) {
        Memory memory;
        halyard_memory* handle = nullptr;
        Status status =
                detail::statusOf([&](halyard_message* message) { return call(&handle, message); });
        if (!status.ok()) {
            return status;
        }
        memory.mHandle.reset(handle);
        return memory;
    }

    std::shared_ptr<std::function<void(int32_t, std::string_view)>> mLog;
    std::unique_ptr<halyard_memory, Release> mHandle;
};

// `size` bytes of a memory, which outlives the call that they are given to.
struct MemoryRange {
    const Memory* memory = nullptr;
    size_t offset = 0;
    size_t size = 0;
};

// ---- Graph --------------------------------------------------------------------------------------

using Tensor = uint32_t;
inline constexpr Tensor kNoTensor = HALYARD_NO_TENSOR;

struct TensorType {
    const char* type = "FLOAT32";
    std::vector<int32_t> shape = {};
    float scale = 0.0F;
    int32_t zeroPoint = 0;
    std::vector<float> channelScales = {};
    uint32_t channelDim = 0;
    bool rankKnown = true;  // false: `shape` does not count
};

class Graph;

// {"activation", "RELU"}, {"window.strideH", 2}, {"keepDims", true}, {"beta", 1.0}.
struct Attribute {
    const char* name;
    halyard_attribute plain;

    Attribute(const char* theName, bool value) : Attribute(theName, HALYARD_BOOL, 0) {
        plain.integer = value ? 1 : 0;
    }
    Attribute(const char* theName, int value) : Attribute(theName, HALYARD_INTEGER, 0) {
        plain.integer = value;
    }
    Attribute(const char* theName, double value) : Attribute(theName, HALYARD_REAL, 0) {
        plain.real = value;
    }
    Attribute(const char* theName, const char* value) : Attribute(theName, HALYARD_WORD, 0) {
        plain.word = value;
    }
    Attribute(const char* theName, const Graph& value);

  private:
    Attribute(const char* theName, int32_t kind, int /*made here*/) : name(theName), plain() {
        plain.name = theName;
        plain.kind = kind;
    }
};

class Graph {
  public:
    static Result<Graph> create() {
        halyard_graph* handle = nullptr;
        Status status = detail::statusOf(
                [&](halyard_message* message) { return halyard_graph_create(&handle, message); });
        if (!status.ok()) {
            return status;
        }
        return Graph(handle);
    }

    // Of a .tflite file, whose bytes are copied.
    static Result<Graph> importTflite(std::span<const std::byte> file) {
        halyard_constant bytes = detail::sized<halyard_constant>();
        bytes.data = file.data();
        bytes.size = file.size();
        halyard_graph* handle = nullptr;
        Status status = detail::statusOf([&](halyard_message* message) {
            return halyard_graph_import_tflite(&bytes, &handle, message);
        });
        if (!status.ok()) {
            return status;
        }
        return Graph(handle);
    }

    Result<Tensor> addTensor(const TensorType& type, const char* name = nullptr) {
        const halyard_tensor_options options = optionsOf(type, name);
        Tensor tensor = kNoTensor;
        Status status = detail::statusOf([&](halyard_message* message) {
            return halyard_graph_add_tensor(get(), &options, &tensor, message);
        });
        return status.ok() ? Result<Tensor>(tensor) : Result<Tensor>(std::move(status));
    }
    // Of which a copy is taken.
    template <typename T>
    Result<Tensor> addConstant(const TensorType& type, std::span<const T> elements,
                               const char* name = nullptr) {
        return addConstant(type, std::as_bytes(elements), nullptr, nullptr, nullptr, name);
    }
    // Used where they lie in a borrowed memory, which graphs and programs keep.
    template <typename T>
    Result<Tensor> addConstant(const TensorType& type, std::span<const T> elements,
                               const Memory& memory, const char* name = nullptr) {
        return addConstant(type, std::as_bytes(elements), nullptr, nullptr, memory.get(), name);
    }
    // Used where they lie, until `owner` is let go of.
    template <typename T>
    Result<Tensor> addConstant(const TensorType& type, std::span<const T> elements,
                               std::shared_ptr<const void> owner, const char* name = nullptr) {
        auto kept = std::make_unique<std::shared_ptr<const void>>(std::move(owner));
        Result<Tensor> added = addConstant(
                type, std::as_bytes(elements),
                [](void* each) { delete static_cast<std::shared_ptr<const void>*>(each); },
                kept.get(), nullptr, name);
        if (added.ok()) {
            static_cast<void>(kept.release());
        }
        return added;
    }
    Status addNode(const char* kind, std::initializer_list<Attribute> attributes,
                   std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                   const char* label = nullptr) {
        std::vector<halyard_attribute> plain;
        for (const Attribute& attribute : attributes) {
            plain.push_back(attribute.plain);
        }
        halyard_node node = detail::sized<halyard_node>();
        node.kind = kind;
        node.attributes = plain.data();
        node.attribute_count = plain.size();
        node.inputs = inputs.data();
        node.input_count = inputs.size();
        node.outputs = outputs.data();
        node.output_count = outputs.size();
        node.label = label;
        return detail::statusOf([&](halyard_message* message) {
            return halyard_graph_add_node(get(), &node, message);
        });
    }
    Status addNode(const char* kind, std::initializer_list<Attribute> attributes,
                   std::initializer_list<Tensor> inputs, std::initializer_list<Tensor> outputs,
                   const char* label = nullptr) {
        return addNode(kind, attributes, std::span(inputs.begin(), inputs.size()),
                       std::span(outputs.begin(), outputs.size()), label);
    }
    Status setInputs(std::initializer_list<Tensor> tensors) {
        return detail::statusOf([&](halyard_message* message) {
            return halyard_graph_set_inputs(get(), tensors.begin(), tensors.size(), message);
        });
    }
    Status setOutputs(std::initializer_list<Tensor> tensors) {
        return detail::statusOf([&](halyard_message* message) {
            return halyard_graph_set_outputs(get(), tensors.begin(), tensors.size(), message);
        });
    }

    halyard_graph* get() const { return mHandle.get(); }

  private:
    struct Release {
        void operator()(halyard_graph* handle) const { halyard_graph_release(handle); }
    };

    explicit Graph(halyard_graph* handle) : mHandle(handle) {}

    static halyard_tensor_options optionsOf(const TensorType& type, const char* name) {
        halyard_tensor_options options = detail::sized<halyard_tensor_options>();
        options.type = type.type;
        options.shape = detail::shapeOf(type.shape);
        options.shape.rank = type.rankKnown ? options.shape.rank : -1;
        options.scale = type.scale;
        options.zero_point = type.zeroPoint;
        options.channel_scales = type.channelScales.data();
        options.channel_scale_count = type.channelScales.size();
        options.channel_dim = type.channelDim;
        options.name = name;
        return options;
    }
    Result<Tensor> addConstant(const TensorType& type, std::span<const std::byte> bytes,
                               void (*release)(void*), void* owner, const halyard_memory* memory,
                               const char* name) {
        const halyard_tensor_options options = optionsOf(type, name);
        halyard_constant constant = detail::sized<halyard_constant>();
        constant.data = bytes.data();
        constant.size = bytes.size();
        constant.release = release;
        constant.owner = owner;
        constant.memory = memory;
        Tensor tensor = kNoTensor;
        Status status = detail::statusOf([&](halyard_message* message) {
            return halyard_graph_add_constant(get(), &options, &constant, &tensor, message);
        });
        return status.ok() ? Result<Tensor>(tensor) : Result<Tensor>(std::move(status));
    }

    std::unique_ptr<halyard_graph, Release> mHandle;
};

inline Attribute::Attribute(const char* theName, const Graph& value)
    : Attribute(theName, HALYARD_GRAPH, 0) {
    plain.graph = value.get();
}

// ---- Program ------------------------------------------------------------------------------------

struct CompileOptions {
    int32_t precision = HALYARD_FLOAT32;
    bool fastMath = false;
    bool keepGraph = false;
    std::chrono::nanoseconds timeout{0};  // 0: none
};

struct Placement {
    std::string label;
    std::string kind;
    std::string backend;
    std::string kernel;
    std::string withheld;
    std::string lostForms;
    std::vector<std::pair<std::string, std::string>> refusals;  // a backend, and why
};

class Program {
  public:
    static Result<Program> compile(const Runtime& runtime, const Graph& graph,
                                   const CompileOptions& options = {}) {
        const halyard_compile_options plain = plainOf(options);
        return make(runtime, [&](halyard_program** handle, halyard_message* message) {
            return halyard_compile(runtime.get(), graph.get(), &plain, handle, message);
        });
    }
    static Result<Program> load(const Runtime& runtime, std::span<const std::byte> bytes,
                                const CompileOptions& options = {}) {
        const halyard_compile_options plain = plainOf(options);
        return make(runtime, [&](halyard_program** handle, halyard_message* message) {
            return halyard_program_load(runtime.get(), bytes.data(), bytes.size(), &plain, handle,
                                        message);
        });
    }
    static Result<Program> load(const Runtime& runtime, int fd,
                                const CompileOptions& options = {}) {
        const halyard_compile_options plain = plainOf(options);
        return make(runtime, [&](halyard_program** handle, halyard_message* message) {
            return halyard_program_load_fd(runtime.get(), fd, &plain, handle, message);
        });
    }

    Result<std::vector<std::byte>> save() const {
        std::vector<std::byte> bytes;
        size_t size = 0;
        static_cast<void>(halyard_program_save(get(), nullptr, 0, &size, nullptr));
        bytes.resize(size);
        Status status = detail::statusOf([&](halyard_message* message) {
            return halyard_program_save(get(), bytes.data(), bytes.size(), &size, message);
        });
        return status.ok() ? Result<std::vector<std::byte>>(std::move(bytes))
                           : Result<std::vector<std::byte>>(std::move(status));
    }
    Status save(int fd) const {
        return detail::statusOf([&](halyard_message* message) {
            return halyard_program_save_fd(get(), fd, message);
        });
    }

    size_t inputCount() const { return halyard_program_input_count(get()); }
    size_t outputCount() const { return halyard_program_output_count(get()); }
    // Texts live as long as the program.
    Result<halyard_tensor_info> input(size_t index) const {
        return infoOf<halyard_tensor_info>(&halyard_program_input, index);
    }
    Result<halyard_tensor_info> output(size_t index) const {
        return infoOf<halyard_tensor_info>(&halyard_program_output, index);
    }
    // Where their elements may lie so that a run copies none.
    Result<halyard_memory_requirements> inputMemory(size_t index) const {
        return infoOf<halyard_memory_requirements>(&halyard_program_input_memory, index);
    }
    Result<halyard_memory_requirements> outputMemory(size_t index) const {
        return infoOf<halyard_memory_requirements>(&halyard_program_output_memory, index);
    }
    Result<size_t> findInput(const char* name) const {
        return indexOf(&halyard_program_find_input, name);
    }
    Result<size_t> findOutput(const char* name) const {
        return indexOf(&halyard_program_find_output, name);
    }

    std::vector<Placement> placement() const {
        std::vector<Placement> nodes;
        for (size_t i = 0; i < halyard_program_node_count(get()); ++i) {
            halyard_placement plain = detail::sized<halyard_placement>();
            if (halyard_program_placement(get(), i, &plain, nullptr) != HALYARD_OK) {
                break;
            }
            Placement node = {
                    plain.label,      plain.kind, plain.backend, plain.kernel, plain.withheld,
                    plain.lost_forms, {}};
            for (size_t j = 0; j < plain.refusal_count; ++j) {
                const char* backend = "";
                const char* reason = "";
                static_cast<void>(halyard_program_refusal(get(), i, j, &backend, &reason, nullptr));
                node.refusals.emplace_back(backend, reason);
            }
            nodes.push_back(std::move(node));
        }
        return nodes;
    }

    halyard_program* get() const { return mHandle.get(); }

  private:
    friend class Execution;
    struct Release {
        void operator()(halyard_program* handle) const { halyard_program_release(handle); }
    };

    static halyard_compile_options plainOf(const CompileOptions& options) {
        halyard_compile_options plain = detail::sized<halyard_compile_options>();
        plain.precision = options.precision;
        plain.fast_math = options.fastMath ? 1 : 0;
        plain.keep_graph = options.keepGraph ? 1 : 0;
        plain.timeout_ns = detail::countOf(options.timeout);
        return plain;
    }
    template <typename Make>
    static Result<Program> make(const Runtime& runtime, Make call) {
        Program program;
        halyard_program* handle = nullptr;
        Status status =
                detail::statusOf([&](halyard_message* message) { return call(&handle, message); });
        if (!status.ok()) {
            return status;
        }
        program.mLog = runtime.mLog;
        program.mHandle.reset(handle);
        return program;
    }
    template <typename Info, typename Function>
    Result<Info> infoOf(Function function, size_t index) const {
        Info info = detail::sized<Info>();
        Status status = detail::statusOf(
                [&](halyard_message* message) { return function(get(), index, &info, message); });
        return status.ok() ? Result<Info>(info) : Result<Info>(std::move(status));
    }
    template <typename Function>
    Result<size_t> indexOf(Function function, const char* name) const {
        size_t index = 0;
        Status status = detail::statusOf(
                [&](halyard_message* message) { return function(get(), name, &index, message); });
        return status.ok() ? Result<size_t>(index) : Result<size_t>(std::move(status));
    }

    std::shared_ptr<Runtime::Log> mLog;
    std::unique_ptr<halyard_program, Release> mHandle;
};

// ---- Execution ----------------------------------------------------------------------------------

struct Input {
    std::span<const std::byte> bytes;
    std::vector<int32_t> shape;
    std::optional<MemoryRange> range = std::nullopt;  // in place of `bytes`

    template <typename T>
    static Input of(std::span<const T> elements, std::vector<int32_t> shape) {
        return {std::as_bytes(elements), std::move(shape)};
    }
    static Input in(const MemoryRange& range, std::vector<int32_t> shape) {
        return {{}, std::move(shape), range};
    }
};

struct Output {
    std::span<std::byte> bytes;       // room, or what RunOptions::allocate gave
    std::vector<int32_t> shape = {};  // what the run found
    size_t size = 0;                  // of the elements, also where the room is too small
    std::optional<MemoryRange> range = std::nullopt;  // in place of `bytes`

    template <typename T>
    static Output of(std::span<T> room) {
        return {std::as_writable_bytes(room)};
    }
    static Output in(const MemoryRange& range) { return {{}, {}, 0, range}; }
};

struct RunOptions {
    std::chrono::nanoseconds timeout{0};  // 0: none
    bool profile = false;
    // Gives memory, which stays the caller's, to an output whose room is too small, once its shape
    // is known; null: no memory. The run's Output has it then. As halyard_allocate_function.
    std::function<void*(size_t output, std::span<const int32_t> shape, size_t size,
                        size_t alignment)>
            allocate = nullptr;
};

class Execution {
  public:
    static Result<Execution> create(const Program& program) {
        Execution execution;
        halyard_execution* handle = nullptr;
        Status status = detail::statusOf([&](halyard_message* message) {
            return halyard_execution_create(program.get(), &handle, message);
        });
        if (!status.ok()) {
            return status;
        }
        execution.mLog = program.mLog;
        execution.mHandle.reset(handle);
        return execution;
    }

    Status run(std::span<const Input> inputs, std::span<Output> outputs,
               const RunOptions& options = {}) {
        mInputs.clear();
        mBindings.clear();
        for (const Input& input : inputs) {
            mInputs.push_back({input.bytes.data(), sizeOf(input), detail::shapeOf(input.shape)});
            mBindings.push_back(bindingOf(input.range));
        }
        mOutputs.clear();
        for (const Output& output : outputs) {
            halyard_output plain = {};
            plain.data = output.bytes.data();
            plain.capacity = sizeOf(output);
            mOutputs.push_back(plain);
            mBindings.push_back(bindingOf(output.range));
        }
        halyard_run_options plain = detail::sized<halyard_run_options>();
        plain.timeout_ns = detail::countOf(options.timeout);
        plain.profile = options.profile ? 1 : 0;
        plain.input_bindings = mBindings.data();
        plain.output_bindings = mBindings.data() + inputs.size();
        if (options.allocate != nullptr) {
            plain.allocate_output = [](void* context, size_t output, const halyard_shape* shape,
                                       size_t size, size_t alignment) {
                const auto& allocate = static_cast<const RunOptions*>(context)->allocate;
                return allocate(output, {shape->extents, static_cast<size_t>(shape->rank)}, size,
                                alignment);
            };
            plain.allocate_context = const_cast<RunOptions*>(&options);
        }
        Status status = detail::statusOf([&](halyard_message* message) {
            return halyard_execution_run(get(), mInputs.data(), mInputs.size(), mOutputs.data(),
                                         mOutputs.size(), &plain, message);
        });
        for (size_t i = 0; i < outputs.size(); ++i) {
            const int32_t* const extents = mOutputs[i].shape.extents;
            outputs[i].shape.assign(
                    extents, extents + (mOutputs[i].shape.rank > 0 ? mOutputs[i].shape.rank : 0));
            outputs[i].size = mOutputs[i].size;
            if (!outputs[i].range.has_value() || mOutputs[i].data != nullptr) {
                outputs[i].bytes = {static_cast<std::byte*>(mOutputs[i].data),
                                    mOutputs[i].capacity};
            }
        }
        return status;
    }
    // Any thread.
    void cancel() { halyard_execution_cancel(get()); }
    halyard_run_report report() const {
        halyard_run_report report = detail::sized<halyard_run_report>();
        static_cast<void>(halyard_execution_report(get(), &report, nullptr));
        return report;
    }
    // Texts live until the next run.
    std::vector<halyard_node_profile> profile() const {
        std::vector<halyard_node_profile> lines;
        for (size_t i = 0; i < halyard_execution_profile_count(get()); ++i) {
            lines.push_back(detail::sized<halyard_node_profile>());
            static_cast<void>(halyard_execution_profile(get(), i, &lines.back(), nullptr));
        }
        return lines;
    }

    halyard_execution* get() const { return mHandle.get(); }

  private:
    struct Release {
        void operator()(halyard_execution* handle) const { halyard_execution_release(handle); }
    };

    static size_t sizeOf(const auto& argument) {
        return argument.range.has_value() ? argument.range->size : argument.bytes.size();
    }
    static halyard_binding bindingOf(const std::optional<MemoryRange>& range) {
        return range.has_value() ? halyard_binding{range->memory->get(), range->offset}
                                 : halyard_binding{};
    }

    std::shared_ptr<std::function<void(int32_t, std::string_view)>> mLog;
    std::vector<halyard_input> mInputs;
    std::vector<halyard_output> mOutputs;
    std::vector<halyard_binding> mBindings;  // of inputs, then of outputs
    std::unique_ptr<halyard_execution, Release> mHandle;
};

}  // namespace halyard
