// A data loader whose bytes come from Python, in parts.
#pragma once

#include <executorch/runtime/core/data_loader.h>

#include <memory>

#include "bytes.h"
#include "errors.h"

namespace etconfig {

// Calls `size()` and `load(offset, size)` of a Python object, or uses one with the buffer protocol in place. What is
// loaded is used in place, and released when the runtime frees it. A Python exception is kept, and raised in place of
// the runtime's error.
class PythonDataLoader final : public rt::DataLoader {
 public:
  // Throws the exception of an object that has no such bytes.
  explicit PythonDataLoader(nb::object loader)
      : loader_(std::move(loader)),
        whole_(PyObject_CheckBuffer(loader_.ptr()) ? std::make_unique<Bytes>(loader_) : nullptr) {}

  rt::Result<rt::FreeableBuffer> load(size_t offset, size_t size, const SegmentInfo& info) const override;
  rt::Error load_into(size_t offset, size_t size, const SegmentInfo& info, void* buffer) const override;
  rt::Result<size_t> size() const override;

 private:
  nb::object loader_;
  std::unique_ptr<Bytes> whole_;
};

}  // namespace etconfig
