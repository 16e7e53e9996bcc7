/* The interface of an etconfig backend in C, or in any language that can call and export C functions.
 *
 * A backend is a shared library that exports one function, etconfig_backend. It answers with a table of
 * functions, which etconfig calls: init once for each delegate of a program, run for each execution, destroy
 * at the end. This header needs C99 or C++17 and nothing else; copy it into your sources.
 *
 * Threads. Calls with one resource handle never overlap, but may come from different threads. Calls with
 * different handles may overlap. So keep all state in the handle, and none in variables of the library.
 *
 * Lifetimes. Everything that a call receives is valid until the call returns, with three exceptions: the
 * payload (until release_payload or destroy), the data that find_data returned (until destroy), and memory
 * that `allocate` returned in init (until destroy). A function that returns an error leaves nothing behind: a
 * failed init frees what it has acquired, and its handle is not destroyed.
 *
 * Errors. Functions return ETCONFIG_OK or one of ExecuTorch's error codes, and may write a text into the
 * message that they receive. No exception and no longjmp may cross this interface, in either direction:
 * depending on the host, an exception is an error or ends the process.
 *
 * Versions. The major version changes if a struct or a rule below changes; libraries and hosts of different
 * major versions refuse each other. The minor version grows when members are appended to structs that begin
 * with struct_size: read such a member only if struct_size covers it.
 */
#ifndef ETCONFIG_BACKEND_H
#define ETCONFIG_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#define ETCONFIG_ABI_MAJOR 1u
#define ETCONFIG_ABI_MINOR 0u

#if defined(_WIN32)
#define ETCONFIG_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define ETCONFIG_EXPORT __attribute__((visibility("default")))
#else
#define ETCONFIG_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ExecuTorch's error codes. Source: runtime/core/error.h. */
typedef int32_t EtconfigStatus;
enum {
  ETCONFIG_OK = 0x00,
  ETCONFIG_INTERNAL = 0x01,
  ETCONFIG_INVALID_STATE = 0x02,
  ETCONFIG_NOT_SUPPORTED = 0x10,
  ETCONFIG_NOT_IMPLEMENTED = 0x11,
  ETCONFIG_INVALID_ARGUMENT = 0x12,
  ETCONFIG_INVALID_TYPE = 0x13,
  ETCONFIG_OPERATOR_MISSING = 0x14,
  ETCONFIG_NOT_FOUND = 0x20,
  ETCONFIG_MEMORY_ALLOCATION_FAILED = 0x21,
  ETCONFIG_ACCESS_FAILED = 0x22,
  ETCONFIG_INVALID_PROGRAM = 0x23,
  ETCONFIG_INVALID_EXTERNAL_DATA = 0x24,
  ETCONFIG_OUT_OF_RESOURCES = 0x25,
  ETCONFIG_DELEGATE_INVALID_COMPATIBILITY = 0x30, /* the payload is for another version or device */
  ETCONFIG_DELEGATE_MEMORY_ALLOCATION_FAILED = 0x31,
  ETCONFIG_DELEGATE_INVALID_HANDLE = 0x32
};

/* Room for a text, which the caller provides: write at most `capacity` bytes of UTF-8 with the final NUL. */
typedef struct EtconfigMessage {
  char *text;
  size_t capacity;
} EtconfigMessage;

/* The element types of tensors. Source: ExecuTorch's schema/scalar_type.fbs. */
enum {
  ETCONFIG_BYTE = 0,
  ETCONFIG_CHAR = 1,
  ETCONFIG_SHORT = 2,
  ETCONFIG_INT = 3,
  ETCONFIG_LONG = 4,
  ETCONFIG_HALF = 5,
  ETCONFIG_FLOAT = 6,
  ETCONFIG_DOUBLE = 7,
  ETCONFIG_BOOL = 11,
  ETCONFIG_BFLOAT16 = 15,
  ETCONFIG_UINT16 = 27,
  ETCONFIG_UINT32 = 28,
  ETCONFIG_UINT64 = 29
};

/* A tensor. Its elements lie densely in the order of `dim_order`, outermost dimension first. */
typedef struct EtconfigTensor {
  void *data;
  size_t size_bytes;
  const int32_t *sizes;     /* rank entries */
  const int32_t *strides;   /* rank entries, in elements */
  const uint8_t *dim_order; /* rank entries */
  int32_t rank;
  int32_t dtype;
} EtconfigTensor;

/* The kinds of values. The members of `as` in use, and the meaning of `size`: */
enum {
  ETCONFIG_KIND_NONE = 0,
  ETCONFIG_KIND_TENSOR = 1,  /* tensor */
  ETCONFIG_KIND_BOOLEAN = 2, /* integer, 0 or 1 */
  ETCONFIG_KIND_INTEGER = 3, /* integer */
  ETCONFIG_KIND_NUMBER = 4,  /* number */
  ETCONFIG_KIND_TEXT = 5,    /* text in UTF-8 with a final NUL, which `size` does not count */
  ETCONFIG_KIND_LIST = 6,    /* items, `size` of them */
  ETCONFIG_KIND_TABLE = 7    /* entries, `size` of them */
};

struct EtconfigOption;

typedef struct EtconfigValue {
  int32_t kind;
  int32_t reserved;
  size_t size;
  union {
    EtconfigTensor *tensor;
    int64_t integer;
    double number;
    const char *text;
    const struct EtconfigValue *items;
    const struct EtconfigOption *entries;
  } as;
} EtconfigValue;

/* An option of the backend's schema, or an entry of a table. An option that is not set has the kind NONE. */
typedef struct EtconfigOption {
  const char *name;
  EtconfigValue value;
} EtconfigOption;

/* A compile spec: bytes with a key, fixed when the program was made. */
typedef struct EtconfigCompileSpec {
  const char *key;
  const void *data;
  size_t size;
} EtconfigCompileSpec;

/* One part of a parallel_for. Parts run in any order and in several threads at a time. */
typedef EtconfigStatus (*EtconfigTask)(void *argument, size_t index);

enum { ETCONFIG_LOG_DEBUG = 0, ETCONFIG_LOG_INFO = 1, ETCONFIG_LOG_ERROR = 2 };

/* The services of the host. Pass `context` to each. Call log and is_cancelled from any thread, the others
 * only from the thread that called the backend. A pointer that is NULL
 * is a service that this call does not have. */
typedef struct EtconfigServices {
  size_t struct_size;
  void *context;
  /* Return zeroed memory, or NULL if there is none. In init it lives as long as the handle, in run as long as
   * the call. `alignment` is a power of 2. */
  void *(*allocate)(void *context, size_t size, size_t alignment);
  /* Run task(argument, i) for each i below `count`, at most `max_workers` at a time, and return when all are
   * done: ETCONFIG_OK, or the status of the lowest index that failed.
   * Without workers it runs them one after another. */
  EtconfigStatus (*parallel_for)(void *context, size_t count, size_t max_workers, EtconfigTask task,
                                 void *argument);
  void (*log)(void *context, int32_t level, const char *text);
  /* Return nonzero if the caller no longer wants the result: stop, and return an error. Never required. */
  int32_t (*is_cancelled)(void *context);
  /* In run: give the output values[index], a tensor of a dynamic shape, other sizes. Its struct then has
   * them, and its new data. Fails for sizes that the program does not allow. */
  EtconfigStatus (*resize_output)(void *context, size_t index, const int32_t *sizes, int32_t rank);
  /* In init: find the data that the program, or a file beside it, stores
   * under a key. Fails with ETCONFIG_NOT_FOUND. */
  EtconfigStatus (*find_data)(void *context, const char *key, const void **data, size_t *size);
  /* In init: give up the payload, which must not be read afterwards. */
  void (*release_payload)(void *context);
} EtconfigServices;

/* The argument of init. */
typedef struct EtconfigInit {
  size_t struct_size;
  const EtconfigServices *services;
  const char *method_name;
  const char *instance_name; /* NULL for the default instance */
  size_t delegate_index;     /* of the method */
  const void *payload;
  size_t payload_size;
  const EtconfigCompileSpec *compile_specs; /* in the order of the program; a key may appear again */
  size_t compile_spec_count;
  const EtconfigOption *options; /* every option of the schema, validated */
  size_t option_count;
} EtconfigInit;

/* The argument of run. */
typedef struct EtconfigRun {
  size_t struct_size;
  const EtconfigServices *services;
  EtconfigValue *values; /* inputs, then outputs, in the order of the program; do not write to inputs */
  size_t value_count;
  const EtconfigOption *options; /* in force for this call */
  size_t option_count;
  void *resource; /* an address that the caller of the method passed on for this call, or NULL */
} EtconfigRun;

/* A backend. init, run and destroy are required; the others may be NULL. */
typedef struct EtconfigBackend {
  size_t struct_size;  /* sizeof(EtconfigBackend) */
  uint32_t abi_major;  /* ETCONFIG_ABI_MAJOR */
  uint32_t abi_minor;  /* the lowest minor version of the host that the library needs */
  /* Return ETCONFIG_OK if the backend can run here, else write what is missing and how to get it. */
  EtconfigStatus (*availability)(EtconfigMessage *reason, EtconfigMessage *fix);
  /* Prepare one delegate and set its handle, which is opaque for etconfig and must not be NULL. */
  EtconfigStatus (*init)(const EtconfigInit *init, void **resource_handle, EtconfigMessage *error);
  /* Run the delegate: write its outputs. An output may share memory with an input. */
  EtconfigStatus (*run)(void *resource_handle, const EtconfigRun *run, EtconfigMessage *error);
  /* Prepare for new values of options that apply at execute; `run` receives them from then on. After an
   * error, the old ones stay in force. `options` are all options of the schema. */
  EtconfigStatus (*update)(void *resource_handle, const EtconfigOption *options, size_t option_count,
                           EtconfigMessage *error);
  /* Set the value of each option that the delegate really uses; all come with the kind NONE. Texts must live
   * as long as the handle, or until the next call of this function. */
  EtconfigStatus (*effective_options)(void *resource_handle, EtconfigOption *options, size_t option_count,
                                      EtconfigMessage *error);
  /* Release everything. Called once for each handle. */
  void (*destroy)(void *resource_handle);
} EtconfigBackend;

/* The program that loads the library. */
typedef struct EtconfigHost {
  size_t struct_size;
  uint32_t abi_major;
  uint32_t abi_minor;
} EtconfigHost;

/* Return the table of the backend with this id, which lives as long as the library; or NULL, with a message,
 * if the library has no such backend or cannot work with this host.
 * The library exports exactly this function. */
ETCONFIG_EXPORT const EtconfigBackend *etconfig_backend(const EtconfigHost *host, const char *backend_id,
                                                        EtconfigMessage *error);

/* Return nonzero if a library that was compiled with this header,
 * and needs `minor`, can work with the host. */
static inline int etconfig_accepts_host(const EtconfigHost *host, uint32_t minor) {
  return host != NULL && host->struct_size >= sizeof(EtconfigHost) && host->abi_major == ETCONFIG_ABI_MAJOR &&
         host->abi_minor >= minor;
}

#ifdef __cplusplus
}
#endif

#endif /* ETCONFIG_BACKEND_H */
