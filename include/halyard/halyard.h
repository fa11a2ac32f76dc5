/* SPDX-License-Identifier: Apache-2.0
 *
 * Halyard's engine inside a program: graphs are built, compiled for backends, saved, loaded and run
 * (docs/library.md). Plain C; halyard/halyard.hpp is the same for C++20.
 *
 * Objects. A runtime has backends, threads and a log; a graph has tensors and nodes; a program is a
 * graph compiled on a runtime; an execution is the memory for running a program once at a time; a
 * memory is bytes of the caller's or a buffer on a device, for constants, inputs and outputs.
 * Each is made by a function that writes a handle and ended by its *_release(), which takes null. A
 * handle keeps what it was made of: they may be released in any order.
 *
 * Ownership. What a function is handed it reads during the call only, unless it says otherwise.
 * Texts and arrays that a function gives belong to the object that was asked, and live as long.
 *
 * Threads. Runtimes and programs may be used from any number of threads at once. A graph and an
 * execution belong to one thread at a time; halyard_execution_cancel() alone may be called from
 * any. Callbacks come on the threads that this header names, and must not let exceptions out.
 *
 * Errors. A function that can fail returns a halyard_status and, where `message` is not null,
 * writes why, naming the argument, node or tensor that is to blame; it writes an empty text on
 * success. What it would have written to other pointers is left alone on failure, unless said
 * otherwise. No argument ends the process, but for pointers that do not point to what they should.
 *
 * Structs with options begin with `struct_size`, which is sizeof of the struct as the caller was
 * compiled. A size smaller than this header's first version is refused as INVALID_ARGUMENT; of a
 * larger one what is known is read, and what is beyond has to be zeros: UNSUPPORTED otherwise. A
 * struct all of zeros but for its size asks for the defaults. Structs that a function fills are cut
 * off at the caller's size in the same way.
 *
 * Units. Sizes are bytes, times are nanoseconds. Elements are dense, row-major, in the processor's
 * byte order. */

#pragma once

#include <stddef.h>
#include <stdint.h>

#include "halyard/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HALYARD_API __attribute__((visibility("default")))

typedef struct halyard_runtime halyard_runtime;
typedef struct halyard_graph halyard_graph;
typedef struct halyard_program halyard_program;
typedef struct halyard_execution halyard_execution;
typedef struct halyard_memory halyard_memory;

/* "0.1.0". */
HALYARD_API const char* halyard_version(void);
/* "INVALID_ARGUMENT"; "unknown" for a number that is no status. */
HALYARD_API const char* halyard_status_name(halyard_status status);
/* The backends that this build knows ("CpuRef"), by index; null from their number on. */
HALYARD_API const char* halyard_known_backend(size_t index);
/* The kinds of nodes ("Conv2d"), by index; null from their number on. */
HALYARD_API const char* halyard_node_kind(size_t index);

/* ---- Runtime --------------------------------------------------------------------------------- */

enum {
    HALYARD_LOG_VERBOSE = 0,
    HALYARD_LOG_INFO = 1,
    HALYARD_LOG_WARNING = 2,
    HALYARD_LOG_ERROR = 3,
    HALYARD_LOG_SILENT = 4
};

/* One line, without its end. On any thread that calls the library or computes for it, several at
 * once. It may not call the library. */
typedef void (*halyard_log_function)(void* context, int32_t level, const char* line);

/* Not 0: what is under way ends, with HALYARD_STOPPED. Asked every few milliseconds, on any thread
 * that computes for the call. */
typedef int32_t (*halyard_stop_function)(void* context);

/* Part of a loop; called by an executor. Lasts some 10 microseconds to some milliseconds. */
typedef void (*halyard_task_function)(void* data, size_t index, size_t worker);

/* Threads of the program's own. execute() calls task(data, i, worker) once for each i in [0, tasks)
 * on any threads, the calling one among them or not, in any order, and returns when all calls have
 * returned. `worker` is below `threads`; two calls at once never have the same. What was written
 * before execute() is visible in the tasks, and what they wrote is where it returns. `tasks` is 64
 * at most. It may be called from several threads at once, for several executions; never from inside
 * a task. An executor that calls a task twice or not at all, or names another worker, fails the run
 * with HALYARD_FAILED. */
typedef struct halyard_executor {
    void (*execute)(void* context, halyard_task_function task, void* data, size_t tasks);
    void* context;    /* outlives the runtime and all that was made with it */
    uint32_t threads; /* 1 to 64 */
    uint32_t reserved;
} halyard_executor;

/* As many threads as the calling thread may use cores. */
#define HALYARD_ALL_CORES UINT32_MAX

/* Actions on the process that the library takes only where they are permitted. */
enum {
    /* Asks Linux to permit AMX's tiles to the whole process, for good: threads whose alternate
     * signal stack is small are refused such stacks afterwards. Without it CpuAcc goes without
     * avx512amx, and placements say so. */
    HALYARD_PERMIT_TILES = 1,
    /* GpuAcc compiles in processes of its own, by fork(), so that a compiler that hangs or dies
     * takes nothing with it. Without it GpuAcc compiles in this process. */
    HALYARD_PERMIT_PROCESSES = 2
};

typedef struct halyard_runtime_options {
    uint32_t struct_size;
    uint32_t permissions; /* HALYARD_PERMIT_... */
    /* In order of preference, with commas between and options behind colons:
     * "GpuAcc,CpuAcc:features=avx2" (docs/backends.md). CpuRef, which runs every node, comes last
     * where it is not named. Null: "CpuAcc". One that this machine lacks is left out, with a
     * warning in the log. */
    const char* backends;
    /* A folder of backends in shared libraries (halyard/backend.h), which can be named too. Null:
     * none. */
    const char* backend_directory;
    halyard_log_function log; /* null: lines go nowhere, and not to stderr */
    void* log_context;        /* outlives the runtime and all that was made with it */
    int32_t log_level;        /* lines below are left out; 0: all */
    /* Of a pool of the runtime's own, the thread that runs counted in: 0 and 1 make none. Ends with
     * the last handle that was made with the runtime. */
    uint32_t threads;
    const halyard_executor* executor; /* in place of a pool; copied. Null: none */
    uint64_t memory_limit;            /* of all programs and executions together; 0: none */
} halyard_runtime_options;

/* `options`: null for the defaults. INVALID_ARGUMENT for a backend that there is not, or options
 * that it does not take. */
HALYARD_API halyard_status halyard_runtime_create(const halyard_runtime_options* options,
                                                  halyard_runtime** runtime,
                                                  halyard_message* message);
HALYARD_API void halyard_runtime_release(halyard_runtime* runtime);
/* Its backends in order of preference, by index; null from their number on. */
HALYARD_API const char* halyard_runtime_backend(const halyard_runtime* runtime, size_t index);

/* ---- Memory ---------------------------------------------------------------------------------- */

/* Bytes of the caller's, used where they lie by the constants, inputs and outputs that name the
 * memory. Until release(owner) the bytes stay, and those of constants as they are; it is called
 * once, on any thread, when the handle is released and no graph, program or run needs them. `size`
 * may be 0. `release`: null where they outlive all of that. Not called where the function fails. */
HALYARD_API halyard_status halyard_memory_borrow(void* data, size_t size,
                                                 void (*release)(void* owner), void* owner,
                                                 halyard_memory** memory, halyard_message* message);
/* A buffer of the device that one of the runtime's backends computes on ("GpuAcc"), for inputs and
 * outputs: what one program leaves there, another reads, and no byte comes to the host. `size` > 0;
 * the content is undefined. UNSUPPORTED for backends that compute in the host's memory. */
HALYARD_API halyard_status halyard_memory_create(const halyard_runtime* runtime,
                                                 const char* backend, size_t size,
                                                 halyard_memory** memory, halyard_message* message);
HALYARD_API void halyard_memory_release(halyard_memory* memory);
HALYARD_API size_t halyard_memory_size(const halyard_memory* memory);
/* Copies bytes to or from the caller's `data`; any thread, but not while a run uses the same bytes
 * and one of the two writes. Returns when they are there. */
HALYARD_API halyard_status halyard_memory_write(halyard_memory* memory, size_t offset,
                                                const void* data, size_t size,
                                                halyard_message* message);
HALYARD_API halyard_status halyard_memory_read(const halyard_memory* memory, size_t offset,
                                               void* data, size_t size, halyard_message* message);

/* ---- Graph ----------------------------------------------------------------------------------- */

/* Stands for an input of a node that is left out. */
#define HALYARD_NO_TENSOR UINT32_MAX

typedef struct halyard_tensor_options {
    uint32_t struct_size;
    /* The dimension that channel_scales go along. */
    uint32_t channel_dim;
    /* FLOAT32, FLOAT16, INT32, BOOL8, QUANT8_ASYMM (uint8), QUANT8_ASYMM_SIGNED, QUANT8_SYMM,
     * QUANT8_SYMM_PER_CHANNEL (int8), QUANT16_SYMM (int16), QUANT16_ASYMM (uint16). */
    const char* type;
    halyard_shape shape; /* extents of -1 and rank -1: not known before a run */
    float scale;         /* real = scale * (element - zero_point) */
    int32_t zero_point;
    const float* channel_scales; /* of QUANT8_SYMM_PER_CHANNEL alone: one for each index */
    size_t channel_scale_count;
    const char* name; /* for people, and to find inputs and outputs by; null: none */
} halyard_tensor_options;

typedef struct halyard_constant {
    uint32_t struct_size;
    uint32_t reserved;
    const void* data;
    size_t size; /* what type and shape ask for */
    /* Null: the bytes are copied. Otherwise they are used where they lie, and stay as they are
     * until release(owner), which is called once, on any thread, when no graph and no program needs
     * them; at once where they had to be copied, since they are not aligned to their element. Not
     * called where the function fails. */
    void (*release)(void* owner);
    void* owner;
    /* In place of the two: `data` lies in this borrowed memory, which graphs and programs keep for
     * as long. Null: none. */
    const halyard_memory* memory;
} halyard_constant;

/* A value of one of a kind's attributes. Names are those of the fields of its descriptor in
 * engine/graph/nodes.h, with dots between those of a struct inside: "window.strideH"; the refusal
 * of another name lists them all. */
enum {
    HALYARD_BOOL = 0,    /* integer: 0 or 1 */
    HALYARD_INTEGER = 1, /* integer */
    HALYARD_REAL = 2,    /* real */
    HALYARD_WORD = 3,    /* word: an enumerator, "RELU6" */
    HALYARD_GRAPH = 4    /* graph: one inside the node, of which a copy is taken */
};
typedef struct halyard_attribute {
    const char* name;
    int32_t kind; /* which of the members below counts */
    int32_t reserved;
    int64_t integer;
    double real;
    const char* word;
    const halyard_graph* graph;
} halyard_attribute;

typedef struct halyard_node {
    uint32_t struct_size;
    uint32_t reserved;
    const char* kind;                    /* "Conv2d" */
    const halyard_attribute* attributes; /* those left out have their defaults */
    size_t attribute_count;
    const uint32_t* inputs; /* tensors, or HALYARD_NO_TENSOR */
    size_t input_count;
    const uint32_t* outputs;
    size_t output_count;
    const char* label; /* what messages, placements and profiles call it; null: by its number */
} halyard_node;

/* Never fails but for memory. */
HALYARD_API halyard_status halyard_graph_create(halyard_graph** graph, halyard_message* message);
HALYARD_API void halyard_graph_release(halyard_graph* graph);
/* A tensor that a node computes or that a run is given; its number goes to `tensor`. */
HALYARD_API halyard_status halyard_graph_add_tensor(halyard_graph* graph,
                                                    const halyard_tensor_options* options,
                                                    uint32_t* tensor, halyard_message* message);
HALYARD_API halyard_status halyard_graph_add_constant(halyard_graph* graph,
                                                      const halyard_tensor_options* options,
                                                      const halyard_constant* constant,
                                                      uint32_t* tensor, halyard_message* message);
/* Nodes are added in an order in which they can be run. Names and tensor numbers are looked at
 * here, shapes and types by halyard_compile(). */
HALYARD_API halyard_status halyard_graph_add_node(halyard_graph* graph, const halyard_node* node,
                                                  halyard_message* message);
/* The tensors that every run is given, and those that it gives, in the order of a run's. */
HALYARD_API halyard_status halyard_graph_set_inputs(halyard_graph* graph, const uint32_t* tensors,
                                                    size_t count, halyard_message* message);
HALYARD_API halyard_status halyard_graph_set_outputs(halyard_graph* graph, const uint32_t* tensors,
                                                     size_t count, halyard_message* message);
/* Not 0: FLOAT32 may be computed with float16's range and precision. */
HALYARD_API halyard_status halyard_graph_set_relaxed(halyard_graph* graph, int32_t relaxed,
                                                     halyard_message* message);

/* A new graph of the main subgraph of a .tflite file, whose bytes `file` has as a constant has its
 * own. Inputs and outputs are those of the file, by their names and with its shapes, where an
 * extent that may change is 1 as a rule; a variable tensor is an input and an output behind all
 * others, which the caller carries from run to run, zeros first. UNSUPPORTED names the first
 * operator that the engine can't express, and why. */
HALYARD_API halyard_status halyard_graph_import_tflite(const halyard_constant* file,
                                                       halyard_graph** graph,
                                                       halyard_message* message);

/* ---- Program --------------------------------------------------------------------------------- */

enum { HALYARD_FLOAT32 = 0, HALYARD_FLOAT16 = 1, HALYARD_BFLOAT16 = 2 };

typedef struct halyard_compile_options {
    uint32_t struct_size;
    int32_t precision;   /* what FLOAT32 is computed as; BFLOAT16: its weights alone */
    int32_t fast_math;   /* not 0: results may be farther off where that is faster */
    int32_t keep_graph;  /* not 0: the graph is built as it is, without the optimiser's passes */
    uint64_t timeout_ns; /* DEADLINE_EXCEEDED after that; 0: none */
    halyard_stop_function should_stop; /* null: none */
    void* stop_context;
} halyard_compile_options;

/* Compiles a copy of the graph; null options are the defaults. INVALID_ARGUMENT names the node or
 * tensor that breaks a rule; UNSUPPORTED the first node that no backend takes. */
HALYARD_API halyard_status halyard_compile(const halyard_runtime* runtime,
                                           const halyard_graph* graph,
                                           const halyard_compile_options* options,
                                           halyard_program** program, halyard_message* message);
HALYARD_API void halyard_program_release(halyard_program* program);

/* Saves the compiled program, which loads in less time than compiling takes: the graph, the
 * placement of nodes, packed constants. For the same version of the library, backends and
 * processor; halyard_program_load() gives UNSUPPORTED elsewhere. The first form writes `*size`
 * bytes to `data`, which has room for `capacity`: OUTPUT_TOO_SMALL where that is less, with nothing
 * written but `*size`. */
HALYARD_API halyard_status halyard_program_save(const halyard_program* program, void* data,
                                                size_t capacity, size_t* size,
                                                halyard_message* message);
/* Writes from the descriptor's position on; it stays open, and the caller's. */
HALYARD_API halyard_status halyard_program_save_fd(const halyard_program* program, int fd,
                                                   halyard_message* message);
/* The bytes are copied and checked: INVALID_ARGUMENT where they are not whole, as they were
 * written. fast_math has to be what it was compiled with; precision and keep_graph are not looked
 * at. */
HALYARD_API halyard_status halyard_program_load(const halyard_runtime* runtime, const void* data,
                                                size_t size, const halyard_compile_options* options,
                                                halyard_program** program,
                                                halyard_message* message);
/* Reads from the descriptor's position to its end; it stays open, and the caller's. */
HALYARD_API halyard_status halyard_program_load_fd(const halyard_runtime* runtime, int fd,
                                                   const halyard_compile_options* options,
                                                   halyard_program** program,
                                                   halyard_message* message);

typedef struct halyard_tensor_info {
    uint32_t struct_size;
    int32_t zero_point;
    const char* name; /* empty: none */
    const char* type;
    halyard_shape shape; /* -1 where only a run tells */
    float scale;
    /* Where data of a run begins at a multiple of it and takes `shape`'s size at least, a processor
     * reads and writes it in place: no byte is copied (halyard_program_input_memory()). */
    uint32_t alignment;
    size_t size; /* 0 where only a run tells */
} halyard_tensor_info;

HALYARD_API size_t halyard_program_input_count(const halyard_program* program);
HALYARD_API size_t halyard_program_output_count(const halyard_program* program);
HALYARD_API halyard_status halyard_program_input(const halyard_program* program, size_t index,
                                                 halyard_tensor_info* info,
                                                 halyard_message* message);
HALYARD_API halyard_status halyard_program_output(const halyard_program* program, size_t index,
                                                  halyard_tensor_info* info,
                                                  halyard_message* message);
/* The index of the first of that name. */
HALYARD_API halyard_status halyard_program_find_input(const halyard_program* program,
                                                      const char* name, size_t* index,
                                                      halyard_message* message);
HALYARD_API halyard_status halyard_program_find_output(const halyard_program* program,
                                                       const char* name, size_t* index,
                                                       halyard_message* message);

/* Where the elements of an input or output may lie. */
enum {
    HALYARD_HOME_POINTER = 1, /* memory of the process, which the caller alone writes to */
    HALYARD_HOME_SHARED = 2,  /* the same of a descriptor that is mapped, which others may write to
                                 during a run */
    HALYARD_HOME_DEVICE = 4   /* a buffer of `device`, by halyard_memory_create() */
};
typedef struct halyard_memory_requirements {
    uint32_t struct_size;
    /* Those from where a run reads or writes them in place, with no byte copied. From every other
     * home a run takes a copy, which copied_bytes of its report counts: none refuses a binding. */
    uint32_t homes;
    uint64_t alignment; /* of an address, to be used in place */
    uint64_t padding;   /* bytes behind the elements that a run may read and, of an output, write */
    const char* device; /* the backend whose buffers are free of copies; empty: none's are */
    uint64_t device_alignment; /* of an offset in one, which has to be a multiple of it */
} halyard_memory_requirements;
HALYARD_API halyard_status halyard_program_input_memory(const halyard_program* program,
                                                        size_t index,
                                                        halyard_memory_requirements* requirements,
                                                        halyard_message* message);
HALYARD_API halyard_status halyard_program_output_memory(const halyard_program* program,
                                                         size_t index,
                                                         halyard_memory_requirements* requirements,
                                                         halyard_message* message);

/* Where one node of the program runs. Nodes are those that the passes have left. */
typedef struct halyard_placement {
    uint32_t struct_size;
    uint32_t partition; /* nodes of one partition run together */
    const char* label;
    const char* kind;
    const char* backend; /* "planner": If and While */
    const char* kernel;  /* empty where its backend does not tell */
    /* Kernels that the backend goes without since the runtime does not permit what they take, and
     * why; empty: none. */
    const char* withheld;
    size_t refusal_count; /* of the backends that were asked before */
    /* Forms of the kernel that lost the choice, each with its reason: "float GEMM: costs 900
     * cycles, and the Winograd F(2x2) 500; int8 GEMM on AMX: ...". Empty where there was none. */
    const char* lost_forms;
} halyard_placement;

HALYARD_API size_t halyard_program_node_count(const halyard_program* program);
HALYARD_API halyard_status halyard_program_placement(const halyard_program* program, size_t node,
                                                     halyard_placement* placement,
                                                     halyard_message* message);
/* Which backend refused a node, and why. */
HALYARD_API halyard_status halyard_program_refusal(const halyard_program* program, size_t node,
                                                   size_t index, const char** backend,
                                                   const char** reason, halyard_message* message);

/* ---- Execution ------------------------------------------------------------------------------- */

/* Its layout stays what it is, as those of the two structs below. */
typedef struct halyard_input {
    const void* data;
    size_t size;         /* as much as type and shape ask for, at least */
    halyard_shape shape; /* all known; rank -1: the input is left out */
} halyard_input;

typedef struct halyard_output {
    void* data;       /* room for the output; its bytes are undefined after a failure */
    size_t capacity;  /* of it; 0 where allocate_output is to give it, and `data` is null then */
    int32_t unwanted; /* not 0: the output is not asked for, and the rest means nothing */
    int32_t reserved;
    /* The shape that the run found; also with OUTPUT_TOO_SMALL. Rank -1 after other failures. */
    halyard_shape shape;
    size_t size; /* what the elements take; more than `capacity`: it was too small */
} halyard_output;

/* Gives memory to an output that is wanted and whose `capacity` is too small for it: `size` bytes
 * at a multiple of `alignment`, which no input and no other output of the run has. Called on the
 * thread that called halyard_execution_run(), once for each such output, when its shape is known:
 * the program does not run twice. The memory stays the caller's; where it was given, the
 * output's entry has it as `data` with `size` as `capacity`, also when the run fails later. Null
 * ends the run with RESOURCE_EXHAUSTED; memory that is misaligned or overlaps with
 * INVALID_ARGUMENT. It may call the library, but for the execution that is running, which it may
 * cancel. */
typedef void* (*halyard_allocate_function)(void* context, size_t index, const halyard_shape* shape,
                                           size_t size, size_t alignment);

/* Has an input or output lie in a memory: `size` or `capacity` bytes from the offset on. */
typedef struct halyard_binding {
    halyard_memory* memory; /* null: where `data` says, which does not count otherwise */
    size_t offset;          /* in a device's buffer a multiple of device_alignment */
} halyard_binding;

typedef struct halyard_run_options {
    uint32_t struct_size;
    int32_t profile;                   /* not 0: times each node, for halyard_execution_profile() */
    uint64_t timeout_ns;               /* DEADLINE_EXCEEDED after that; 0: none */
    uint64_t loop_timeout_ns;          /* what each While may take; 0: two seconds */
    halyard_stop_function should_stop; /* null: none */
    void* stop_context;
    /* Null: an output whose capacity is too small is OUTPUT_TOO_SMALL. */
    halyard_allocate_function allocate_output;
    void* allocate_context; /* it is not asked for outputs that are bound to a device's buffer */
    const halyard_binding* input_bindings;  /* as many as inputs; null: all inputs have `data` */
    const halyard_binding* output_bindings; /* the same of the outputs */
} halyard_run_options;

/* Fails as its backends do, for memory or devices. */
HALYARD_API halyard_status halyard_execution_create(const halyard_program* program,
                                                    halyard_execution** execution,
                                                    halyard_message* message);
HALYARD_API void halyard_execution_release(halyard_execution* execution);
/* Runs the program once. Counts are those of the program's inputs and outputs. Outputs may overlap
 * inputs. Memory that a run took is kept for the next. INVALID_ARGUMENT also where the execution is
 * running already. */
HALYARD_API halyard_status halyard_execution_run(halyard_execution* execution,
                                                 const halyard_input* inputs, size_t input_count,
                                                 halyard_output* outputs, size_t output_count,
                                                 const halyard_run_options* options,
                                                 halyard_message* message);
/* Any thread: ends the run that is under way, or else the next, with HALYARD_STOPPED. */
HALYARD_API void halyard_execution_cancel(halyard_execution* execution);

/* Time and memory of the last run. */
typedef struct halyard_run_report {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t compute_ns;   /* inside backends */
    uint64_t copied_bytes; /* of inputs and outputs that could not be used in place, and between the
                              host's memory and that of devices */
    uint64_t arena_bytes;  /* for tensors inside the graph */
} halyard_run_report;
HALYARD_API halyard_status halyard_execution_report(const halyard_execution* execution,
                                                    halyard_run_report* report,
                                                    halyard_message* message);

/* One kernel's costs, in the median of the runs that were profiled. */
typedef struct halyard_node_profile {
    uint32_t struct_size;
    uint32_t node_count; /* that it computes together; `label` is that of the first */
    const char* label;
    const char* kind;
    const char* backend;
    const char* kernel;
    uint64_t time_ns;        /* for each run */
    uint64_t device_time_ns; /* of it, as a device tells; 0: none does */
    uint64_t bytes;          /* of inputs, constants included, and outputs */
    uint64_t multiply_adds;  /* of shapes that the graph tells; 0: only a run tells them */
} halyard_node_profile;

/* Texts live until the execution's next run. */
HALYARD_API size_t halyard_execution_profile_count(const halyard_execution* execution);
HALYARD_API halyard_status halyard_execution_profile(const halyard_execution* execution,
                                                     size_t index, halyard_node_profile* profile,
                                                     halyard_message* message);

#ifdef __cplusplus
}
#endif
