// The contents of the runtime's registries, with the library that each entry comes from.
#include <dlfcn.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <vector>

namespace {

namespace nb = nanobind;
namespace rt = executorch::runtime;

using Entry = std::tuple<std::string, std::string, std::string, std::string>;

std::string library_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

// (kind, name, key, library) of each kernel and backend.
std::vector<Entry> entries() {
  std::vector<Entry> found;
  for (const auto& kernel : rt::get_registered_kernels()) {
    const char* key = kernel.kernel_key_.data();
    found.emplace_back("operator", kernel.name_, key == nullptr ? "" : key,
                       library_of(reinterpret_cast<const void*>(kernel.op_)));
  }
  for (size_t i = 0; i < rt::get_num_registered_backends(); ++i) {
    const auto name = rt::get_backend_name(i);
    // The table of virtual functions lies in the library that defines the class.
    const void* table = *reinterpret_cast<const void* const*>(rt::get_backend_class(name.get()));
    found.emplace_back("backend", name.get(), "", library_of(table));
  }
  return found;
}

}  // namespace

NB_MODULE(_registry, module) { module.def("entries", &entries); }
