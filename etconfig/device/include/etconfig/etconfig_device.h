/* The C interface of etconfig/device.h: for C, and for other languages (JNI, Swift, ctypes).
 *
 * The library is one file, etconfig_device.cpp. It allocates nothing: the caller has the memory of a device object, and
 * the bytes of the bundle, which must stay as they are while the object is used. Texts that are returned as `const char*`
 * belong to the bundle. Other texts are written to a buffer: such a function returns the bytes that the whole text has
 * without its NUL, as snprintf does. An object may be used by one thread at a time.
 *
 *   size_t size = etconfig_device_size();
 *   etconfig_device* device = etconfig_device_create(malloc(size), size);
 *   if (etconfig_device_open(device, data, data_size) != ETCONFIG_DEVICE_OK) ...
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

#ifdef __cplusplus
extern "C" {
#endif

typedef struct etconfig_device etconfig_device;

/* The statuses of etconfig::device::Status, in its order. */
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
  ETCONFIG_DEVICE_NO_VARIANT
} etconfig_device_status;

/* The kinds of values. */
typedef enum {
  ETCONFIG_DEVICE_NONE,
  ETCONFIG_DEVICE_BOOLEAN,
  ETCONFIG_DEVICE_INTEGER,
  ETCONFIG_DEVICE_NUMBER,
  ETCONFIG_DEVICE_TEXT,
  ETCONFIG_DEVICE_ARRAY,
  ETCONFIG_DEVICE_TABLE
} etconfig_device_kind;

/* The name of a status, such as "no profile matches". */
const char* etconfig_device_status_name(int status);

/* The bytes that an object takes. */
size_t etconfig_device_size(void);
/* Creates an object in memory that is aligned as that of malloc; NULL if it is too small. Nothing destroys it: the
   memory can just be freed. */
etconfig_device* etconfig_device_create(void* memory, size_t size);

/* Verifies a bundle and opens it; facts stay as they are. A refused one leaves the object as it was; an accepted one
   makes it forget the profile, arguments and model that it had before. */
int etconfig_device_open(etconfig_device* device, const void* data, size_t size);

/* The facts that the bundle reads, sorted by name; NULL behind the last one. */
const char* etconfig_device_fact_name(const etconfig_device* device, uint32_t index);
/* Sets a fact, after a check of its name, type, bounds and choices. */
int etconfig_device_set_boolean(etconfig_device* device, const char* fact, int value);
int etconfig_device_set_integer(etconfig_device* device, const char* fact, int64_t value);
int etconfig_device_set_number(etconfig_device* device, const char* fact, double value);
int etconfig_device_set_text(etconfig_device* device, const char* fact, const char* value);
int etconfig_device_set_texts(etconfig_device* device, const char* fact, const char* const* values, uint32_t count);
/* Makes a fact unknown. */
void etconfig_device_forget(etconfig_device* device, const char* fact);

/* Selects the profile that fits the facts. */
int etconfig_device_select(etconfig_device* device);
/* Names the profile instead. */
int etconfig_device_use_profile(etconfig_device* device, const char* name);
/* The name of the selected profile; NULL if there is none. */
const char* etconfig_device_profile(const etconfig_device* device);
/* The profiles of the bundle, sorted by name; NULL behind the last one. */
const char* etconfig_device_profile_name(const etconfig_device* device, uint32_t index);
/* Writes why a profile matches or not: a line for each clause of its condition that decides. */
size_t etconfig_device_explain_match(const etconfig_device* device, uint32_t index, char* buffer, size_t size);

/* Resolves the arguments of a method instance, with the selected profile; the instance NULL is the default one. */
int etconfig_device_resolve(etconfig_device* device, const char* method, const char* instance);
/* Resolves again after facts have changed. Counts the options that changed, and those of them that apply at the next
   execute; others need a new load. If it fails, the arguments stay as they were. */
int etconfig_device_update(etconfig_device* device, uint32_t* changed, uint32_t* at_execute);

/* The kind of an option's value; -1 if there is no such option. */
int etconfig_device_value_kind(const etconfig_device* device, const char* backend, const char* option);
/* The value of an option. NO_SUCH_OPTION: there is none, or its value has another kind. */
int etconfig_device_boolean(const etconfig_device* device, const char* backend, const char* option, int* value);
int etconfig_device_integer(const etconfig_device* device, const char* backend, const char* option, int64_t* value);
int etconfig_device_number(const etconfig_device* device, const char* backend, const char* option, double* value);
/* Writes a text as it is, and any other value as in a condition: true, 4, 0.5, [1, 2]. 0 if there is no such option. */
size_t etconfig_device_text(const etconfig_device* device, const char* backend, const char* option, char* buffer,
                            size_t size);
/* 1 if the last update changed the option, else 0; -1 if there is no such option. */
int etconfig_device_is_changed(const etconfig_device* device, const char* backend, const char* option);
/* Writes one line with the value of an option and its origin. The path is [METHOD[@INSTANCE]:]BACKEND.OPTION. */
size_t etconfig_device_explain(const etconfig_device* device, const char* path, char* buffer, size_t size);

/* Selects the variant of a model; `file` is its file, NULL if there is none. */
int etconfig_device_select_model(etconfig_device* device, const char* model, const char** file);
/* Goes on to the next variant after a load has failed; `file` is its file. NO_VARIANT: there is none, or the model has no
   fallback. */
int etconfig_device_next_variant(etconfig_device* device, const char* reason, const char** file);

#ifdef __cplusplus
}
#endif

#endif
