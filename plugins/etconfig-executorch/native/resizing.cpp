#include "resizing.h"

#include <executorch/runtime/core/exec_aten/util/tensor_util.h>

#include <algorithm>

#include "abort_guard.h"
#include "log_capture.h"

namespace etconfig {

namespace {

namespace aten = executorch::aten;
namespace rt = executorch::runtime;

// As Python shows a tuple.
template <typename Sizes>
std::string shown(const Sizes& sizes) {
  std::string text = "(";
  for (size_t i = 0; i < sizes.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(sizes[i]);
  }
  return text + (sizes.size() == 1 ? ",)" : ")");
}

}  // namespace

// Such refusals are errors of the backend, in the words of the built-in executor; the runtime's log adds nothing.
std::string resize(aten::Tensor& tensor, const aten::SizesType* sizes, size_t rank) {
  const rt::Span<const aten::SizesType> wanted(sizes, rank);
  const auto planned = tensor.sizes();
  if (rank != planned.size()) {
    return "shape " + shown(wanted) + " has rank " + std::to_string(rank) + ", planned is rank " +
           std::to_string(planned.size());
  }
  if (std::any_of(wanted.begin(), wanted.end(), [](aten::SizesType size) { return size < 0; })) {
    return "shape " + shown(wanted) + " has a negative size";
  }
  LogCapture capture;
  const auto error = guarded([&] { return rt::resize_tensor(tensor, {sizes, rank}); },
                             [] { return rt::Error::Internal; });
  if (error == rt::Error::Ok) {
    return "";
  }
  LogCapture::drop_lines();
  if (tensor.unsafeGetTensorImpl()->shape_dynamism() == aten::TensorShapeDynamism::STATIC) {
    return "shape " + shown(wanted) + " differs from the planned shape " + shown(planned);
  }
  return "shape " + shown(wanted) + " exceeds the planned bounds";
}

}  // namespace etconfig
