/* The C interface of etconfig/device.h and etconfig/facts.h: for C, and for languages that call C.
 *
 * The library is one file, etconfig_device.cpp. It allocates nothing: the caller has the memory of a device
 * object, and the bytes of the bundle, which must stay as they are while the object is used. Texts that are
 * passed in are copied. Texts that are returned as `const char*` belong to the bundle. Other texts are
 * written to a buffer, which may be NULL if its size is 0: such a function returns the bytes that the whole
 * text has without its NUL, as snprintf does. An object may be used by one thread at a time.
 *
 * Every function accepts NULL for the object and for texts, and calls in any order: it returns
 * ETCONFIG_DEVICE_BAD_ARGUMENT or ETCONFIG_DEVICE_WRONG_ORDER, or if
 * it returns something else, NULL, 0 or -1.
 *
 *   size_t size = etconfig_device_size();
 *   etconfig_device* device = etconfig_device_create(malloc(size), size);
 *   if (etconfig_device_open(device, data, data_size) != ETCONFIG_DEVICE_OK) ...
 *   etconfig_device_detect(device);
 *   etconfig_device_set_text(device, "power.source", "battery");
 *   if (etconfig_device_select(device) == ETCONFIG_DEVICE_OK &&
 *       etconfig_device_resolve(device, "forward", NULL) == ETCONFIG_DEVICE_OK) {
 *     int64_t threads = 0;
 *     etconfig_device_integer(device, "XnnpackBackend", "num_threads", &threads);
 *   }
 */
#ifndef ETCONFIG_DEVICE_C_H
#define ETCONFIG_DEVICE_C_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__) && !defined(_WIN32)
#pragma GCC visibility push(default) /* a library of hidden names exports these */
#endif
#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. It grows with each function, status or
   kind that is added. */
#define ETCONFIG_DEVICE_VERSION 2
/* The number of its ABI. It grows if a function, struct or number changes or goes away: a program that was
   compiled with this header runs with every library that has the same number and no lower version. */
#define ETCONFIG_DEVICE_ABI 1

typedef struct etconfig_device etconfig_device;

/* The statuses of etconfig::device::Status, in its order, and those of this interface. */
typedef enum {
  ETCONFIG_DEVICE_OK,
  ETCONFIG_DEVICE_NOT_A_BUNDLE,
  ETCONFIG_DEVICE_OTHER_VERSION,
  ETCONFIG_DEVICE_DAMAGED,
  ETCONFIG_DEVICE_NO_SUCH_FACT,
  ETCONFIG_DEVICE_WRONG_FACT,
  ETCONFIG_DEVICE_FACTS_FULL,
  ETCONFIG_DEVICE_NO_MATCH,
  ETCONFIG_DEVICE_AMBIGUOUS,
  ETCONFIG_DEVICE_FALLBACK_REFUSED,
  ETCONFIG_DEVICE_NO_SUCH_PROFILE,
  ETCONFIG_DEVICE_NO_SUCH_METHOD,
  ETCONFIG_DEVICE_NO_SUCH_INSTANCE,
  ETCONFIG_DEVICE_NO_SUCH_OPTION,
  ETCONFIG_DEVICE_MISSING_OPTION,
  ETCONFIG_DEVICE_UNKNOWN_FACT,
  ETCONFIG_DEVICE_EVALUATION_FAILED,
  ETCONFIG_DEVICE_INVALID_VALUE,
  ETCONFIG_DEVICE_TOO_SMALL,
  ETCONFIG_DEVICE_NO_SUCH_MODEL,
  ETCONFIG_DEVICE_NO_VARIANT,
  ETCONFIG_DEVICE_BAD_TEXT, /* the text of a fact is not UTF-8 */
  ETCONFIG_DEVICE_STALE,    /* what it refers to is of a bundle that was opened before */
  ETCONFIG_DEVICE_NOT_SIGNED,
  ETCONFIG_DEVICE_BAD_SIGNATURE,
  ETCONFIG_DEVICE_OLD_REVISION,
  ETCONFIG_DEVICE_EXPIRED,
  ETCONFIG_DEVICE_NO_BUNDLE,    /* the store is empty */
  ETCONFIG_DEVICE_ROLLED_BACK,  /* the bundle failed before */
  ETCONFIG_DEVICE_STORE_FAILED, /* the files of the store cannot be read or written */
  ETCONFIG_DEVICE_BAD_ARGUMENT = 100, /* NULL where something is needed */
  ETCONFIG_DEVICE_WRONG_ORDER = 101,  /* open, select or resolve first */
  ETCONFIG_DEVICE_OTHER_KIND = 102    /* the value of the option has another kind */
} etconfig_device_status;

/* The kinds of values, also those of facts: a list of texts is an array. */
typedef enum {
  ETCONFIG_DEVICE_NONE,
  ETCONFIG_DEVICE_BOOLEAN,
  ETCONFIG_DEVICE_INTEGER,
  ETCONFIG_DEVICE_NUMBER,
  ETCONFIG_DEVICE_TEXT,
  ETCONFIG_DEVICE_ARRAY,
  ETCONFIG_DEVICE_TABLE
} etconfig_device_kind;

/* Why these options and this variant were used. */
typedef enum {
  ETCONFIG_USAGE_MATCHED,  /* the profile's condition selected it */
  ETCONFIG_USAGE_FALLBACK, /* the load of an earlier variant failed */
  ETCONFIG_USAGE_NAMED,    /* the profile was named */
  ETCONFIG_USAGE_FIXED,    /* the configuration has no conditions left */
  ETCONFIG_USAGE_ERROR     /* nothing was resolved or loaded */
} etconfig_usage_reason;

/* What only the application knows about a use. Begin with ETCONFIG_USAGE_INIT; NULL and negative numbers are
   not written. Durations are microseconds. */
typedef struct {
  size_t size; /* of this struct, where the application was compiled */
  const char* device; /* the application's own name for the device */
  int64_t at_ms; /* Unix time */
  double load_us;
  double first_run_us;
  double p50_us; /* of `runs` runs */
  double p95_us;
  int64_t runs;
  const char* failure; /* of a load or run; 200 bytes of it are written */
} etconfig_usage;

#define ETCONFIG_USAGE_INIT {sizeof(etconfig_usage), NULL, -1, -1, -1, -1, -1, -1, NULL}
/* The bytes of the longest record, with its NUL. */
#define ETCONFIG_USAGE_BYTES 2049

/* The version of the interface that the library has: programs that
   load it at run time compare it with theirs. */
uint32_t etconfig_device_version(void);
/* The number of the ABI that the library has. */
uint32_t etconfig_device_abi(void);
/* The name of a status, such as "no profile matches". */
const char* etconfig_device_status_name(int status);

/* The bytes that an object takes. It has room for 256 facts with 32 KiB of texts, and for method instances of
   1,024 options; what does not fit is ETCONFIG_DEVICE_FACTS_FULL or ETCONFIG_DEVICE_TOO_SMALL. The macros
   ETCONFIG_DEVICE_MAX_OPTIONS and ETCONFIG_DEVICE_MAX_FACT_BYTES, defined
   where the library is compiled, make other room. */
size_t etconfig_device_size(void);
/* Creates an object in memory that is aligned as that of malloc; NULL if it is too small or not aligned.
   Nothing destroys it: the memory can just be freed. */
etconfig_device* etconfig_device_create(void* memory, size_t size);

/* --- the bundle --- */

/* Verifies a bundle and opens it; facts stay as they are. A refused one leaves the object as it was; an
   accepted one makes it forget the profile, arguments and model that it had before. */
int etconfig_device_open(etconfig_device* device, const void* data, size_t size);

/* Verifies an Ed25519 signature of 64 bytes with a public key of 32: 1 if it is right, else 0. */
typedef int (*etconfig_device_verifier)(void* context, const uint8_t* data, size_t size,
                                        const uint8_t* signature, const uint8_t* public_key);
/* The demands of an application on a bundle; all zeros demand nothing. */
typedef struct {
  etconfig_device_verifier verify; /* with it, a bundle needs a signature of one of the keys */
  void* context;                   /* for `verify` */
  const uint8_t* public_keys;      /* 32 bytes each */
  uint32_t key_count;
  uint64_t least_revision;
  uint64_t now; /* seconds since 1970 in UTC, to refuse a bundle that has expired; 0 refuses none */
} etconfig_device_demands;
/* The same for a bundle that the application does not trust yet. */
int etconfig_device_open_checked(etconfig_device* device, const void* data, size_t size,
                                 const etconfig_device_demands* demands);
/* The program that wrote the bundle, such as "etconfig 0.1.0". */
const char* etconfig_device_producer(const etconfig_device* device);
/* Equal for bundles that decide alike. */
const char* etconfig_device_fingerprint(const etconfig_device* device);
/* The first 16 digits of the fingerprint, for reports; NULL before `open`. It belongs to the object. */
const char* etconfig_device_id(const etconfig_device* device);
/* The fingerprint of the files that it was packed from; empty if they are unknown. */
const char* etconfig_device_sources(const etconfig_device* device);
/* The number of this release, which grows; 0 if it has none. */
uint64_t etconfig_device_revision(const etconfig_device* device);
/* The last second in which it is valid, since 1970 in UTC; 0 if it does not expire. */
uint64_t etconfig_device_not_after(const etconfig_device* device);

/* --- the store of bundles --- */

/* A directory that keeps the last good bundle and one on trial; etconfig/bundle_store.h describes it. Files
   need POSIX; elsewhere the functions return STORE_FAILED. */

/* Puts a bundle on trial. */
int etconfig_device_store_install(const char* directory, const void* data, size_t size,
                                  const etconfig_device_demands* demands);
/* The bytes that `load` needs; 0 if the store is empty. */
size_t etconfig_device_store_size(const char* directory);
/* Reads the bundle on trial, or the good one, into a buffer, and opens it as `open_checked` does. Call it
   once at each start: it counts the loads of a trial. */
int etconfig_device_store_load(etconfig_device* device, const char* directory, void* buffer, size_t capacity,
                               const etconfig_device_demands* demands);
/* Makes the bundle that the object loaded the good one. STALE: it loaded none, or another one was
   installed since. */
int etconfig_device_store_confirm(etconfig_device* device, const char* directory);
/* Gives it up for good, for the one before. */
int etconfig_device_store_reject(etconfig_device* device, const char* directory);

/* --- facts --- */

/* The facts that the bundle reads, sorted by name; NULL behind the last one. */
const char* etconfig_device_fact_name(const etconfig_device* device, uint32_t index);
/* Its unit; NULL if it has none. */
const char* etconfig_device_fact_unit(const etconfig_device* device, uint32_t index);
/* Its kind; -1 behind the last one. */
int etconfig_device_fact_kind(const etconfig_device* device, uint32_t index);
/* 1 if the fact may change at any time: detect it again before
   an update. 0 if not, -1 behind the last one. */
int etconfig_device_fact_is_live(const etconfig_device* device, uint32_t index);

/* Detects the facts that the bundle reads, as facts.h does; those that the application has set stay as they
   are. Takes up to 112 kB of the stack. */
int etconfig_device_detect(etconfig_device* device);
/* Sets a fact, after a check of its name, type, bounds and choices. */
int etconfig_device_set_boolean(etconfig_device* device, const char* fact, int value);
int etconfig_device_set_integer(etconfig_device* device, const char* fact, int64_t value);
int etconfig_device_set_number(etconfig_device* device, const char* fact, double value);
int etconfig_device_set_text(etconfig_device* device, const char* fact, const char* value);
int etconfig_device_set_texts(etconfig_device* device, const char* fact, const char* const* values,
                              uint32_t count);
/* Makes a fact unknown, with a reason, as of a service that does not answer. Detection leaves it alone. */
int etconfig_device_set_unknown(etconfig_device* device, const char* fact, const char* reason);
/* Sets `runtime.backends`, the ids of the backends that the runtime
   has. OK also if the bundle does not read it. */
int etconfig_device_set_backends(etconfig_device* device, const char* const* ids, uint32_t count);
/* Forgets a fact that was set or detected; detection may find it again. */
int etconfig_device_forget(etconfig_device* device, const char* fact);
/* Writes the facts that are set or detected, as `etconfig facts --json`: a sheet that the commands of
   etconfig read. A fact that identifies the device, such as
   `device.id`, has a reason in place of its value. */
size_t etconfig_device_facts_json(const etconfig_device* device, char* buffer, size_t size);

/* --- profiles --- */

/* Selects the profile that fits the facts. */
int etconfig_device_select(etconfig_device* device);
/* Names the profile instead. */
int etconfig_device_use_profile(etconfig_device* device, const char* name);
/* The name of the selected profile; NULL if there is none. */
const char* etconfig_device_profile(const etconfig_device* device);
/* 1 if no profile is about this device, so that the one that matches every
   device is left; 0 if not, -1 without profile. */
int etconfig_device_is_fallback(const etconfig_device* device);
/* The fact that has the wrong type or value after `select` returned WRONG_FACT; else NULL. */
const char* etconfig_device_wrong_fact(const etconfig_device* device);
/* The profiles of the bundle, sorted by name; NULL behind the last one. */
const char* etconfig_device_profile_name(const etconfig_device* device, uint32_t index);
/* Writes why a profile matches or not: a line for each clause of its condition that decides. */
size_t etconfig_device_explain_match(const etconfig_device* device, uint32_t index, char* buffer,
                                     size_t size);
/* The method instances of the selected profile: the name of the
   method, "*" for any; NULL behind the last one. */
const char* etconfig_device_method(const etconfig_device* device, uint32_t index);
/* The name of the instance; NULL for the default one, and behind the last one. */
const char* etconfig_device_instance(const etconfig_device* device, uint32_t index);

/* --- arguments --- */

/* Resolves the arguments of a method instance, with the selected
   profile; the instance NULL is the default one. */
int etconfig_device_resolve(etconfig_device* device, const char* method, const char* instance);
/* Resolves again after facts have changed. Counts the options that changed, and those of them that apply at
   the next execute; others need a new load. Both may be NULL.
   If it fails, the arguments stay as they were. */
int etconfig_device_update(etconfig_device* device, uint32_t* changed, uint32_t* at_execute);

/* The options of all backends, those of one backend together; NULL behind the last one. */
const char* etconfig_device_option_backend(const etconfig_device* device, uint32_t index);
const char* etconfig_device_option_name(const etconfig_device* device, uint32_t index);
/* The options that the last update changed; NULL behind the last one, and if it failed. */
const char* etconfig_device_changed_backend(const etconfig_device* device, uint32_t index);
const char* etconfig_device_changed_name(const etconfig_device* device, uint32_t index);
/* The options without a valid value, after a resolve or update that failed: status, -1 behind the last one;
   and a line that says which option and why, 0 behind the last one. */
int etconfig_device_problem_status(const etconfig_device* device, uint32_t index);
size_t etconfig_device_problem(const etconfig_device* device, uint32_t index, char* buffer, size_t size);

/* The kind of an option's value; -1 if there is no such option. */
int etconfig_device_value_kind(const etconfig_device* device, const char* backend, const char* option);
/* The value of an option. NO_SUCH_OPTION: there is none. OTHER_KIND: its value has another kind. */
int etconfig_device_boolean(const etconfig_device* device, const char* backend, const char* option,
                            int* value);
int etconfig_device_integer(const etconfig_device* device, const char* backend, const char* option,
                            int64_t* value);
int etconfig_device_number(const etconfig_device* device, const char* backend, const char* option,
                           double* value);
/* Writes a text as it is, and any other value as in a condition: true,
   4, 0.5, [1, 2]. 0 if there is no such option. */
size_t etconfig_device_text(const etconfig_device* device, const char* backend, const char* option,
                            char* buffer, size_t size);
/* Writes the value as JSON, with every item of an array or table. 0 if there is no such option. */
size_t etconfig_device_json(const etconfig_device* device, const char* backend, const char* option,
                            char* buffer, size_t size);
/* The place that the value comes from; NULL if there is no such option. */
const char* etconfig_device_origin(const etconfig_device* device, const char* backend, const char* option);
/* 1 if the last update changed the option, else 0; -1 if there is no such option. */
int etconfig_device_is_changed(const etconfig_device* device, const char* backend, const char* option);
/* 1 if a changed value applies at the next execute, 0 if it
   needs a new load; -1 if there is no such option. */
int etconfig_device_applies_at_execute(const etconfig_device* device, const char* backend,
                                       const char* option);
/* Writes one line with the value of an option and its origin, or why it has none. The path is
   [METHOD[@INSTANCE]:]BACKEND.OPTION. 0 if there is no such option. */
size_t etconfig_device_explain(const etconfig_device* device, const char* path, char* buffer, size_t size);

/* --- models --- */

/* The models of the bundle; NULL behind the last one. */
const char* etconfig_device_model_name(const etconfig_device* device, uint32_t index);
/* Selects the variant of a model; `file` is its file, NULL if there is none, and may be NULL itself. */
int etconfig_device_select_model(etconfig_device* device, const char* model, const char** file);
/* Goes on to the next variant after a load has failed; `file` is its file. NO_VARIANT: there is none, or the
   model has no fallback; then the choice stays as it is. Of the
   reason, 255 bytes are kept, for eight variants. */
int etconfig_device_next_variant(etconfig_device* device, const char* reason, const char** file);
/* The files of the variants of the model that was asked for; NULL behind the last one. */
const char* etconfig_device_variant_file(const etconfig_device* device, uint32_t index);
/* The id of the backend whose engine runs the file of a variant; NULL for a program, which an executor runs,
   and behind the last one. */
const char* etconfig_device_variant_backend(const etconfig_device* device, uint32_t index);
/* The index of the chosen variant; -1 if there is none. */
int etconfig_device_variant(const etconfig_device* device);
/* 1 if a later variant takes over should one fail to load, 0 if not; -1 without a model. */
int etconfig_device_has_fallback(const etconfig_device* device);
/* Writes why a variant was chosen, or why not: a line for each reason. 0 behind the last one. */
size_t etconfig_device_explain_variant(const etconfig_device* device, uint32_t index, char* buffer,
                                       size_t size);

/* --- usage --- */

/* Writes the record of what is used now, one line of JSON, with bundle, arguments and variant, if there
   are any. `usage` may be NULL. If something is refused, the buffer is empty. TOO_SMALL: a record needs
   ETCONFIG_USAGE_BYTES at most; or its names alone take more. INVALID_VALUE: a duration is not finite.
   WRONG_ORDER: nothing was selected, and there is no `failure`. */
int etconfig_device_usage(const etconfig_device* device, const etconfig_usage* usage, char* buffer,
                          size_t size);
/* The reason that the record would have; -1 for NULL. */
int etconfig_device_usage_reason(const etconfig_device* device, const etconfig_usage* usage);
/* The word for a reason in a record. */
const char* etconfig_device_usage_reason_name(int reason);

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__) && !defined(_WIN32)
#pragma GCC visibility pop
#endif

#endif
