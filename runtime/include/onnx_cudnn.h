// The C API of onnx-cudnn: loads ONNX models and runs them on NVIDIA GPUs and on the CPU. C11, also
// valid C++. This is the one interface that stays binary compatible from version to version.
//
//   onnx_cudnn_session* session;
//   if (onnx_cudnn_session_load("model.onnx", NULL, &session) != ONNX_CUDNN_OK) {
//     fprintf(stderr, "%s\n", onnx_cudnn_last_error());
//   }
//
// Errors. Functions that can fail return an onnx_cudnn_status; on failure onnx_cudnn_last_error()
// has the message, and what they would have returned through pointers is NULL or unchanged. A NULL
// where the comment does not allow one is ONNX_CUDNN_INVALID_ARGUMENT. No function throws, ends the
// process or raises a signal because of its arguments.
//
// Ownership. Arguments belong to the caller and are used only during the call, unless a comment
// says otherwise. What a function returns through a pointer to a pointer belongs to the caller, who
// passes it to the destroy function of its type, or for tensors calls its deleter. Destroying NULL
// does nothing. What is returned as a `const` pointer belongs to the library.
//
// Threads. Functions with a `const` handle may be called by any number of threads at once on one
// handle. Others need the handle for themselves. A handle must not be in use while it is destroyed.
//
// Structs. Each begins with its size, so that later versions can append fields. Set the options
// with their init function first, and struct_size of the others to sizeof. A library that is older
// than the program's header accepts longer options if what it does not know is all zero bytes; a
// newer one takes the defaults for fields that the program does not know.
#ifndef ONNX_CUDNN_H_
#define ONNX_CUDNN_H_

#include <stddef.h>
#include <stdint.h>

// Tensors are DLPack's, binary compatible with its version 1. To use your own <dlpack/dlpack.h>
// (1.0 or later) in the same file, include it before this header.
#if defined(DLPACK_VERSION) && !defined(DLPACK_MAJOR_VERSION)
#error "onnx_cudnn.h needs DLManagedTensorVersioned: dlpack.h 1.0 or later"
#endif
#ifndef DLPACK_MAJOR_VERSION
#include "onnx_cudnn_dlpack.h"
#endif
typedef struct DLManagedTensorVersioned DLManagedTensorVersioned;  // which C's dlpack.h does not do

#define ONNX_CUDNN_C_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

// Version of this interface, increased whenever something is added. A program that is compiled with
// version N needs a library of version N or later: onnx_cudnn_api_version() >= N.
#define ONNX_CUDNN_C_API_VERSION 1
ONNX_CUDNN_C_API int32_t onnx_cudnn_api_version(void);  // of the library
ONNX_CUDNN_C_API const char* onnx_cudnn_version(void);  // of the library, "0.1.0"

// Errors

typedef int32_t onnx_cudnn_status;
enum {
  ONNX_CUDNN_OK = 0,
  ONNX_CUDNN_INVALID_ARGUMENT = 1,     // the model, an input or an option is wrong
  ONNX_CUDNN_UNIMPLEMENTED = 2,        // valid, but not supported; the message says what would work
  ONNX_CUDNN_NOT_FOUND = 3,            // no such file
  ONNX_CUDNN_DATA_LOSS = 4,            // a file that cannot be read or is cut short
  ONNX_CUDNN_RESOURCE_EXHAUSTED = 5,   // memory
  ONNX_CUDNN_FAILED_PRECONDITION = 6,  // no such device or library, or calls in the wrong order
  ONNX_CUDNN_CANCELLED = 7,            // by a cancel token or a progress callback
  ONNX_CUDNN_INTERNAL = 8              // a library call failed: please report it as a bug
};

// The message of the last call by this thread that failed: where, what, found versus expected; ""
// if none failed. Valid until the thread's next call that fails.
ONNX_CUDNN_C_API const char* onnx_cudnn_last_error(void);
// "InvalidArgument"; "unknown status" for other numbers. Static.
ONNX_CUDNN_C_API const char* onnx_cudnn_status_name(onnx_cudnn_status status);

// Options

enum {
  ONNX_CUDNN_DEVICE_AUTO = 0,  // a GPU if there is one: device_note tells why there is none
  ONNX_CUDNN_DEVICE_CPU = 1,
  ONNX_CUDNN_DEVICE_CUDA = 2  // FAILED_PRECONDITION if there is none
};

enum {
  ONNX_CUDNN_PRECISION_AUTO = 0,    // STRICT on the CPU device, TF32 on a GPU
  ONNX_CUDNN_PRECISION_STRICT = 1,  // every op in the model's own types
  ONNX_CUDNN_PRECISION_TF32 = 2,    // f32 products may round their operands to TF32
  ONNX_CUDNN_PRECISION_FP16 = 3,    // f32 products and the element-wise ops after them in f16
  ONNX_CUDNN_PRECISION_BF16 = 4     // the same in bf16
};

enum {
  ONNX_CUDNN_PARTITIONER_GREEDY = 0,  // the largest unit that an engine offers, node by node
  ONNX_CUDNN_PARTITIONER_COST = 1     // the cheapest partitioning by predicted time
};

enum {
  ONNX_CUDNN_TUNE_FOREGROUND = 0,  // the first run for new input shapes waits for measuring
  ONNX_CUDNN_TUNE_BACKGROUND = 1   // runs never wait
};

enum {
  ONNX_CUDNN_FIRST_PROGRAM_BEST = 0,  // the first run for new input shapes waits for it
  // The first runs use a program of the engines that compile nothing; later ones the best program,
  // which is built beside them, if it is faster.
  ONNX_CUDNN_FIRST_PROGRAM_QUICK = 1
};

// Memory on the device for the intermediate values of several sessions, of which one runs at a
// time. Sessions keep it alive.
typedef struct onnx_cudnn_arena onnx_cudnn_arena;
ONNX_CUDNN_C_API onnx_cudnn_status onnx_cudnn_arena_create(int64_t bytes, onnx_cudnn_arena** arena);
ONNX_CUDNN_C_API void onnx_cudnn_arena_destroy(onnx_cudnn_arena* arena);

// Ends loads and runs from another thread. One token may be used by any number of them.
typedef struct onnx_cudnn_cancel_token onnx_cudnn_cancel_token;
ONNX_CUDNN_C_API onnx_cudnn_status onnx_cudnn_cancel_token_create(onnx_cudnn_cancel_token** token);
// Any thread, at any time: calls with this token end with ONNX_CUDNN_CANCELLED as soon as they
// can, and later ones at once, until the token is reset.
ONNX_CUDNN_C_API onnx_cudnn_status onnx_cudnn_cancel_token_cancel(onnx_cudnn_cancel_token* token);
ONNX_CUDNN_C_API onnx_cudnn_status onnx_cudnn_cancel_token_reset(onnx_cudnn_cancel_token* token);
ONNX_CUDNN_C_API void onnx_cudnn_cancel_token_destroy(onnx_cudnn_cancel_token* token);

enum {
  ONNX_CUDNN_STAGE_LOADING = 0,     // importing the model, by node
  ONNX_CUDNN_STAGE_OPTIMIZING = 1,  // rewriting it, by pass
  ONNX_CUDNN_STAGE_BUILDING = 2,    // compiling a program for a set of input shapes
  ONNX_CUDNN_STAGE_TUNING = 3       // measuring on the device
};

enum { ONNX_CUDNN_ALL_DEVICES = -1 };

// How a model is loaded. Texts may be NULL, which is "". onnx_cudnn/options.h describes each option
// in more detail.
typedef struct onnx_cudnn_session_options {
  size_t struct_size;
  int32_t device;          // ONNX_CUDNN_DEVICE_…; default AUTO
  int32_t device_ordinal;  // the GPU, from 0
  int32_t threads;         // that a run may use on the host; default 0: one per core
  // Rewrites at load. 0: only those that running needs; 1: clean-up; 2, the default: also rewrites
  // that change arithmetic.
  int32_t optimization_level;
  int32_t precision;               // ONNX_CUDNN_PRECISION_…; default AUTO
  int32_t allow_nondeterministic;  // 1: library plans whose results may differ from run to run
  int32_t partitioner;             // ONNX_CUDNN_PARTITIONER_…; default GREEDY
  int32_t compute_capability;      // 80: as on a GPU of 8.0; default 0: the GPU's own
  const char* target;  // the GPU for which programs are partitioned; default: the device
  const char* pins;    // the text of a pin file
  const char* const* disabled_passes;  // rewrites to leave out, by name
  size_t disabled_pass_count;
  const char* const* op_libraries;  // that define ops (onnx_cudnn_op.h), by path
  size_t op_library_count;
  double tune_budget_s;     // seconds for measuring; default 0: predictions only
  int32_t tune;             // ONNX_CUDNN_TUNE_…; default FOREGROUND
  int32_t cuda_graph;       // default 1: runs on a GPU are captured in a CUDA graph
  const char* plan_cache;   // a file that stores measurements
  const char* tune_worker;  // the program that measures; default: beside the running program
  // Called while a model is loaded and while programs are built and tuned, by the thread that does
  // it, also in the background; one call at a time per session. Must not throw, use the session, or
  // keep `text`. Returns 0 to go on, another number to cancel the call that reports.
  //   stage        ONNX_CUDNN_STAGE_…
  //   done, total  of total >= 1, which may grow
  //   text         what is being done: "Conv conv1"
  int32_t (*progress)(void* context, int32_t stage, int64_t done, int64_t total, const char* text);
  void* progress_context;                 // as long as the session lives
  const onnx_cudnn_cancel_token* cancel;  // ends loading; runs have their own
  int32_t map_external_data;  // 1: maps it, nobody may change the files while the session lives
  int32_t follow_hub_links;   // 1: the model may be a link, as in hub caches
  int32_t streams;            // default 0: two on a GPU, one on the CPU device
  int32_t max_programs;       // sets of input shapes that are kept, >= 1; default 8
  int32_t max_executors_per_program;  // concurrent runs of one set of shapes, >= 1; default 4
  int32_t first_program;              // ONNX_CUDNN_FIRST_PROGRAM_…; default BEST
  int64_t max_memory_bytes;           // for weights and arenas; default 0: no limit
  const onnx_cudnn_arena* arena;      // default NULL: the session has its own
  const char* const* shape_buckets;   // symbols of input dims, "all" or "found"
  size_t shape_bucket_count;
  // GPUs that run the model, by ordinals, or ONNX_CUDNN_ALL_DEVICES alone; default: device_ordinal.
  const int32_t* devices;
  size_t device_count;
  int32_t rerun_if_lost;        // 1: a run whose GPU is lost runs again on another of `devices`
  int32_t check_finite;         // 1: NaN or infinity in an output is INVALID_ARGUMENT
  const char* const* keep_f32;  // nodes that fp16 and bf16 leave in f32, by name
  size_t keep_f32_count;
} onnx_cudnn_session_options;

// Sets all fields to their defaults, and struct_size to `struct_size`, the sizeof of the struct
// that the caller has.
ONNX_CUDNN_C_API onnx_cudnn_status
onnx_cudnn_session_options_init(onnx_cudnn_session_options* options, size_t struct_size);

// How a model is run.
typedef struct onnx_cudnn_run_options {
  size_t struct_size;
  // A cudaStream_t of the device on which the run is enqueued. If every tensor is in device memory,
  // the call returns without waiting for the run to end, and the tensors are in use until then.
  // INVALID_ARGUMENT on the CPU device. Default NULL: the run has ended on return.
  void* stream;
  // Checked while a program is built and before each step that is launched. The outputs of a
  // cancelled run are undefined; the session and the binding remain usable. Default NULL: none.
  const onnx_cudnn_cancel_token* cancel;
} onnx_cudnn_run_options;

ONNX_CUDNN_C_API onnx_cudnn_status onnx_cudnn_run_options_init(onnx_cudnn_run_options* options,
                                                               size_t struct_size);

// Sessions

// A loaded model that can run.
typedef struct onnx_cudnn_session onnx_cudnn_session;

// NOT_FOUND, DATA_LOSS: the file. INVALID_ARGUMENT: not a valid model, or a wrong option.
// UNIMPLEMENTED: something in the model that is not supported. FAILED_PRECONDITION: no such device.
//   options  NULL: the defaults
ONNX_CUDNN_C_API onnx_cudnn_status onnx_cudnn_session_load(
    const char* path, const onnx_cudnn_session_options* options, onnx_cudnn_session** session);
// The same from `size` bytes in memory. External data is INVALID_ARGUMENT.
ONNX_CUDNN_C_API onnx_cudnn_status onnx_cudnn_session_load_bytes(
    const void* bytes, size_t size, const onnx_cudnn_session_options* options,
    onnx_cudnn_session** session);
// Ends background tuning. Bindings and tensors of the session stay valid.
ONNX_CUDNN_C_API void onnx_cudnn_session_destroy(onnx_cudnn_session* session);

// Facts that do not change. The texts belong to the session.
typedef struct onnx_cudnn_session_info {
  size_t struct_size;
  const char* device;       // "cpu" or "cuda"
  const char* device_note;  // why DEVICE_AUTO selected it; "" if the options name it
  int32_t device_type;      // as a DLDeviceType: kDLCPU or kDLCUDA
  int32_t device_id;        // with device_type: the memory that runs access in place
  int32_t precision;        // ONNX_CUDNN_PRECISION_…, never AUTO
  int32_t reserved;
  const char* product;  // of the GPU, "h200"; as the versions below "" if there is none
  const char* driver;   // "580.95"
  const char* cuda;     // "13.0"
  const char* cudnn;    // "9.19.0"
} onnx_cudnn_session_info;
ONNX_CUDNN_C_API onnx_cudnn_status onnx_cudnn_session_get_info(const onnx_cudnn_session* session,
                                                               onnx_cudnn_session_info* info);

// Statistics until now; onnx_cudnn/session.h describes them in more detail.
typedef struct onnx_cudnn_session_stats {
  size_t struct_size;
  double device_ms;    // waiting for the device, which is opened while the model is loaded
  double load_ms;      // reading and importing the file
  double optimize_ms;  // rewrites
  double plan_ms;      // building programs, in total
  double tune_ms;      // measuring
  int64_t tuned_signatures;
  int64_t cached_signatures;
  int64_t programs_built;
  int64_t programs_held;
  int64_t programs_swapped;
  int64_t weight_bytes;
  int64_t arena_bytes;
  int64_t nodes;
  int64_t host_nodes;  // of the nodes, those that run on the host
  // Of the last run of a model that runs as several programs.
  int64_t segments;       // runs of programs
  int64_t nodes_between;  // nodes that ran between programs
  int64_t size_reads;     // tensors read because their elements decide shapes
  double size_reads_ms;
  double between_ms;    // of nodes_between
  double segmented_ms;  // of the whole run
} onnx_cudnn_session_stats;
ONNX_CUDNN_C_API onnx_cudnn_status onnx_cudnn_session_get_stats(const onnx_cudnn_session* session,
                                                                onnx_cudnn_session_stats* stats);
// What tuning found, one note per line, as a text that ends with a zero byte.
//   buffer  may be NULL if capacity is 0
//   size    receives the bytes needed, with the zero byte; above `capacity` nothing is written
ONNX_CUDNN_C_API onnx_cudnn_status onnx_cudnn_session_get_tune_notes(
    const onnx_cudnn_session* session, char* buffer, size_t capacity, size_t* size);

// Inputs and outputs

enum { ONNX_CUDNN_KIND_TENSOR = 0 };  // other kinds of values cannot be run yet

// Names and types, in the model's order.
typedef struct onnx_cudnn_value_list onnx_cudnn_value_list;

// Name and type of an input or an output. Pointers belong to the list.
typedef struct onnx_cudnn_value_info {
  size_t struct_size;
  const char* name;
  int32_t kind;                // ONNX_CUDNN_KIND_…
  int32_t dtype;               // as onnx.TensorProto.DataType: 1 is float
  int64_t rank;                // -1: unknown
  const int64_t* dims;         // `rank` of them, -1: not a number
  const char* const* symbols;  // `rank` of them, "N"; "" if the dim is a number or unknown
} onnx_cudnn_value_info;

// The lists belong to the session.
ONNX_CUDNN_C_API onnx_cudnn_status onnx_cudnn_session_get_inputs(
    const onnx_cudnn_session* session, const onnx_cudnn_value_list** inputs);
ONNX_CUDNN_C_API onnx_cudnn_status onnx_cudnn_session_get_outputs(
    const onnx_cudnn_session* session, const onnx_cudnn_value_list** outputs);
// The outputs for inputs of these dtypes and shapes. Inputs are as for onnx_cudnn_session_run;
// their data may be NULL and is not read, except that of strings and of inputs whose values decide
// shapes.
ONNX_CUDNN_C_API onnx_cudnn_status onnx_cudnn_session_outputs_for(const onnx_cudnn_session* session,
                                                                  const char* const* input_names,
                                                                  const DLTensor* const* inputs,
                                                                  size_t input_count,
                                                                  onnx_cudnn_value_list** outputs);

ONNX_CUDNN_C_API size_t onnx_cudnn_value_list_size(const onnx_cudnn_value_list* list);  // NULL: 0
ONNX_CUDNN_C_API onnx_cudnn_status onnx_cudnn_value_list_get(const onnx_cudnn_value_list* list,
                                                             size_t index,
                                                             onnx_cudnn_value_info* info);
// Of lists that onnx_cudnn_session_outputs_for made.
ONNX_CUDNN_C_API void onnx_cudnn_value_list_destroy(onnx_cudnn_value_list* list);

// Runs
//
// Tensors are row-major, in host memory (kDLCPU, kDLCUDAHost) or in memory of the session's device.
// Every numeric type of ONNX has DLPack's type of the same name; elements of less than 8 bits are
// packed, the first one in the lowest bits. An element of a string tensor is an onnx_cudnn_string,
// with the DLDataType {kDLOpaqueHandle, 128, 1}; strings are always in host memory.

typedef struct onnx_cudnn_string {
  const char* data;  // any bytes; need not end with a zero byte; may be NULL if size is 0
  size_t size;
} onnx_cudnn_string;

// Runs the model and returns its outputs in new host memory. The first run for new input shapes
// compiles a program.
//   input_names   NULL: inputs are in the model's order
//   outputs       receives output_count tensors in the model's order; each is the caller's, who
//                 calls its deleter (any thread, also after the session is destroyed)
//   output_count  must be the number of the model's outputs
//   options       NULL: the defaults
//   errors        INVALID_ARGUMENT: an input is unknown, missing, or does not match the model;
//                 values that an op does not accept. RESOURCE_EXHAUSTED: memory
ONNX_CUDNN_C_API onnx_cudnn_status onnx_cudnn_session_run(
    const onnx_cudnn_session* session, const char* const* input_names,
    const DLTensor* const* inputs, size_t input_count, DLManagedTensorVersioned** outputs,
    size_t output_count, const onnx_cudnn_run_options* options);
// Runs the model and writes its outputs to the caller's memory, with the dtypes and shapes that
// onnx_cudnn_session_outputs_for returns. It must not overlap the inputs or itself. Outputs of
// strings are UNIMPLEMENTED here: onnx_cudnn_session_run returns them.
//   output_names  NULL: outputs are in the model's order
ONNX_CUDNN_C_API onnx_cudnn_status onnx_cudnn_session_run_into(
    const onnx_cudnn_session* session, const char* const* input_names,
    const DLTensor* const* inputs, size_t input_count, const char* const* output_names,
    const DLTensor* const* outputs, size_t output_count, const onnx_cudnn_run_options* options);

// Runs one set of input shapes over fixed addresses, without any look-up. Keeps the model alive.
typedef struct onnx_cudnn_binding onnx_cudnn_binding;
// Arguments are as for onnx_cudnn_session_run_into. The memory of the tensors must outlive the
// binding; the DLTensors and names need not. Strings are copied here once.
ONNX_CUDNN_C_API onnx_cudnn_status onnx_cudnn_session_bind(
    const onnx_cudnn_session* session, const char* const* input_names,
    const DLTensor* const* inputs, size_t input_count, const char* const* output_names,
    const DLTensor* const* outputs, size_t output_count, onnx_cudnn_binding** binding);
// Reads the current content of the bound inputs and writes the bound outputs.
//   options  NULL: the defaults
ONNX_CUDNN_C_API onnx_cudnn_status onnx_cudnn_binding_run(onnx_cudnn_binding* binding,
                                                          const onnx_cudnn_run_options* options);
// Runs `runs` times after two warm-up runs.
//   milliseconds  receives the time of each run
ONNX_CUDNN_C_API onnx_cudnn_status onnx_cudnn_binding_time_runs(onnx_cudnn_binding* binding,
                                                                int32_t runs, double* milliseconds);
// Why runs are not captured in a CUDA graph; "": they are, or there was no second run yet. Belongs
// to the binding.
//   note  valid until the binding's next call
ONNX_CUDNN_C_API onnx_cudnn_status onnx_cudnn_binding_get_graph_note(onnx_cudnn_binding* binding,
                                                                     const char** note);
ONNX_CUDNN_C_API void onnx_cudnn_binding_destroy(onnx_cudnn_binding* binding);

// Copies a tensor from host memory to memory of the session's device. The copy stays valid after
// the session is destroyed. INVALID_ARGUMENT for strings.
ONNX_CUDNN_C_API onnx_cudnn_status onnx_cudnn_session_to_device(const onnx_cudnn_session* session,
                                                                const DLTensor* host,
                                                                DLManagedTensorVersioned** copy);
// Copies a tensor that onnx_cudnn_session_to_device made to new host memory. INVALID_ARGUMENT for
// others.
ONNX_CUDNN_C_API onnx_cudnn_status
onnx_cudnn_session_to_host(const onnx_cudnn_session* session,
                           const DLManagedTensorVersioned* tensor, DLManagedTensorVersioned** copy);

// Messages

enum {
  ONNX_CUDNN_LOG_INFO = 0,     // decisions and their reasons
  ONNX_CUDNN_LOG_WARNING = 1,  // something was left out; results are correct
  ONNX_CUDNN_LOG_ERROR = 2     // a release failed, or the process is about to end
};

// Receives a line without a line end, valid during the call. Called by any thread, one call at a
// time; must not log, throw or set the sink.
typedef void (*onnx_cudnn_log_sink)(void* context, int32_t severity, const char* message);

// Sets the receiver of this process's messages; any thread. NULL restores the default: warnings and
// errors as lines on standard error.
//   context  passed to the sink, as long as it is set
ONNX_CUDNN_C_API onnx_cudnn_status onnx_cudnn_set_log_sink(onnx_cudnn_log_sink sink, void* context);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // ONNX_CUDNN_H_
