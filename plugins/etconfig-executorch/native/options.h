// The options of a backend, in the form of ExecuTorch's own option map.
#pragma once

#include <executorch/runtime/backend/backend_options_map.h>
#include <executorch/runtime/backend/options.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "errors.h"

namespace etconfig {

using WireValue = std::variant<bool, int, std::string>;
using WireOptions = std::vector<std::pair<std::string, WireValue>>;

// One backend's options. Throws std::invalid_argument for values that the map cannot carry; it truncates nothing.
std::vector<rt::BackendOption> to_backend_options(const WireOptions& options);

WireOptions from_backend_options(rt::Span<const rt::BackendOption> options);

// All options of one method. The map references the vectors, and the method references the map.
class OptionMap {
 public:
  explicit OptionMap(const std::vector<std::pair<std::string, WireOptions>>& backends);
  OptionMap(const OptionMap&) = delete;
  OptionMap& operator=(const OptionMap&) = delete;

  const rt::LoadBackendOptionsMap* get() const { return &map_; }

 private:
  std::vector<std::vector<rt::BackendOption>> options_;
  rt::LoadBackendOptionsMap map_;
};

void bind_options(nb::module_& module);

}  // namespace etconfig
