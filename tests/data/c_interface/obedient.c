/* A library that uses every service, and reports what it was given. */
#include <etconfig/backend.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Handle {
  const EtconfigOption *options; /* of the last call; only a test may rely on the host keeping them */
  size_t option_count;
  char log[1024];
  char mode[64];
  int32_t sizes[1];
} Handle;

static const EtconfigOption *find(const EtconfigOption *options, size_t count, const char *name) {
  size_t i;
  for (i = 0; i < count; ++i) {
    if (strcmp(options[i].name, name) == 0) return &options[i];
  }
  return NULL;
}

static EtconfigStatus say(EtconfigMessage *error, EtconfigStatus status, const char *text) {
  snprintf(error->text, error->capacity, "%s", text);
  return status;
}

static EtconfigStatus init(const EtconfigInit *request, void **result, EtconfigMessage *error) {
  const EtconfigServices *services = request->services;
  const void *data = NULL;
  size_t size = 0, i, used;
  Handle *handle;
  if (services->resize_output != NULL || services->struct_size < sizeof(*services)) return ETCONFIG_INTERNAL;
  if (services->find_data(services->context, "absent", &data, &size) != ETCONFIG_NOT_FOUND) return ETCONFIG_INTERNAL;
  if (request->payload_size >= 4 && memcmp(request->payload, "fail", 4) == 0) {
    return say(error, ETCONFIG_DELEGATE_INVALID_COMPATIBILITY, "made for another device");
  }
  handle = (Handle *)services->allocate(services->context, sizeof(Handle), 64);
  if (handle == NULL) return ETCONFIG_MEMORY_ALLOCATION_FAILED;
  used = (size_t)snprintf(handle->log, sizeof(handle->log), "%s %s %d payload=%.*s", request->method_name,
                          request->instance_name == NULL ? "-" : request->instance_name,
                          (int)request->delegate_index, (int)request->payload_size, (const char *)request->payload);
  for (i = 0; i < request->compile_spec_count; ++i) {
    const EtconfigCompileSpec *spec = &request->compile_specs[i];
    used += (size_t)snprintf(handle->log + used, sizeof(handle->log) - used, " %s=%.*s", spec->key, (int)spec->size,
                             (const char *)spec->data);
  }
  if (services->find_data(services->context, "weights", &data, &size) == ETCONFIG_OK) {
    snprintf(handle->log + used, sizeof(handle->log) - used, " weights=%.*s", (int)size, (const char *)data);
  }
  services->log(services->context, ETCONFIG_LOG_INFO, handle->log);
  services->release_payload(services->context);
  handle->options = request->options;
  handle->option_count = request->option_count;
  *result = handle;
  return ETCONFIG_OK;
}

typedef struct Work {
  const float *from;
  float *to;
  size_t failing;
} Work;

static EtconfigStatus double_one(void *argument, size_t index) {
  const Work *work = (const Work *)argument;
  if (index == work->failing) return ETCONFIG_OUT_OF_RESOURCES;
  work->to[index] = 2 * work->from[index];
  return ETCONFIG_OK;
}

/* values: float32 [n], then a list or None, then the output float32 [n]. */
static EtconfigStatus run(void *opaque, const EtconfigRun *call, EtconfigMessage *error) {
  Handle *handle = (Handle *)opaque;
  const EtconfigServices *services = call->services;
  const EtconfigTensor *in, *out;
  Work work;
  const EtconfigOption *mode = find(call->options, call->option_count, "mode");
  if (call->value_count != 3 || call->values[0].kind != ETCONFIG_KIND_TENSOR ||
      call->values[2].kind != ETCONFIG_KIND_TENSOR) {
    return say(error, ETCONFIG_INVALID_ARGUMENT, "it takes a tensor, a list and a tensor");
  }
  if (services->is_cancelled != NULL && services->is_cancelled(services->context)) {
    return say(error, ETCONFIG_INVALID_STATE, "the call was canceled");
  }
  in = call->values[0].as.tensor;
  out = call->values[2].as.tensor;
  if (out->sizes[0] != in->sizes[0]) {
    const EtconfigStatus status = services->resize_output(services->context, 2, in->sizes, in->rank);
    if (status != ETCONFIG_OK) return say(error, status, "the output cannot have these sizes");
  }
  if (services->allocate(services->context, 100, 256) == NULL) return ETCONFIG_MEMORY_ALLOCATION_FAILED;
  snprintf(handle->mode, sizeof(handle->mode), "%s", mode == NULL ? "?" : mode->value.as.text);
  work.from = (const float *)in->data;
  work.to = (float *)out->data;
  work.failing = call->values[1].kind == ETCONFIG_KIND_LIST ? (size_t)call->values[1].as.items[0].as.integer : (size_t)-1;
  handle->options = call->options;
  if (call->resource != NULL) *(int32_t *)call->resource += 1;
  return services->parallel_for(services->context, (size_t)in->sizes[0], 4, &double_one, &work);
}

static EtconfigStatus update(void *opaque, const EtconfigOption *options, size_t count, EtconfigMessage *error) {
  const EtconfigOption *mode = find(options, count, "mode");
  Handle *handle = (Handle *)opaque;
  if (mode != NULL && strcmp(mode->value.as.text, "broken") == 0) {
    return say(error, ETCONFIG_NOT_SUPPORTED, "not this mode");
  }
  snprintf(handle->mode, sizeof(handle->mode), "%s", mode == NULL ? "?" : mode->value.as.text);
  return ETCONFIG_OK;
}

/* All as received, but for the mode, which is the one of the last run or update. */
static EtconfigStatus effective(void *opaque, EtconfigOption *options, size_t count, EtconfigMessage *error) {
  const Handle *handle = (const Handle *)opaque;
  size_t i;
  (void)error;
  for (i = 0; i < count; ++i) {
    if (options[i].value.kind != ETCONFIG_KIND_NONE) return ETCONFIG_INTERNAL;
    if (strcmp(options[i].name, "mode") == 0) {
      options[i].value.kind = ETCONFIG_KIND_TEXT;
      options[i].value.as.text = handle->mode;
    } else {
      options[i].value = find(handle->options, handle->option_count, options[i].name)->value;
    }
  }
  return ETCONFIG_OK;
}

static EtconfigStatus availability(EtconfigMessage *reason, EtconfigMessage *fix) {
  if (getenv("OBEDIENT_DEVICE") == NULL) return ETCONFIG_OK;
  say(reason, 0, "the device is switched off");
  return say(fix, ETCONFIG_NOT_FOUND, "switch it on");
}

static void destroy(void *handle) { (void)handle; }

static const EtconfigBackend table = {sizeof(EtconfigBackend), ETCONFIG_ABI_MAJOR, 0,          &availability, &init, &run,
                                      &update,                 &effective,         &destroy};

const EtconfigBackend *etconfig_backend(const EtconfigHost *host, const char *id, EtconfigMessage *error) {
  (void)id;
  (void)error;
  return etconfig_accepts_host(host, 0) ? &table : NULL;
}
