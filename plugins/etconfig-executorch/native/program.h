// A program and its external data, read in parts from loaders in Python.
#pragma once

#include <executorch/extension/flat_tensor/flat_tensor_data_map.h>
#include <executorch/extension/named_data_map/merged_data_map.h>
#include <executorch/runtime/executor/program.h>

#include <memory>
#include <optional>
#include <vector>

#include "data_loader.h"
#include "errors.h"

namespace etconfig {

// Immutable; threads and methods share it. Nothing is copied: what a loader returns is used in place, and released
// when the runtime frees it.
class Program {
 public:
  // Throws RuntimeCallError, or the exception of a loader.
  Program(nb::object data, const std::vector<nb::object>& external);

  const rt::Program& program() const { return *program_; }
  const rt::NamedDataMap* external_data() const { return external_data_; }

 private:
  struct ExternalFile {
    explicit ExternalFile(nb::object data);

    PythonDataLoader loader;
    executorch::extension::FlatTensorDataMap map;
  };

  PythonDataLoader loader_;
  std::optional<rt::Program> program_;
  std::vector<std::unique_ptr<ExternalFile>> files_;
  std::optional<executorch::extension::ET_MERGED_DATA_MAP_NAMESPACE::MergedDataMap> merged_;
  const rt::NamedDataMap* external_data_ = nullptr;
};

void bind_program(nb::module_& module);

}  // namespace etconfig
