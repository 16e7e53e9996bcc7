// A program and its external data, read from buffers that Python owns.
#pragma once

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/flat_tensor/flat_tensor_data_map.h>
#include <executorch/extension/named_data_map/merged_data_map.h>
#include <executorch/runtime/executor/program.h>

#include <memory>
#include <optional>
#include <vector>

#include "errors.h"

namespace etconfig {

// A contiguous view of a Python object's bytes. Destroy it with the GIL held.
class Bytes {
 public:
  // Throws the exception of the object if it has no such bytes.
  explicit Bytes(nb::handle object, bool is_writable = false);
  ~Bytes();
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;

  const void* data() const { return view_.buf; }
  uint8_t* writable() { return static_cast<uint8_t*>(view_.buf); }
  size_t size() const { return static_cast<size_t>(view_.len); }

 private:
  Py_buffer view_;
};

// Immutable; threads and methods share it. Nothing is copied: constants are read in place.
class Program {
 public:
  Program(nb::handle data, const std::vector<nb::object>& external);

  const rt::Program& program() const { return *program_; }
  const rt::NamedDataMap* external_data() const { return external_data_; }

 private:
  struct ExternalFile {
    explicit ExternalFile(nb::handle data);

    Bytes bytes;
    executorch::extension::BufferDataLoader loader;
    executorch::extension::FlatTensorDataMap map;
  };

  Bytes bytes_;
  executorch::extension::BufferDataLoader loader_;
  std::optional<rt::Program> program_;
  std::vector<std::unique_ptr<ExternalFile>> files_;
  std::optional<executorch::extension::ET_MERGED_DATA_MAP_NAMESPACE::MergedDataMap> merged_;
  const rt::NamedDataMap* external_data_ = nullptr;
};

void bind_program(nb::module_& module);

}  // namespace etconfig
