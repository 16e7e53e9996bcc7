#include "tensors.h"

#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>

#include <cstring>

namespace etconfig {

namespace {

const Numpy* installed = nullptr;

// Check whether a buffer's format, in the notation of Python's struct module, fits a tensor of `type`.
bool is_format_of(const char* format, aten::ScalarType type, bool is_checked) {
  if (format == nullptr) {
    return type == aten::ScalarType::Byte;
  }
  if (*format == '@' || *format == '=' || *format == '<') {
    ++format;
  }
  if (type == aten::ScalarType::ComplexFloat || type == aten::ScalarType::ComplexDouble) {
    return std::strcmp(format, type == aten::ScalarType::ComplexFloat ? "Zf" : "Zd") == 0;
  }
  if (format[0] == '\0' || format[1] != '\0') {
    return false;
  }
  switch (type) {
    case aten::ScalarType::Bool:
      return *format == '?';
    case aten::ScalarType::Half:
    case aten::ScalarType::Float:
    case aten::ScalarType::Double:
      return std::strchr("efd", *format) != nullptr;
    case aten::ScalarType::Char:
    case aten::ScalarType::Short:
    case aten::ScalarType::Int:
    case aten::ScalarType::Long:
      return std::strchr("bhilq", *format) != nullptr;
    case aten::ScalarType::Byte:
    case aten::ScalarType::UInt16:
    case aten::ScalarType::UInt32:
    case aten::ScalarType::UInt64:
      return std::strchr("BHILQ", *format) != nullptr;
    default:  // bfloat16 and others have no format: their bits, of a value that was checked
      return is_checked && std::strchr("BHILQ", *format) != nullptr;
  }
}

nb::object shape_tuple(const std::array<Py_ssize_t, kMaxRank>& sizes, size_t rank) {
  nb::object shape = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(rank)));
  for (size_t i = 0; i < rank; ++i) {
    PyTuple_SET_ITEM(shape.ptr(), i, PyLong_FromSsize_t(sizes[i]));
  }
  return shape;
}

bool is_contiguous_order(const aten::Tensor& tensor) {
  const auto order = tensor.dim_order();
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] != i) {
      return false;
    }
  }
  return true;
}

// Return an array created in memory order, viewed in the order of its dimensions.
nb::object in_dimension_order(nb::object array, const aten::Tensor& tensor) {
  if (is_contiguous_order(tensor)) {
    return array;
  }
  const auto order = tensor.dim_order();
  std::array<Py_ssize_t, kMaxRank> axes{};
  for (size_t i = 0; i < order.size(); ++i) {
    axes[order[i]] = static_cast<Py_ssize_t>(i);
  }
  return array.attr("transpose")(shape_tuple(axes, order.size()));
}

nb::object memory_shape(const aten::Tensor& tensor) {
  const auto order = tensor.dim_order();
  std::array<Py_ssize_t, kMaxRank> sizes{};
  for (size_t i = 0; i < order.size(); ++i) {
    sizes[i] = tensor.size(order[i]);
  }
  return shape_tuple(sizes, order.size());
}

template <typename List>
nb::object list_of(const List& items) {
  nb::list result;
  for (const auto& item : items) {
    result.append(item);
  }
  return result;
}

}  // namespace

Numpy::Numpy(nb::object empty, nb::object ndarray, const std::vector<nb::object>& dtypes)
    : empty_(std::move(empty)), ndarray_(std::move(ndarray)), dtypes_(dtypes) {}

nb::handle Numpy::dtype(aten::ScalarType type) const {
  const auto index = static_cast<size_t>(type);
  if (index >= dtypes_.size() || dtypes_[index].is_none()) {
    throw std::invalid_argument(std::string("numpy has no element type for ") + rt::toString(type));
  }
  return dtypes_[index];
}

nb::object Numpy::copy_of(const aten::Tensor& tensor) const {
  nb::object array = empty_(memory_shape(tensor), dtype(tensor.scalar_type()));
  if (tensor.nbytes() > 0) {
    Py_buffer view;
    // Through bytes, since numpy exports no buffers for element types that are not its own. An array
    // without dimensions cannot be viewed as bytes, so it gets one.
    nb::object bytes = (tensor.dim() == 0 ? array.attr("reshape")(1) : array).attr("view")("u1");
    if (PyObject_GetBuffer(bytes.ptr(), &view, PyBUF_WRITABLE) != 0) {
      throw nb::python_error();
    }
    std::memcpy(view.buf, tensor.const_data_ptr(), tensor.nbytes());
    PyBuffer_Release(&view);
  }
  return in_dimension_order(std::move(array), tensor);
}

nb::object Numpy::view_of(const aten::Tensor& tensor) const {
  char* data = static_cast<char*>(const_cast<void*>(tensor.const_data_ptr()));
  if (tensor.nbytes() == 0) {
    return empty_(memory_shape(tensor), dtype(tensor.scalar_type()));
  }
  nb::object memory =
      nb::steal(PyMemoryView_FromMemory(data, static_cast<Py_ssize_t>(tensor.nbytes()), PyBUF_WRITE));
  return in_dimension_order(ndarray_(memory_shape(tensor), dtype(tensor.scalar_type()), memory), tensor);
}

void set_numpy(Numpy numpy) {
  // Never destroyed: static objects may be destroyed after the interpreter.
  installed = new Numpy(std::move(numpy));
}

const Numpy& numpy() { return *installed; }

InputTensor::InputTensor(nb::handle object, aten::ScalarType type, rt::Span<const uint8_t> dim_order, bool is_checked) {
  if (reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())) != numpy().array_type().ptr()) {
    throw InputMismatchError("no array of numpy");
  }
  if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
    PyErr_Clear();
    throw InputMismatchError("no buffer");
  }
  try {
    if (static_cast<size_t>(view_.ndim) != dim_order.size() ||
        static_cast<size_t>(view_.itemsize) != rt::elementSize(type) || !is_format_of(view_.format, type, is_checked)) {
      throw InputMismatchError("rank or element type");
    }
    if (reinterpret_cast<uintptr_t>(view_.buf) % static_cast<size_t>(view_.itemsize) != 0) {
      throw InputMismatchError("alignment");
    }
    read_shape(dim_order);
  } catch (...) {
    PyBuffer_Release(&view_);
    throw;
  }
  impl_.emplace(type, view_.ndim, sizes_.data(), view_.buf, dim_order_.data(), strides_.data());
}

InputTensor::~InputTensor() { PyBuffer_Release(&view_); }

void InputTensor::read_shape(rt::Span<const uint8_t> dim_order) {
  Py_ssize_t stride_bytes = view_.itemsize;
  for (size_t i = dim_order.size(); i-- > 0;) {
    const size_t dimension = dim_order[i];
    const Py_ssize_t size = view_.shape[dimension];
    // The stride of a dimension with at most one element has no meaning.
    if (view_.len > 0 && size > 1 && view_.strides[dimension] != stride_bytes) {
      throw InputMismatchError("memory layout");
    }
    dim_order_[i] = dim_order[i];
    sizes_[dimension] = static_cast<aten::SizesType>(size);
    strides_[dimension] = static_cast<aten::StridesType>(stride_bytes / view_.itemsize);
    stride_bytes *= size > 0 ? size : 1;
  }
}

WritableBytes::WritableBytes(nb::handle object) {
  if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_WRITABLE) != 0) {
    throw nb::python_error();
  }
}

WritableBytes::~WritableBytes() { PyBuffer_Release(&view_); }

nb::object to_python(const rt::EValue& value) {
  switch (value.tag) {
    case rt::Tag::None:
      return nb::none();
    case rt::Tag::Tensor:
      return numpy().copy_of(value.toTensor());
    case rt::Tag::Int:
      return nb::int_(value.toInt());
    case rt::Tag::Double:
      return nb::float_(value.toDouble());
    case rt::Tag::Bool:
      return nb::bool_(value.toBool());
    case rt::Tag::String:
      return nb::str(value.toString().data(), value.toString().size());
    case rt::Tag::ListInt:
      return list_of(value.toIntList());
    case rt::Tag::ListDouble:
      return list_of(value.toDoubleList());
    case rt::Tag::ListBool:
      return list_of(value.toBoolList());
    case rt::Tag::ListTensor: {
      nb::list tensors;
      for (const auto& tensor : value.toTensorList()) {
        tensors.append(numpy().copy_of(tensor));
      }
      return tensors;
    }
    default:
      throw std::invalid_argument("the runtime gave a value of a kind that Python does not get");
  }
}

}  // namespace etconfig
