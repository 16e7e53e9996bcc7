#include "data_loader.h"

#include <executorch/extension/data_loader/buffer_data_loader.h>

#include <cstring>
#include <memory>

#include "python_backend.h"

namespace etconfig {

namespace {

// Called by the runtime from any thread, with or without the GIL.
void release(void* context, void*, size_t) {
  if (Py_IsInitialized()) {
    nb::gil_scoped_acquire gil;
    delete static_cast<Bytes*>(context);
  }
}

// Requires the GIL. Throws nb::python_error.
std::unique_ptr<Bytes> load_bytes(const nb::object& loader, size_t offset, size_t size) {
  auto bytes = std::make_unique<Bytes>(loader.attr("load")(offset, size));
  if (bytes->size() != size) {
    PyErr_SetString(PyExc_ValueError, "the data loader returned another number of bytes");
    throw nb::python_error();
  }
  return bytes;
}

}  // namespace

rt::Result<rt::FreeableBuffer> PythonDataLoader::load(size_t offset, size_t size, const SegmentInfo& info) const {
  if (whole_ != nullptr) {
    return executorch::extension::BufferDataLoader(whole_->data(), whole_->size()).load(offset, size, info);
  }
  nb::gil_scoped_acquire gil;
  try {
    auto bytes = load_bytes(loader_, offset, size);
    const void* data = bytes->data();
    return rt::FreeableBuffer(data, size, release, bytes.release());
  } catch (nb::python_error& error) {
    keep_pending_exception(error);
    return rt::Error::AccessFailed;
  }
}

rt::Error PythonDataLoader::load_into(size_t offset, size_t size, const SegmentInfo& info, void* buffer) const {
  if (whole_ != nullptr) {
    return executorch::extension::BufferDataLoader(whole_->data(), whole_->size()).load_into(offset, size, info, buffer);
  }
  nb::gil_scoped_acquire gil;
  try {
    std::memcpy(buffer, load_bytes(loader_, offset, size)->data(), size);
    return rt::Error::Ok;
  } catch (nb::python_error& error) {
    keep_pending_exception(error);
    return rt::Error::AccessFailed;
  }
}

rt::Result<size_t> PythonDataLoader::size() const {
  if (whole_ != nullptr) {
    return whole_->size();
  }
  nb::gil_scoped_acquire gil;
  try {
    return nb::cast<size_t>(loader_.attr("size")());
  } catch (nb::python_error& error) {
    keep_pending_exception(error);
    return rt::Error::AccessFailed;
  }
}

}  // namespace etconfig
