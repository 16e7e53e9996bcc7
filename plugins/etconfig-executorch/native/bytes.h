// The bytes of a Python object.
#pragma once

#include <cstddef>
#include <cstdint>

#include "errors.h"

namespace etconfig {

// A contiguous view of a Python object's bytes. Make and destroy it with the GIL held.
class Bytes {
 public:
  // Throws the exception of the object if it has no such bytes.
  explicit Bytes(nb::handle object, bool is_writable = false) {
    if (PyObject_GetBuffer(object.ptr(), &view_, is_writable ? PyBUF_WRITABLE : PyBUF_SIMPLE) != 0) {
      throw nb::python_error();
    }
  }
  ~Bytes() { PyBuffer_Release(&view_); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;

  const void* data() const { return view_.buf; }
  uint8_t* writable() { return static_cast<uint8_t*>(view_.buf); }
  size_t size() const { return static_cast<size_t>(view_.len); }

 private:
  Py_buffer view_;
};

}  // namespace etconfig
