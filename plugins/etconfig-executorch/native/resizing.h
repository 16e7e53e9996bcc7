// Other sizes for an output of a delegate.
#pragma once

#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include <cstdint>
#include <string>

namespace etconfig {

// Give `tensor` these sizes. Returns why the program does not allow them, or an empty text.
std::string resize(executorch::aten::Tensor& tensor, const executorch::aten::SizesType* sizes, size_t rank);

}  // namespace etconfig
