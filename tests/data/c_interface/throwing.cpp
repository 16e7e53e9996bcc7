// A library whose functions let exceptions out, which the interface forbids, by the id that it is asked for: a function,
// and what it throws.
#include <etconfig/backend.h>

#include <new>
#include <stdexcept>
#include <string>

namespace {

std::string wanted;

void raise(const char* place) {
  if (wanted == std::string(place) + "-error") throw std::runtime_error("a bad day");
  if (wanted == std::string(place) + "-memory") throw std::bad_alloc();
  if (wanted == std::string(place) + "-number") throw 42;
}

EtconfigStatus task(void* argument, size_t index) {
  if (index == 3) raise(static_cast<const char*>(argument));
  return ETCONFIG_OK;
}

EtconfigStatus loop(const EtconfigServices* services, const char* place) {
  return services->parallel_for(services->context, 8, 3, &task, const_cast<char*>(place));
}

EtconfigStatus init(const EtconfigInit* request, void** handle, EtconfigMessage* error) {
  if (wanted.rfind("init", 0) == 0) *error = {nullptr, 99};  // room that nobody may write to
  raise("init");
  *handle = &wanted;
  return loop(request->services, "init task");
}

EtconfigStatus run(void*, const EtconfigRun* call, EtconfigMessage*) {
  raise("run");
  return loop(call->services, "run task");
}

EtconfigStatus update(void*, const EtconfigOption*, size_t, EtconfigMessage*) {
  raise("update");
  return ETCONFIG_OK;
}

EtconfigStatus effective_options(void*, EtconfigOption*, size_t, EtconfigMessage*) {
  raise("effective_options");
  return ETCONFIG_OK;
}

void destroy(void*) { raise("destroy"); }

}  // namespace

extern "C" const EtconfigBackend* etconfig_backend(const EtconfigHost*, const char* id, EtconfigMessage*) {
  static const EtconfigBackend table = {sizeof(EtconfigBackend), ETCONFIG_ABI_MAJOR, 0,         nullptr, &init, &run,
                                        &update,                 &effective_options, &destroy};
  wanted = id;
  return &table;
}
