/* SPDX-License-Identifier: Apache-2.0 */

#include "tests/fake_opencl/fake_opencl.h"

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fake_opencl/from_outside.h"

#ifdef FOR_LOADERS
/* As a vendor's library that only a loader is to use (cl_khr_icd): its functions are found by way
 * of a platform. */
#include <CL/cl_icd.h>
#else
#pragma GCC visibility push(default)
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char failing[64];
static int calls_left;
static int lost_code;
static int failing_code;
static int failed;
static int alive;
static int built;
static int loaded;
static bool defers;
static bool shares;
static int misused;

static struct {
    char name[64];
    int count;
} counted[64];

void fake_opencl_fail(const char* function, int nth, int code) {
    pthread_mutex_lock(&lock);
    snprintf(failing, sizeof failing, "%s", function);
    calls_left = nth;
    lost_code = CL_SUCCESS;
    failing_code = code;
    failed = 0;
    pthread_mutex_unlock(&lock);
}

void fake_opencl_lose(int code) {
    pthread_mutex_lock(&lock);
    lost_code = code;
    pthread_mutex_unlock(&lock);
}

int fake_opencl_failed(void) {
    return failed;
}
int fake_opencl_alive(void) {
    return alive;
}
int fake_opencl_built(void) {
    return built;
}
int fake_opencl_loaded(void) {
    return loaded;
}
int fake_opencl_misused(void) {
    return misused;
}

static int* count_of(const char* function) {
    int i = 0;
    while (counted[i].name[0] != 0 && strcmp(counted[i].name, function) != 0) {
        ++i;
    }
    snprintf(counted[i].name, sizeof counted[i].name, "%s", function);
    return &counted[i].count;
}

int fake_opencl_calls(const char* function) {
    pthread_mutex_lock(&lock);
    const int count = *count_of(function);
    pthread_mutex_unlock(&lock);
    return count;
}

/* The code that the call has to return. */
static cl_int code_of(const char* function) {
    cl_int code = CL_SUCCESS;
    pthread_mutex_lock(&lock);
    ++*count_of(function);
    if (strcmp(function, failing) == 0 && calls_left > 0 && --calls_left == 0) {
        failed = 1;
        code = failing_code;
    }
    /* Facts known without the device are known of a lost one, too. */
    if (lost_code != CL_SUCCESS && strncmp(function, "clGet", 5) != 0 &&
        strncmp(function, "clRelease", 9) != 0) {
        code = lost_code;
    }
    pthread_mutex_unlock(&lock);
    return code;
}

enum { MOST_ARGUMENTS = 64 };

/* Every object has the same layout: a handle is where it lies. */
struct object {
    size_t size;
    bool has_binary;
    bool is_softmax;
    unsigned char* bytes;
    /* Of memory: one that is released leaves its handle to the next, which has another number. */
    long number;
    struct object* next;
    /* Of a kernel: which memory it was given, as it was then. */
    struct {
        struct object* memory;
        long number;
    } arguments[MOST_ARGUMENTS];
};

/* Something that counts has changed. Under the lock. */
static void tell_counts(void);

static void* create(const char* function, size_t size, cl_int* code) {
    const cl_int status = code_of(function);
    if (code != NULL) {
        *code = status;
    }
    if (status != CL_SUCCESS) {
        return NULL;
    }
    struct object* object = calloc(1, sizeof *object);
    object->size = size;
    object->bytes = calloc(1, size + 1);
    pthread_mutex_lock(&lock);
    ++alive;
    tell_counts();
    pthread_mutex_unlock(&lock);
    return object;
}

static cl_int release(const char* function, void* handle) {
    struct object* object = handle;
    free(object->bytes);
    free(object);
    pthread_mutex_lock(&lock);
    --alive;
    tell_counts();
    pthread_mutex_unlock(&lock);
    return code_of(function);
}

/* Something that a queue has been told to do: to copy bytes, or nothing. */
struct command {
    cl_command_queue queue;
    void* to;
    const void* from;
    size_t size;
    struct object* uses[MOST_ARGUMENTS];
    cl_event event;
    struct command* next;
};
static struct command* commands;

static int count_commands(void) {
    int count = 0;
    for (const struct command* each = commands; each != NULL; each = each->next) {
        ++count;
    }
    return count;
}

static void tell_counts(void) {
    fake_opencl_tell_counts(alive, count_commands(), misused, *count_of("clEnqueueNDRangeKernel"));
}

int fake_opencl_pending(void) {
    pthread_mutex_lock(&lock);
    const int count = count_commands();
    pthread_mutex_unlock(&lock);
    return count;
}

void fake_opencl_share(int whether) {
    shares = whether != 0;
}

void fake_opencl_defer(int whether) {
    defers = whether != 0;
}

/* Does what the queue was told, up to the command with the event; NULL: all of it. */
static void catch_up(cl_command_queue queue, cl_event last) {
    pthread_mutex_lock(&lock);
    struct command** at = &commands;
    bool found = false;
    while (*at != NULL && !found) {
        struct command* command = *at;
        if (command->queue != queue) {
            at = &command->next;
            continue;
        }
        if (command->size > 0) {
            memcpy(command->to, command->from, command->size);
        }
        found = last != NULL && command->event == last;
        *at = command->next;
        free(command);
    }
    tell_counts();
    pthread_mutex_unlock(&lock);
}

static cl_command_queue queue_of(cl_event event) {
    cl_command_queue queue = NULL;
    pthread_mutex_lock(&lock);
    for (const struct command* each = commands; each != NULL; each = each->next) {
        queue = each->event == event ? each->queue : queue;
    }
    pthread_mutex_unlock(&lock);
    return queue;
}

static struct command* tell_queue(cl_command_queue queue, void* to, const void* from, size_t size,
                                  cl_event* event) {
    struct command* command = calloc(1, sizeof *command);
    *command = (struct command){.queue = queue, .to = to, .from = from, .size = size};
    if (event != NULL) {
        *event = create("an event", 0, NULL);
        command->event = *event;
    }
    return command;
}

static void begin(struct command* command, cl_bool blocks) {
    const cl_command_queue queue = command->queue;
    pthread_mutex_lock(&lock);
    struct command** last = &commands;
    while (*last != NULL) {
        last = &(*last)->next;
    }
    *last = command;
    tell_counts();
    pthread_mutex_unlock(&lock);
    if (blocks) {
        fake_opencl_hang_if_told();
    }
    if (blocks || !(defers || fake_opencl_is_steered())) {
        catch_up(queue, NULL);
    }
}

#define FAILS(function)                      \
    const cl_int code_ = code_of(#function); \
    if (code_ != CL_SUCCESS) {               \
        return code_;                        \
    }

#ifdef FOR_LOADERS
static cl_icd_dispatch functions;
/* Of every object of such a library this is the first. */
static struct {
    const cl_icd_dispatch* functions;
} the_platform = {&functions}, the_device = {&functions};
#else
static int the_platform;
static int the_device;
#endif

cl_int clGetPlatformIDs(cl_uint count, cl_platform_id* platforms, cl_uint* found) {
    FAILS(clGetPlatformIDs)
    (void)count;
    *platforms = (cl_platform_id)&the_platform;
    *found = 1;
    return CL_SUCCESS;
}

static cl_int tell(const void* value, size_t value_size, size_t size, void* to, size_t* needed) {
    if (needed != NULL) {
        *needed = value_size;
    }
    if (to != NULL) {
        memcpy(to, value, value_size < size ? value_size : size);
    }
    return CL_SUCCESS;
}

cl_int clGetPlatformInfo(cl_platform_id platform, cl_platform_info what, size_t size, void* to,
                         size_t* needed) {
    FAILS(clGetPlatformInfo)
    (void)platform;
    const char* text = what == CL_PLATFORM_NAME ? "Fake" : "OpenCL 1.2";
    return tell(text, strlen(text) + 1, size, to, needed);
}

cl_int clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint count,
                      cl_device_id* devices, cl_uint* found) {
    FAILS(clGetDeviceIDs)
    (void)platform;
    (void)type;
    (void)count;
    *devices = (cl_device_id)&the_device;
    *found = 1;
    return CL_SUCCESS;
}

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t size, void* to,
                       size_t* needed) {
    FAILS(clGetDeviceInfo)
    (void)device;
    const char* text = "";
    cl_ulong number = 0;
    switch (what) {
        case CL_DEVICE_NAME:
#ifdef IS_A_PROCESSOR
            text = "Fake processor";
#else
            text = "Fake GPU";
#endif
            break;
        case CL_DRIVER_VERSION:
            text = "7";
            break;
        case CL_DEVICE_EXTENSIONS:
            text = "cl_khr_fp64";
            break;
        case CL_DEVICE_OPENCL_C_VERSION:
            text = "OpenCL C 1.2 fake";
            break;
        case CL_DEVICE_TYPE:
#ifdef IS_A_PROCESSOR
            number = CL_DEVICE_TYPE_CPU;
#else
            number = CL_DEVICE_TYPE_GPU;
#endif
            break;
        case CL_DEVICE_MAX_WORK_GROUP_SIZE:
        case CL_DEVICE_MEM_BASE_ADDR_ALIGN:
            number = 1024;
            break;
        case CL_DEVICE_LOCAL_MEM_SIZE:
            /* Enough for tiles, as GPUs have it. */
            number = 48 << 10;
            break;
        case CL_DEVICE_GLOBAL_MEM_SIZE:
        case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
            number = 1ul << 30;
            break;
        case CL_DEVICE_HOST_UNIFIED_MEMORY:
            number = shares ? CL_TRUE : CL_FALSE;
            break;
        case CL_DEVICE_SINGLE_FP_CONFIG:
            number = CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
            break;
        default:
            number = 1;
            break;
    }
    /* Numbers of any size lie in the first bytes. */
    return text[0] != 0 ? tell(text, strlen(text) + 1, size, to, needed)
                        : tell(&number, sizeof number, size, to, needed);
}

cl_context clCreateContext(const cl_context_properties* properties, cl_uint count,
                           const cl_device_id* devices,
                           void (*notify)(const char*, const void*, size_t, void*), void* user,
                           cl_int* code) {
    (void)properties;
    (void)count;
    (void)devices;
    (void)notify;
    (void)user;
    return create("clCreateContext", 0, code);
}
cl_int clReleaseContext(cl_context context) {
    return release("clReleaseContext", context);
}

cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id device,
                                      cl_command_queue_properties properties, cl_int* code) {
    (void)context;
    (void)device;
    (void)properties;
    return create("clCreateCommandQueue", 0, code);
}
cl_int clReleaseCommandQueue(cl_command_queue queue) {
    return release("clReleaseCommandQueue", queue);
}

static struct object* memories; /* that live */
static struct object* released; /* handles of memory */
static long last_number;

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void* host,
                      cl_int* code) {
    (void)context;
    (void)flags;
    (void)host;
    *code = code_of("clCreateBuffer");
    if (*code != CL_SUCCESS) {
        return NULL;
    }
    pthread_mutex_lock(&lock);
    struct object* memory = released;
    if (memory != NULL) {
        released = memory->next;
    } else {
        memory = calloc(1, sizeof *memory);
    }
    *memory = (struct object){.size = size, .number = ++last_number, .next = memories};
    memory->bytes = calloc(1, size + 1);
    memories = memory;
    ++alive;
    tell_counts();
    pthread_mutex_unlock(&lock);
    return (cl_mem)memory;
}

static bool is_used(const struct object* memory) {
    for (const struct command* each = commands; each != NULL; each = each->next) {
        for (int i = 0; i < MOST_ARGUMENTS; ++i) {
            if (each->uses[i] == memory) {
                return true;
            }
        }
    }
    return false;
}

cl_int clReleaseMemObject(cl_mem handle) {
    struct object* memory = (struct object*)handle;
    pthread_mutex_lock(&lock);
    misused += is_used(memory) ? 1 : 0;
    struct object** at = &memories;
    while (*at != memory) {
        at = &(*at)->next;
    }
    *at = memory->next;
    free(memory->bytes);
    memory->next = released;
    released = memory;
    --alive;
    tell_counts();
    pthread_mutex_unlock(&lock);
    return code_of("clReleaseMemObject");
}

cl_program clCreateProgramWithSource(cl_context context, cl_uint count, const char** texts,
                                     const size_t* lengths, cl_int* code) {
    (void)context;
    (void)count;
    (void)lengths;
    struct object* program = create("clCreateProgramWithSource", 0, code);
    if (program != NULL) {
        program->is_softmax = strstr(texts[0], "softmax") != NULL;
    }
    return (cl_program)program;
}
cl_program clCreateProgramWithBinary(cl_context context, cl_uint count, const cl_device_id* devices,
                                     const size_t* lengths, const unsigned char** binaries,
                                     cl_int* taken, cl_int* code) {
    (void)context;
    (void)count;
    (void)devices;
    (void)lengths;
    (void)binaries;
    *taken = CL_SUCCESS;
    struct object* program = create("clCreateProgramWithBinary", 0, code);
    if (program != NULL) {
        program->has_binary = true;
    }
    return (cl_program)program;
}
cl_int clBuildProgram(cl_program program, cl_uint count, const cl_device_id* devices,
                      const char* options, void (*notify)(cl_program, void*), void* user) {
    FAILS(clBuildProgram)
    (void)count;
    (void)devices;
    (void)options;
    (void)notify;
    (void)user;
    const char* compiler = getenv("FAKE_OPENCL_COMPILER");
    const struct object* object = (const struct object*)program;
    if (compiler != NULL && !object->has_binary) {
        if (strcmp(compiler, "hangs") == 0) {
            pause();
        }
        if (strcmp(compiler, "dies") == 0 ||
            (strcmp(compiler, "dies of softmax") == 0 && object->is_softmax)) {
            abort();
        }
    }
    pthread_mutex_lock(&lock);
    ++*(((struct object*)program)->has_binary ? &loaded : &built);
    pthread_mutex_unlock(&lock);
    return CL_SUCCESS;
}
cl_int clGetProgramInfo(cl_program program, cl_program_info what, size_t size, void* to,
                        size_t* needed) {
    FAILS(clGetProgramInfo)
    (void)program;
    const size_t length = 4;
    if (what == CL_PROGRAM_BINARIES) {
        memcpy(*(unsigned char**)to, "fake", length);
        return CL_SUCCESS;
    }
    return tell(&length, sizeof length, size, to, needed);
}
cl_int clGetProgramBuildInfo(cl_program program, cl_device_id device, cl_program_build_info what,
                             size_t size, void* to, size_t* needed) {
    FAILS(clGetProgramBuildInfo)
    (void)program;
    (void)device;
    (void)what;
    return tell("line 1: no", sizeof "line 1: no", size, to, needed);
}
cl_int clReleaseProgram(cl_program program) {
    return release("clReleaseProgram", program);
}

cl_kernel clCreateKernel(cl_program program, const char* name, cl_int* code) {
    (void)program;
    (void)name;
    return create("clCreateKernel", 0, code);
}
cl_int clReleaseKernel(cl_kernel kernel) {
    return release("clReleaseKernel", kernel);
}
cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void* value) {
    FAILS(clSetKernelArg)
    struct object* object = (struct object*)kernel;
    struct object* memory = NULL;
    if (size == sizeof memory) {
        memcpy(&memory, value, size);
    }
    pthread_mutex_lock(&lock);
    const struct object* each = memories;
    while (each != NULL && each != memory) {
        each = each->next;
    }
    /* A value that is no memory's handle is a number. */
    object->arguments[index].memory = each != NULL ? memory : NULL;
    object->arguments[index].number = each != NULL ? each->number : 0;
    pthread_mutex_unlock(&lock);
    return CL_SUCCESS;
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                              const size_t* offset, const size_t* items, const size_t* local,
                              cl_uint waits, const cl_event* wait_for, cl_event* event) {
    FAILS(clEnqueueNDRangeKernel)
    (void)dimensions;
    (void)offset;
    (void)items;
    (void)local;
    (void)waits;
    (void)wait_for;
    const struct object* object = (const struct object*)kernel;
    struct command* command = tell_queue(queue, NULL, NULL, 0, event);
    for (int i = 0; i < MOST_ARGUMENTS; ++i) {
        struct object* memory = object->arguments[i].memory;
        command->uses[i] = memory;
        if (memory != NULL && memory->number != object->arguments[i].number) {
            free(command);
            return CL_INVALID_KERNEL_ARGS;
        }
    }
    begin(command, CL_FALSE);
    return CL_SUCCESS;
}
cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem memory, cl_bool blocks, size_t offset,
                           size_t size, void* to, cl_uint waits, const cl_event* wait_for,
                           cl_event* event) {
    FAILS(clEnqueueReadBuffer)
    (void)waits;
    (void)wait_for;
    struct object* from = (struct object*)memory;
    struct command* command = tell_queue(queue, to, from->bytes + offset, size, event);
    command->uses[0] = from;
    begin(command, blocks);
    return CL_SUCCESS;
}
cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem memory, cl_bool blocks, size_t offset,
                            size_t size, const void* from, cl_uint waits, const cl_event* wait_for,
                            cl_event* event) {
    FAILS(clEnqueueWriteBuffer)
    (void)waits;
    (void)wait_for;
    struct object* to = (struct object*)memory;
    struct command* command = tell_queue(queue, to->bytes + offset, from, size, event);
    command->uses[0] = to;
    begin(command, blocks);
    return CL_SUCCESS;
}
cl_int clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset,
                           size_t to_offset, size_t size, cl_uint waits, const cl_event* wait_for,
                           cl_event* event) {
    FAILS(clEnqueueCopyBuffer)
    (void)waits;
    (void)wait_for;
    struct object* source = (struct object*)from;
    struct object* target = (struct object*)to;
    struct command* command =
            tell_queue(queue, target->bytes + to_offset, source->bytes + from_offset, size, event);
    command->uses[0] = target;
    command->uses[1] = source;
    begin(command, CL_FALSE);
    return CL_SUCCESS;
}
void* clEnqueueMapBuffer(cl_command_queue queue, cl_mem memory, cl_bool blocks, cl_map_flags flags,
                         size_t offset, size_t size, cl_uint waits, const cl_event* wait_for,
                         cl_event* event, cl_int* code) {
    (void)flags;
    (void)size;
    (void)waits;
    (void)wait_for;
    *code = code_of("clEnqueueMapBuffer");
    if (*code != CL_SUCCESS) {
        return NULL;
    }
    begin(tell_queue(queue, NULL, NULL, 0, event), blocks);
    return ((struct object*)memory)->bytes + offset;
}
cl_int clFinish(cl_command_queue queue) {
    FAILS(clFinish)
    fake_opencl_hang_if_told();
    catch_up(queue, NULL);
    return CL_SUCCESS;
}
cl_int clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem memory, void* mapped, cl_uint waits,
                               const cl_event* wait_for, cl_event* event) {
    FAILS(clEnqueueUnmapMemObject)
    (void)mapped;
    (void)waits;
    (void)wait_for;
    struct command* command = tell_queue(queue, NULL, NULL, 0, event);
    command->uses[0] = (struct object*)memory;
    begin(command, CL_FALSE);
    return CL_SUCCESS;
}
cl_int clFlush(cl_command_queue queue) {
    FAILS(clFlush)
    (void)queue;
    return CL_SUCCESS;
}
cl_int clWaitForEvents(cl_uint count, const cl_event* events) {
    FAILS(clWaitForEvents)
    fake_opencl_hang_if_told();
    for (cl_uint i = 0; i < count; ++i) {
        const cl_command_queue queue = queue_of(events[i]);
        if (queue != NULL) {
            catch_up(queue, events[i]);
        }
    }
    return CL_SUCCESS;
}
cl_int clReleaseEvent(cl_event event) {
    return release("clReleaseEvent", event);
}
void* clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char* name) {
    (void)platform;
    (void)name;
    return NULL;
}

cl_int clGetEventProfilingInfo(cl_event event, cl_profiling_info what, size_t size, void* to,
                               size_t* needed) {
    FAILS(clGetEventProfilingInfo)
    (void)event;
    const cl_ulong time = what == CL_PROFILING_COMMAND_END ? 5000 : 1000;
    return tell(&time, sizeof time, size, to, needed);
}

#ifdef FOR_LOADERS
/* The one function of such a library that can be found by name. */
__attribute__((visibility("default"))) void* clGetExtensionFunctionAddress(const char* name) {
#define HALYARD_OPENCL_FUNCTION(function) functions.function = &function;
#include "engine/backends/gpu/opencl/functions.inc"
#undef HALYARD_OPENCL_FUNCTION
    return strcmp(name, "clIcdGetPlatformIDsKHR") == 0 ? (void*)&clGetPlatformIDs : NULL;
}
#endif
