/* A small execution provider for tests: it has one device for each CPU, takes the option `power`, and runs no node.
 *
 * The wheel of ONNX Runtime has no headers. So this file declares, of its C API of version 23, the places of the few
 * functions that it calls, and the first members of two structures. Neither changes in later versions.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef void (*Function)(void);
typedef struct Status Status;

enum { API = 23, FAIL = 1, CPU = 0 };
enum { CREATE_STATUS = 0, GET_ENTRY = 238, CREATE_PAIRS = 295, ADD_PAIR = 296, RELEASE_PAIRS = 300, TYPE = 307, EP_API = 317 };
enum { CREATE_DEVICE = 0 };

typedef struct {
  const Function *(*get_api)(uint32_t version);
} Base;

typedef struct Provider {
  uint32_t version;
  const char *(*name)(const struct Provider *);
  Status *(*capability)(struct Provider *, const void *graph, void *info);
  Function compile, release_infos, others[16];
} Provider;

typedef struct Factory {
  uint32_t version;
  const char *(*name)(const struct Factory *);
  const char *(*vendor)(const struct Factory *);
  Status *(*devices)(struct Factory *, const void *const *, size_t, void **, size_t, size_t *);
  Status *(*create)(struct Factory *, const void *const *, const void *const *, size_t, const void *, const void *,
                    Provider **);
  void (*release)(struct Factory *, Provider *);
  uint32_t (*vendor_id)(const struct Factory *);
  const char *(*provider_version)(const struct Factory *);
  Function compatibility;
  Status *(*allocator)(struct Factory *, const void *, const void *, void **);
  void (*release_allocator)(struct Factory *, void *);
  Status *(*transfer)(struct Factory *, void **);
  _Bool (*is_stream_aware)(const struct Factory *);
  Function others[16];
} Factory;

static const Function *api;
static char provider[64];

#define CALL(result, index, ...) ((result(*) __VA_ARGS__)api[index])

static Status *fail(const char *text) { return CALL(Status *, CREATE_STATUS, (int, const char *))(FAIL, text); }

static const char *provider_name(const Provider *self) { return (void)self, provider; }

static Status *no_node(Provider *self, const void *graph, void *info) { return (void)self, (void)graph, (void)info, NULL; }

static const char *name(const Factory *self) { return (void)self, provider; }
static const char *vendor(const Factory *self) { return (void)self, "Acme"; }
static uint32_t vendor_id(const Factory *self) { return (void)self, 0xACE; }
static const char *provider_version(const Factory *self) { return (void)self, "1.2.0"; }
static _Bool no(const Factory *self) { return (void)self, 0; }
static Status *no_transfer(Factory *self, void **made) { return (void)self, *made = NULL, NULL; }
static void released(Factory *self, void *made) { (void)self, (void)made; }
static void ended(Factory *self, Provider *made) { (void)self, (void)made; }

static Status *no_allocator(Factory *self, const void *memory, const void *options, void **made) {
  return (void)self, (void)memory, (void)options, *made = NULL, NULL;
}

static Status *devices(Factory *self, const void *const *hardware, size_t count, void **made, size_t most, size_t *found) {
  const Function *ep = CALL(const Function *, EP_API, (void))();
  *found = 0;
  for (size_t index = 0; index < count && *found < most; ++index) {
    if (CALL(int, TYPE, (const void *))(hardware[index]) != CPU) continue;
    void *metadata;
    CALL(void, CREATE_PAIRS, (void **))(&metadata);
    CALL(void, ADD_PAIR, (void *, const char *, const char *))(metadata, "arch", "v73");
    CALL(void, ADD_PAIR, (void *, const char *, const char *))(metadata, "library_path", "/home/somebody/acme.so");
    Status *status = ((Status * (*)(Factory *, const void *, const void *, const void *, void **)) ep[CREATE_DEVICE])(
        self, hardware[index], metadata, NULL, &made[*found]);
    CALL(void, RELEASE_PAIRS, (void *))(metadata);
    if (status != NULL) return status;
    ++*found;
  }
  return NULL;
}

static Status *create(Factory *self, const void *const *hardware, const void *const *metadata, size_t count,
                      const void *options, const void *logger, Provider **made) {
  static Provider only = {.version = API, .name = provider_name, .capability = no_node};
  char power[16] = "";
  size_t size = sizeof power;
  (void)self, (void)hardware, (void)metadata, (void)count, (void)logger;
  CALL(Status *, GET_ENTRY, (const void *, const char *, char *, size_t *))
  (options, "ep.acmeexecutionprovider.power", power, &size);
  if (strcmp(power, "high") == 0) return fail("the power supply of this board is too weak for power = high");
  *made = &only;
  return NULL;
}

__attribute__((visibility("default"))) Status *CreateEpFactories(const char *registration, const Base *base,
                                                                 const void *logger, Factory **made, size_t most,
                                                                 size_t *found) {
  static Factory only = {.version = API,
                         .name = name,
                         .vendor = vendor,
                         .devices = devices,
                         .create = create,
                         .release = ended,
                         .vendor_id = vendor_id,
                         .provider_version = provider_version,
                         .allocator = no_allocator,
                         .release_allocator = released,
                         .transfer = no_transfer,
                         .is_stream_aware = no};
  (void)logger;
  api = base->get_api(API);
  if (most < 1) return fail("there is no room for a factory");
  strncpy(provider, registration, sizeof provider - 1);
  made[0] = &only;
  *found = 1;
  return NULL;
}

__attribute__((visibility("default"))) Status *ReleaseEpFactory(Factory *made) { return (void)made, NULL; }
