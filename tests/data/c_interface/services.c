/* A library that uses one service in one way, by the id that it is asked for. Its arguments are two tensors: float32 [4],
 * and an output with the bound [4]. */
#include <etconfig/backend.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int state;

static EtconfigStatus init(const EtconfigInit *request, void **handle, EtconfigMessage *error) {
  const EtconfigServices *services = request->services;
  (void)error;
  if (services->is_cancelled(services->context)) return ETCONFIG_INTERNAL;
  *handle = &state;
  return ETCONFIG_OK;
}

static EtconfigStatus say(EtconfigMessage *error, EtconfigStatus status, const char *text) {
  snprintf(error->text, error->capacity, "%s", text);
  return status;
}

static EtconfigStatus allocated(const EtconfigRun *call, size_t size, size_t alignment) {
  const char *memory = (const char *)call->services->allocate(call->services->context, size, alignment);
  size_t i;
  if (memory == NULL) return ETCONFIG_MEMORY_ALLOCATION_FAILED;
  if ((uintptr_t)memory % (alignment == 0 ? 1 : alignment) != 0) return ETCONFIG_INTERNAL;
  for (i = 0; i < size; ++i) {
    if (memory[i] != 0) return ETCONFIG_INVALID_STATE;
  }
  memset((void *)(uintptr_t)memory, 1, size);
  return ETCONFIG_OK;
}

static EtconfigStatus memory(void *handle, const EtconfigRun *call, EtconfigMessage *error) {
  static const size_t sizes[] = {1, 100, 0, 4096, 100};
  size_t i, j;
  (void)handle;
  (void)error;
  for (i = 0; i < sizeof(sizes) / sizeof(*sizes); ++i) {
    for (j = 0; j <= 4096; j = j == 0 ? 1 : 2 * j) {
      const EtconfigStatus status = allocated(call, sizes[i], j);
      if (status != ETCONFIG_OK) return status;
    }
  }
  return ETCONFIG_OK;
}

static EtconfigStatus odd_alignment(void *handle, const EtconfigRun *call, EtconfigMessage *error) {
  (void)handle;
  (void)error;
  return allocated(call, 100, 48);
}

/* The failure of a service does not matter if the run succeeds. */
static EtconfigStatus odd_alignment_ignored(void *handle, const EtconfigRun *call, EtconfigMessage *error) {
  (void)handle;
  (void)error;
  return allocated(call, 100, 48) == ETCONFIG_OK ? ETCONFIG_INTERNAL : ETCONFIG_OK;
}

static EtconfigStatus too_much(void *handle, const EtconfigRun *call, EtconfigMessage *error) {
  (void)handle;
  return say(error, allocated(call, (size_t)1 << 62, 64), "no memory");
}

static EtconfigStatus all(void *handle, const EtconfigRun *call, EtconfigMessage *error) {
  (void)handle;
  return say(error, allocated(call, (size_t)-1, 64), "no memory");
}

static EtconfigStatus resized(const EtconfigRun *call, size_t index, int32_t first, int32_t second, int32_t rank) {
  const int32_t sizes[2] = {first, second};
  return call->services->resize_output(call->services->context, index, sizes, rank);
}

static EtconfigStatus smaller(void *handle, const EtconfigRun *call, EtconfigMessage *error) {
  const EtconfigTensor *output = call->values[1].as.tensor;
  EtconfigStatus status;
  int32_t i;
  (void)handle;
  (void)error;
  status = resized(call, 1, 3, 0, 1);
  if (status != ETCONFIG_OK) return status;
  if (output->sizes[0] != 3 || output->size_bytes != 12) return ETCONFIG_INVALID_STATE;
  for (i = 0; i < 3; ++i) ((float *)output->data)[i] = (float)i;
  return ETCONFIG_OK;
}

static EtconfigStatus same(void *handle, const EtconfigRun *call, EtconfigMessage *error) {
  (void)handle;
  (void)error;
  memset(call->values[1].as.tensor->data, 0, 16);
  return resized(call, 0, 4, 0, 1) == ETCONFIG_OK ? resized(call, 1, 4, 0, 1) : ETCONFIG_INTERNAL;
}

#define RESIZE(name, ...)                                                                     \
  static EtconfigStatus name(void *handle, const EtconfigRun *call, EtconfigMessage *error) { \
    (void)handle;                                                                             \
    return say(error, resized(call, __VA_ARGS__), "not resized");                             \
  }
RESIZE(larger, 1, 5, 0, 1)
RESIZE(static_sizes, 0, 3, 0, 1)
RESIZE(other_rank, 1, 2, 2, 2)
RESIZE(negative_rank, 1, 2, 2, -1)
RESIZE(huge_rank, 1, 2, 2, 1000)
RESIZE(negative_size, 1, -1, 0, 1)
RESIZE(no_argument, 7, 4, 0, 1)
RESIZE(far_argument, (size_t)-1, 4, 0, 1)

static EtconfigStatus no_sizes(void *handle, const EtconfigRun *call, EtconfigMessage *error) {
  (void)handle;
  return say(error, call->services->resize_output(call->services->context, 1, NULL, 1), "not resized");
}

static EtconfigStatus count(void *argument, size_t index) {
  __atomic_fetch_add((int *)argument, 1, __ATOMIC_RELAXED);
  return index == 2 || index == 5 ? (EtconfigStatus)(0x7000 + index) : ETCONFIG_OK;
}

static EtconfigStatus parallel(const EtconfigRun *call, size_t parts, size_t workers, int expected) {
  int done = 0;
  const EtconfigStatus status = call->services->parallel_for(call->services->context, parts, workers, &count, &done);
  return done == expected ? status : ETCONFIG_INVALID_STATE;
}

static EtconfigStatus failing_parts(void *handle, const EtconfigRun *call, EtconfigMessage *error) {
  (void)handle;
  (void)error;
  return parallel(call, 8, 3, 8);
}

static EtconfigStatus few_parts(void *handle, const EtconfigRun *call, EtconfigMessage *error) {
  (void)handle;
  (void)error;
  memset(call->values[1].as.tensor->data, 0, 16);
  if (parallel(call, 0, 3, 0) != ETCONFIG_OK) return ETCONFIG_INTERNAL;
  return parallel(call, 2, 0, 2);
}

static EtconfigStatus no_task(void *handle, const EtconfigRun *call, EtconfigMessage *error) {
  (void)handle;
  (void)error;
  return call->services->parallel_for(call->services->context, 2, 1, NULL, NULL);
}

static EtconfigStatus wrong_line(void *handle, const EtconfigRun *call, EtconfigMessage *error) {
  (void)handle;
  call->services->log(call->services->context, ETCONFIG_LOG_INFO, (const char *)8);
  return say(error, ETCONFIG_INTERNAL, "the line was wrong");
}

static EtconfigStatus wrong_line_ignored(void *handle, const EtconfigRun *call, EtconfigMessage *error) {
  (void)handle;
  (void)error;
  memset(call->values[1].as.tensor->data, 0, 16);
  call->services->log(call->services->context, ETCONFIG_LOG_INFO, (const char *)8);
  return ETCONFIG_OK;
}

static EtconfigStatus line(void *handle, const EtconfigRun *call, EtconfigMessage *error) {
  (void)handle;
  (void)error;
  memset(call->values[1].as.tensor->data, 0, 16);
  call->services->log(call->services->context, ETCONFIG_LOG_INFO, "a line");
  return ETCONFIG_OK;
}

static EtconfigStatus run_services(void *handle, const EtconfigRun *call, EtconfigMessage *error) {
  const EtconfigServices *services = call->services;
  (void)handle;
  memset(call->values[1].as.tensor->data, 0, 16);
  if (services->find_data != NULL || services->release_payload != NULL || services->struct_size < sizeof(*services)) {
    return say(error, ETCONFIG_INTERNAL, "a service of init");
  }
  return services->is_cancelled(services->context) ? ETCONFIG_INTERNAL : ETCONFIG_OK;
}

/* Runs until the caller no longer wants the result. */
static EtconfigStatus until_cancelled(void *handle, const EtconfigRun *call, EtconfigMessage *error) {
  (void)handle;
  while (!call->services->is_cancelled(call->services->context)) {
  }
  return say(error, ETCONFIG_OUT_OF_RESOURCES, "stopped");
}

static EtconfigStatus until_cancelled_ok(void *handle, const EtconfigRun *call, EtconfigMessage *error) {
  until_cancelled(handle, call, error);
  return ETCONFIG_OK;
}

static EtconfigStatus wait_in_part(void *argument, size_t index) {
  const EtconfigRun *call = (const EtconfigRun *)argument;
  (void)index;
  while (!call->services->is_cancelled(call->services->context)) {
  }
  return ETCONFIG_OK;
}

/* No further part begins once the run must stop: the loop is long, and each part waits. */
static EtconfigStatus parts_until_cancelled(void *handle, const EtconfigRun *call, EtconfigMessage *error) {
  EtconfigRun copy = *call;
  (void)handle;
  return say(error, call->services->parallel_for(call->services->context, (size_t)1 << 40, 2, &wait_in_part, &copy),
             "parts were left out");
}

static void destroy(void *handle) { (void)handle; }

static const struct {
  const char *id;
  EtconfigStatus (*run)(void *, const EtconfigRun *, EtconfigMessage *);
} cases[] = {
    {"memory", &memory},
    {"odd-alignment", &odd_alignment},
    {"odd-alignment-ignored", &odd_alignment_ignored},
    {"too-much", &too_much},
    {"all", &all},
    {"smaller", &smaller},
    {"same", &same},
    {"larger", &larger},
    {"static-sizes", &static_sizes},
    {"other-rank", &other_rank},
    {"negative-rank", &negative_rank},
    {"huge-rank", &huge_rank},
    {"negative-size", &negative_size},
    {"no-argument", &no_argument},
    {"far-argument", &far_argument},
    {"no-sizes", &no_sizes},
    {"failing-parts", &failing_parts},
    {"few-parts", &few_parts},
    {"no-task", &no_task},
    {"wrong-line", &wrong_line},
    {"wrong-line-ignored", &wrong_line_ignored},
    {"line", &line},
    {"run-services", &run_services},
    {"until-cancelled", &until_cancelled},
    {"until-cancelled-ok", &until_cancelled_ok},
    {"parts-until-cancelled", &parts_until_cancelled},
};

const EtconfigBackend *etconfig_backend(const EtconfigHost *host, const char *id, EtconfigMessage *error) {
  static EtconfigBackend tables[sizeof(cases) / sizeof(*cases)];
  size_t i;
  (void)host;
  (void)error;
  for (i = 0; i < sizeof(cases) / sizeof(*cases); ++i) {
    if (strcmp(id, cases[i].id) == 0) {
      const EtconfigBackend table = {
          sizeof(EtconfigBackend), ETCONFIG_ABI_MAJOR, 0, NULL, &init, cases[i].run, NULL, NULL, &destroy};
      tables[i] = table;
      return &tables[i];
    }
  }
  return NULL;
}
