#include "divisions.h"

#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/kernel/operator_registry.h>

#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstring>

namespace etconfig {

namespace {

namespace rt = executorch::runtime;

constexpr std::array<const char*, 4> kDivisions = {
    "executorch_prim::floordiv.int",
    "executorch_prim::floordiv.Scalar",
    "executorch_prim::mod.int",
    "executorch_prim::mod.Scalar",
};

std::array<rt::OpFunction, kDivisions.size()> originals{};

// The processor faults at a division by zero, and at that of the lowest integer by -1.
bool faults(rt::Span<rt::EValue*> stack) {
  if (stack.size() != 3 || !stack[0]->isInt() || !stack[1]->isInt()) {
    return false;
  }
  const int64_t divisor = stack[1]->toInt();
  return divisor == 0 || (divisor == -1 && stack[0]->toInt() == INT64_MIN);
}

template <size_t index>
void checked(rt::KernelRuntimeContext& context, rt::Span<rt::EValue*> stack) {
  if (faults(stack)) {
    ET_LOG(Error, "%s: division of %" PRId64 " by %" PRId64, kDivisions[index], stack[0]->toInt(), stack[1]->toInt());
    context.fail(rt::Error::InvalidArgument);
    return;
  }
  originals[index](context, stack);
}

constexpr std::array<void (*)(rt::KernelRuntimeContext&, rt::Span<rt::EValue*>), kDivisions.size()> kChecked = {
    checked<0>, checked<1>, checked<2>, checked<3>};

}  // namespace

void check_divisors() {
  for (const rt::Kernel& kernel : rt::get_registered_kernels()) {
    for (size_t i = 0; i < kDivisions.size(); ++i) {
      if (std::strcmp(kernel.name_, kDivisions[i]) == 0 && originals[i] == nullptr) {
        originals[i] = kernel.op_;
        const_cast<rt::Kernel&>(kernel).op_ = kChecked[i];
      }
    }
  }
}

}  // namespace etconfig
