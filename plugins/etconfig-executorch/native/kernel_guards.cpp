#include "kernel_guards.h"

#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/runtime/platform/log.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <mutex>
#include <utility>

namespace etconfig {

namespace {

namespace aten = executorch::aten;
namespace rt = executorch::runtime;

using Stack = rt::Span<rt::EValue*>;
using aten::ScalarType;

// What a check says: why the kernel would not survive the call, or null. `kDone`: the check has done the work itself.
using Problem = const char*;
const char kDone[] = "";

bool is_given(const Stack& stack, size_t index) { return !stack[index]->isNone(); }

const aten::Tensor& tensor(const Stack& stack, size_t index) { return std::as_const(*stack[index]).toTensor(); }

bool overlap(const aten::Tensor& one, const aten::Tensor& other) {
  const auto* first = static_cast<const uint8_t*>(one.const_data_ptr());
  const auto* second = static_cast<const uint8_t*>(other.const_data_ptr());
  return first < second + other.nbytes() && second < first + one.nbytes();
}

bool is_real(ScalarType type) {
  return type <= ScalarType::Double || type == ScalarType::Bool || type == ScalarType::BFloat16;
}

bool is_complex(ScalarType type) { return rt::isComplexType(type); }

bool is_index(const aten::Tensor& tensor) {
  return tensor.scalar_type() == ScalarType::Long || tensor.scalar_type() == ScalarType::Int;
}

template <typename Accept>
bool all_of(const aten::Tensor& tensor, Accept accept) {
  const auto count = static_cast<size_t>(tensor.numel());
  if (tensor.scalar_type() == ScalarType::Int) {
    const auto* data = static_cast<const int32_t*>(tensor.const_data_ptr());
    return std::all_of(data, data + count, accept);
  }
  const auto* data = static_cast<const int64_t*>(tensor.const_data_ptr());
  return std::all_of(data, data + count, accept);
}

bool are_below(const aten::Tensor& indices, int64_t size) {
  return all_of(indices, [size](int64_t index) { return index >= 0 && index < size; });
}

bool is_dimension(const aten::Tensor& tensor, int64_t dimension) {
  const int64_t rank = std::max<int64_t>(tensor.dim(), 1);
  return dimension >= -rank && dimension < rank;
}

bool have_equal_shapes(const aten::Tensor& one, const aten::Tensor& other) {
  const auto first = one.sizes(), second = other.sizes();
  return std::equal(first.begin(), first.end(), second.begin(), second.end());
}

constexpr Problem kOverlap = "an argument and the output share memory";
constexpr Problem kOtherTypes = "the types of its arguments differ";
constexpr Problem kOtherShapes = "the shapes of its arguments do not fit";
constexpr Problem kIndices = "an index is out of range";
constexpr Problem kEmpty = "there are no elements to choose from";

bool overlaps_any(const rt::EValue& value, const aten::Tensor& out) {
  if (value.isTensor()) {
    return overlap(value.toTensor(), out);
  }
  if (value.isListOptionalTensor()) {
    for (const auto& item : value.toListOptionalTensor()) {
      if (item.has_value() && overlap(*item, out)) {
        return true;
      }
    }
  }
  return false;
}

// Kernels that look at their indices, or counts, once, and read them again while they write the output.
template <size_t out, size_t first>
Problem apart(const Stack& stack) {
  for (size_t i = first; i < out; ++i) {
    if (overlaps_any(*stack[i], tensor(stack, out))) {
      return kOverlap;
    }
  }
  return nullptr;
}

Problem index_put_in_place(const Stack& stack) {
  return overlaps_any(*stack[1], tensor(stack, 0)) || overlap(tensor(stack, 2), tensor(stack, 0)) ? kOverlap : nullptr;
}

Problem repeat_interleave(const Stack& stack) {
  const auto& repeats = tensor(stack, 0);
  if (!is_index(repeats)) {
    return kOtherTypes;
  }
  int64_t sum = 0;
  const bool fit = all_of(repeats, [&sum](int64_t count) {
    if (count < 0 || count > INT32_MAX) {
      return false;
    }
    sum += count;
    return sum <= INT32_MAX;
  });
  return fit ? apart<2, 0>(stack) : "the numbers of repeats are out of range";
}

Problem division(const Stack& stack) {  // the processor faults at a division by zero, and at that of the lowest by -1
  if (!stack[0]->isInt() || !stack[1]->isInt()) {
    return nullptr;
  }
  const int64_t dividend = stack[0]->toInt(), divisor = stack[1]->toInt();
  if (divisor == 0 || (divisor == -1 && dividend == INT64_MIN)) {
    thread_local char text[64];
    std::snprintf(text, sizeof(text), "division of %" PRId64 " by %" PRId64, dividend, divisor);
    return text;
  }
  return nullptr;
}

Problem convolution(const Stack& stack) {
  if (!is_given(stack, 2)) {
    return nullptr;
  }
  const auto &in = tensor(stack, 0), &weight = tensor(stack, 1), &bias = tensor(stack, 2);
  if (bias.scalar_type() != in.scalar_type()) {
    return "the bias has another type than the input";
  }
  const bool is_transposed = stack[6]->toBool();
  const int64_t groups = stack[8]->toInt();
  if (weight.dim() < 2 || bias.dim() != 1) {
    return kOtherShapes;
  }
  __int128 channels = is_transposed ? static_cast<__int128>(weight.size(1)) * groups : weight.size(0);
  return bias.size(0) == channels ? nullptr : kOtherShapes;
}

Problem real_input(const Stack& stack) { return is_real(tensor(stack, 0).scalar_type()) ? nullptr : kOtherTypes; }

template <size_t out_index>
Problem complex_division(const Stack& stack) {
  const auto type = tensor(stack, 0).scalar_type(), other = tensor(stack, 1).scalar_type();
  const bool has_complex = is_complex(type) || is_complex(other);
  return !has_complex || (type == other && type == tensor(stack, out_index).scalar_type()) ? nullptr : kOtherTypes;
}

Problem one_more_dimension(const Stack& stack) {
  return tensor(stack, 1).dim() == tensor(stack, 0).dim() + 1 ? nullptr : kOtherShapes;
}

Problem matrix_products(const Stack& stack) {
  const auto &one = tensor(stack, 0), &other = tensor(stack, 1), &out = tensor(stack, 2);
  if (one.dim() != 3 || other.dim() != 3 || out.dim() != 3 || one.size(0) != other.size(0) ||
      one.size(2) != other.size(1)) {
    return kOtherShapes;
  }
  const auto type = one.scalar_type();
  return type == other.scalar_type() && type == out.scalar_type() ? nullptr : kOtherTypes;
}

Problem max_pool2d_backward(const Stack& stack) {
  const auto &gradient = tensor(stack, 0), &in = tensor(stack, 1), &indices = tensor(stack, 7), &out = tensor(stack, 8);
  if (indices.scalar_type() != ScalarType::Long || gradient.scalar_type() != in.scalar_type() ||
      out.scalar_type() != in.scalar_type()) {
    return kOtherTypes;
  }
  const auto rank = in.dim();
  if ((rank != 3 && rank != 4) || gradient.dim() != rank || out.dim() != rank || !have_equal_shapes(gradient, indices)) {
    return kOtherShapes;
  }
  for (ssize_t i = 0; i < rank - 2; ++i) {
    if (gradient.size(i) != in.size(i)) {
      return kOtherShapes;
    }
  }
  if (!are_below(indices, static_cast<int64_t>(in.size(rank - 2)) * in.size(rank - 1))) {
    return kIndices;
  }
  return overlap(indices, out) || overlap(gradient, out) ? kOverlap : nullptr;
}

Problem as_strided(const Stack& stack) {
  const auto sizes = stack[1]->toIntList(), strides = stack[2]->toIntList();
  const int64_t offset = is_given(stack, 3) ? stack[3]->toInt() : 0;
  if (sizes.size() != strides.size() || offset < 0) {
    return kOtherShapes;
  }
  __int128 last = offset, count = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || sizes[i] > INT32_MAX || strides[i] < 0) {
      return kOtherShapes;
    }
    count *= sizes[i];
    if (count > INT32_MAX) {
      return kOtherShapes;
    }
    last += static_cast<__int128>(std::max<int64_t>(sizes[i] - 1, 0)) * strides[i];
  }
  return count == 0 || last < tensor(stack, 0).numel() ? nullptr : kIndices;
}

template <size_t list>
Problem parts_of_one_type(const Stack& stack) {
  for (const auto& part : stack[list]->toTensorList()) {
    if (part.scalar_type() != tensor(stack, 0).scalar_type()) {
      return kOtherTypes;
    }
  }
  return nullptr;
}

template <size_t one, size_t other>
Problem of_one_type(const Stack& stack) {
  return tensor(stack, one).scalar_type() == tensor(stack, other).scalar_type() ? nullptr : kOtherTypes;
}

Problem not_empty(const Stack& stack) { return tensor(stack, 0).numel() > 0 ? nullptr : kEmpty; }

Problem extreme(const Stack& stack) {
  const auto& in = tensor(stack, 0);
  if (!is_given(stack, 1) || in.dim() == 0) {
    return not_empty(stack);
  }
  const int64_t dimension = stack[1]->toInt();
  if (!is_dimension(in, dimension)) {
    return kOtherShapes;
  }
  return in.size(dimension < 0 ? dimension + in.dim() : dimension) > 0 ? nullptr : kEmpty;
}

// The kernel takes the elements of a dimension to lie as in row-major order.
Problem softmax(const Stack& stack) {
  const auto& in = tensor(stack, 0);
  const int64_t given = stack[1]->toInt();
  if (!is_dimension(in, given)) {
    return "it has no such dimension";
  }
  const auto order = in.dim_order();
  const auto dimension = static_cast<uint8_t>(given < 0 ? given + std::max<int64_t>(in.dim(), 1) : given);
  const bool is_row_major = std::is_sorted(order.begin(), order.end());
  const bool fits = is_row_major || dimension == order[order.size() - 1] || in.size(dimension) == 1;
  return fits ? nullptr : "the dimension is not the innermost one in this order of dimensions";
}

template <size_t... indices>
Problem row_major(const Stack& stack) {
  const auto is_row_major = [&stack](size_t index) {
    const auto order = tensor(stack, index).dim_order();
    return std::is_sorted(order.begin(), order.end());
  };
  return (is_row_major(indices) && ...) ? nullptr : "a tensor is not in row-major order";
}

Problem log_softmax(const Stack& stack) {
  const auto& in = tensor(stack, 0);
  if (in.numel() == 0) {  // the kernel divides by the number of elements
    auto out = stack[3]->toTensor();
    return rt::resize_tensor(out, in.sizes()) == rt::Error::Ok ? kDone : kOtherShapes;
  }
  return softmax(stack);
}

Problem zero_points(const Stack& stack) {
  if (!is_given(stack, 2)) {
    return nullptr;
  }
  const auto type = tensor(stack, 2).scalar_type();
  return type == ScalarType::Long || type == ScalarType::Int || type == ScalarType::Float ? nullptr : kOtherTypes;
}

// Rows of a table whose bytes hold several small numbers each.
template <size_t out_index, int64_t per_byte>
Problem packed_embedding(const Stack& stack) {
  const auto &weight = tensor(stack, 0), &scales = tensor(stack, 1), &indices = tensor(stack, 5);
  if (!is_index(indices) || weight.scalar_type() != ScalarType::Byte) {
    return kOtherTypes;
  }
  if (weight.dim() != 2 || (scales.dim() != 1 && scales.dim() != 2) || scales.size(0) != weight.size(0)) {
    return kOtherShapes;
  }
  if (is_given(stack, 2)) {
    const auto& points = tensor(stack, 2);
    if (points.scalar_type() != scales.scalar_type()) {
      return kOtherTypes;
    }
    if (!have_equal_shapes(points, scales)) {
      return kOtherShapes;
    }
  }
  std::array<aten::SizesType, 17> sizes;
  const auto rank = static_cast<size_t>(indices.dim());
  if (rank + 1 > sizes.size()) {
    return kOtherShapes;
  }
  std::copy(indices.sizes().begin(), indices.sizes().end(), sizes.begin());
  sizes[rank] = static_cast<aten::SizesType>(weight.size(1) * per_byte);
  auto out = stack[out_index]->toTensor();
  if (rt::resize_tensor(out, {sizes.data(), rank + 1}) != rt::Error::Ok) {
    return kOtherShapes;
  }
  if (!are_below(indices, weight.size(0))) {
    return kIndices;
  }
  return overlap(indices, out) ? kOverlap : nullptr;
}

struct Guard {
  const char* name;
  Problem (*problem)(const Stack&);
};

// The operators that tests/support/run_kernel_seeds.py could make end the process or write elsewhere, with what must hold.
constexpr Guard kGuards[] = {
    {"aten::_log_softmax.out", log_softmax},
    {"aten::_softmax.out", softmax},
    {"aten::argmax.out", extreme},
    {"aten::argmin.out", extreme},
    {"aten::as_strided_copy.out", as_strided},
    {"aten::bmm.out", matrix_products},
    {"aten::convolution.out", convolution},
    {"aten::cumsum.out", real_input},
    {"aten::div.out", complex_division<2>},
    {"aten::div.out_mode", complex_division<3>},
    {"aten::embedding.out", apart<5, 1>},
    {"aten::gather.out", apart<4, 1>},
    {"aten::index.Tensor_out", apart<2, 0>},
    {"aten::index_put.out", apart<4, 1>},
    {"aten::index_put_", index_put_in_place},
    {"aten::index_select.out", apart<3, 0>},
    {"aten::masked_scatter.out", apart<3, 1>},
    {"aten::masked_select.out", apart<2, 0>},
    {"aten::max_pool2d_with_indices_backward.grad_input", max_pool2d_backward},
    {"aten::nonzero.out", apart<1, 0>},
    {"aten::repeat_interleave.Tensor_out", repeat_interleave},
    {"aten::scatter.src_out", apart<4, 1>},
    {"aten::scatter.value_out", apart<4, 1>},
    {"aten::scatter_add.out", apart<4, 1>},
    {"aten::split_copy.Tensor_out", parts_of_one_type<3>},
    {"aten::split_with_sizes_copy.out", parts_of_one_type<3>},
    {"aten::topk.values", row_major<0, 5, 6>},
    {"aten::unbind_copy.int_out", parts_of_one_type<2>},
    {"aten::var_mean.correction_out", of_one_type<4, 5>},
    {"aten::view_as_real_copy.out", one_more_dimension},
    {"executorch_prim::floordiv.Scalar", division},
    {"executorch_prim::floordiv.int", division},
    {"executorch_prim::mod.Scalar", division},
    {"executorch_prim::mod.int", division},
    {"quantized_decomposed::choose_qparams.Tensor_out", not_empty},
    {"quantized_decomposed::choose_qparams_per_token_asymmetric.out", not_empty},
    {"quantized_decomposed::dequantize_per_channel.out", zero_points},
    {"quantized_decomposed::embedding_2bit.dtype_out", packed_embedding<7, 4>},
    {"quantized_decomposed::embedding_2bit.out", packed_embedding<6, 4>},
    {"quantized_decomposed::embedding_4bit.dtype_out", packed_embedding<7, 2>},
    {"quantized_decomposed::embedding_4bit.out", packed_embedding<6, 2>},
};
constexpr size_t kCount = std::size(kGuards);

std::array<rt::OpFunction, kCount> originals{};

template <size_t index>
void guarded_kernel(rt::KernelRuntimeContext& context, Stack stack) {
  const Problem problem = kGuards[index].problem(stack);
  if (problem == kDone) {
    return;
  }
  if (problem != nullptr) {
    ET_LOG(Error, "%s: %s; the kernel does not check it", kGuards[index].name, problem);
    context.fail(rt::Error::InvalidArgument);
    return;
  }
  originals[index](context, stack);
}

template <size_t... index>
constexpr auto guarded_kernels(std::index_sequence<index...>) {
  return std::array<void (*)(rt::KernelRuntimeContext&, Stack), sizeof...(index)>{guarded_kernel<index>...};
}

constexpr auto kGuarded = guarded_kernels(std::make_index_sequence<kCount>());

}  // namespace

void guard_kernels() {
  static std::mutex mutex;
  static size_t seen = 0;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto kernels = rt::get_registered_kernels();
  if (kernels.size() == seen) {
    return;
  }
  seen = kernels.size();
  for (const rt::Kernel& kernel : kernels) {
    for (size_t i = 0; i < kCount; ++i) {
      if (std::strcmp(kernel.name_, kGuards[i].name) == 0 && originals[i] == nullptr) {
        originals[i] = kernel.op_;
        const_cast<rt::Kernel&>(kernel).op_ = kGuarded[i];
      }
    }
  }
}

}  // namespace etconfig
