/* A library that does each thing wrong, by the id that it is asked for. */
#include <etconfig/backend.h>
#include <string.h>

static int state;

static EtconfigStatus init(const EtconfigInit *request, void **handle, EtconfigMessage *error) {
  (void)request;
  (void)error;
  *handle = &state;
  return ETCONFIG_OK;
}

static EtconfigStatus init_without_handle(const EtconfigInit *request, void **handle, EtconfigMessage *error) {
  (void)request;
  (void)handle;
  (void)error;
  return ETCONFIG_OK;
}

static EtconfigStatus init_without_end(const EtconfigInit *request, void **handle, EtconfigMessage *error) {
  (void)request;
  (void)handle;
  memset(error->text, 'x', error->capacity);
  return ETCONFIG_INVALID_PROGRAM;
}

static EtconfigStatus init_not_utf8(const EtconfigInit *request, void **handle, EtconfigMessage *error) {
  (void)request;
  (void)handle;
  memcpy(error->text, "bad \xff", 6);
  return 0x7777;
}

static EtconfigStatus init_replaces_message(const EtconfigInit *request, void **handle, EtconfigMessage *error) {
  (void)request;
  (void)handle;
  error->text = (char *)8;
  error->capacity = (size_t)-1;
  return ETCONFIG_INTERNAL;
}

static EtconfigStatus run_null_task(void *handle, const EtconfigRun *call, EtconfigMessage *error) {
  (void)handle;
  (void)error;
  return call->services->parallel_for(call->services->context, 2, 1, NULL, NULL);
}

static EtconfigStatus run(void *handle, const EtconfigRun *call, EtconfigMessage *error) {
  (void)handle;
  (void)error;
  call->services->log(call->services->context, 99, (const char *)8);
  return call->services->resize_output(call->services->context, 0, NULL, 3);
}

static EtconfigStatus bad_text(void *handle, EtconfigOption *options, size_t count, EtconfigMessage *error) {
  (void)handle;
  (void)error;
  (void)count;
  options[0].value.kind = ETCONFIG_KIND_TEXT;
  options[0].value.as.text = (const char *)8;
  return ETCONFIG_OK;
}

static EtconfigStatus bad_kind(void *handle, EtconfigOption *options, size_t count, EtconfigMessage *error) {
  (void)handle;
  (void)error;
  (void)count;
  options[0].value.kind = 1234;
  return ETCONFIG_OK;
}

static EtconfigStatus bad_count(void *handle, EtconfigOption *options, size_t count, EtconfigMessage *error) {
  (void)handle;
  (void)error;
  (void)count;
  options[0].value.kind = ETCONFIG_KIND_LIST;
  options[0].value.size = (size_t)-1;
  return ETCONFIG_OK;
}

static EtconfigStatus cyclic(void *handle, EtconfigOption *options, size_t count, EtconfigMessage *error) {
  static EtconfigValue item;
  (void)handle;
  (void)error;
  (void)count;
  item.kind = ETCONFIG_KIND_LIST;
  item.size = 1;
  item.as.items = &item;
  options[0].value = item;
  return ETCONFIG_OK;
}

static void destroy(void *handle) { (void)handle; }

static EtconfigBackend table(void) {
  EtconfigBackend result;
  memset(&result, 0, sizeof(result));
  result.struct_size = sizeof(result);
  result.abi_major = ETCONFIG_ABI_MAJOR;
  result.init = &init;
  result.run = &run;
  result.destroy = &destroy;
  return result;
}

EtconfigBackend last;

const EtconfigBackend *etconfig_backend(const EtconfigHost *host, const char *id, EtconfigMessage *error) {
  last = table();
  if (strcmp(id, "older-major") == 0) last.abi_major = 0;
  if (strcmp(id, "newer-major") == 0) last.abi_major = ETCONFIG_ABI_MAJOR + 1;
  if (strcmp(id, "newer-minor") == 0) last.abi_minor = ETCONFIG_ABI_MINOR + 1;
  if (strcmp(id, "short-table") == 0) last.struct_size = 24;
  if (strcmp(id, "huge-table") == 0) last.struct_size = (size_t)-1;
  if (strcmp(id, "no-run") == 0) last.run = NULL;
  if (strcmp(id, "garbage-run") == 0) memset(&last.run, 0x11, sizeof(last.run));
  if (strcmp(id, "no-handle") == 0) last.init = &init_without_handle;
  if (strcmp(id, "endless-message") == 0) last.init = &init_without_end;
  if (strcmp(id, "not-utf8") == 0) last.init = &init_not_utf8;
  if (strcmp(id, "replaced-message") == 0) last.init = &init_replaces_message;
  if (strcmp(id, "bad-text") == 0) last.effective_options = &bad_text;
  if (strcmp(id, "bad-kind") == 0) last.effective_options = &bad_kind;
  if (strcmp(id, "bad-count") == 0) last.effective_options = &bad_count;
  if (strcmp(id, "cyclic") == 0) last.effective_options = &cyclic;
  if (strcmp(id, "null-task") == 0) last.run = &run_null_task;
  if (strcmp(id, "garbage-table") == 0) return (const EtconfigBackend *)8;
  if (strcmp(id, "null-table") == 0) return NULL;
  if (strcmp(id, "refuses-host") == 0 && !etconfig_accepts_host(host, ETCONFIG_ABI_MINOR + 1)) {
    strcpy(error->text, "it needs a newer etconfig");
    return NULL;
  }
  return &last;
}
