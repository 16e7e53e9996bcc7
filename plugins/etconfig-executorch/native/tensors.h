// Conversion between the runtime's tensors and numpy arrays.
#pragma once

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/span.h>

#include <array>
#include <optional>
#include <vector>

#include "errors.h"

namespace etconfig {

namespace aten = executorch::aten;

constexpr size_t kMaxRank = 16;

// The parts of numpy that are needed. One object for the life of the module, so that calls need no lookup.
class Numpy {
 public:
  // `dtypes`: the numpy dtype for the number of each ScalarType, or None.
  Numpy(nb::object empty, nb::object ndarray, const std::vector<nb::object>& dtypes);

  // Return a new array with the tensor's values, in its dim order.
  nb::object copy_of(const aten::Tensor& tensor) const;

  // Return an array over the tensor's own memory. It must not outlive that memory.
  nb::object view_of(const aten::Tensor& tensor) const;

  // `numpy.ndarray`, whose buffers always have a format and strides.
  nb::handle array_type() const { return ndarray_; }

 private:
  nb::handle dtype(aten::ScalarType type) const;

  nb::object empty_;
  nb::object ndarray_;
  std::vector<nb::object> dtypes_;
};

void set_numpy(Numpy numpy);
const Numpy& numpy();

// A tensor over the memory of a Python buffer, as the program describes the input.
class InputTensor {
 public:
  // Throws InputMismatchError unless `object` is an array of numpy with the expected element type, rank and memory layout.
  // `is_checked`: etconfig has checked it, so that integers are the bits of a type that numpy lacks.
  InputTensor(nb::handle object, aten::ScalarType type, rt::Span<const uint8_t> dim_order, bool is_checked);
  ~InputTensor();
  InputTensor(const InputTensor&) = delete;
  InputTensor& operator=(const InputTensor&) = delete;

  rt::EValue value() { return rt::EValue(aten::Tensor(&*impl_)); }

 private:
  void read_shape(rt::Span<const uint8_t> dim_order);

  Py_buffer view_;
  std::array<aten::SizesType, kMaxRank> sizes_;
  std::array<aten::StridesType, kMaxRank> strides_;
  std::array<aten::DimOrderType, kMaxRank> dim_order_;
  std::optional<aten::TensorImpl> impl_;
};

// The bytes of a Python object that can be written to. Destroy it with the GIL held.
class WritableBytes {
 public:
  explicit WritableBytes(nb::handle object);
  ~WritableBytes();
  WritableBytes(const WritableBytes&) = delete;
  WritableBytes& operator=(const WritableBytes&) = delete;

  void* data() const { return view_.buf; }
  size_t size() const { return static_cast<size_t>(view_.len); }

 private:
  Py_buffer view_;
};

// Return a value of the runtime as a Python object; tensors are copied.
nb::object to_python(const rt::EValue& value);

}  // namespace etconfig
