// A library as a user builds one: an operator, and a backend that adds 1 to its input. With -DTWICE it registers
// its operator twice, with -DSTOCK an operator that executorch's kernels have, with -DMANY nearly as many as fit.
// With -DLOGGING the backend logs as it runs, and a failed check ends its answer whether it is available.
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/kernel/kernel_includes.h>
#include <executorch/runtime/kernel/operator_registry.h>

#include <cstdlib>
#include <string>

namespace {

namespace rt = executorch::runtime;

void apply(const rt::EValue& from, rt::EValue& to, float factor, float summand) {
  const auto& x = from.toTensor();
  auto& out = to.toTensor();
  for (ssize_t i = 0; i < x.numel(); ++i) {
    out.mutable_data_ptr<float>()[i] = factor * x.const_data_ptr<float>()[i] + summand;
  }
}

void triple(rt::KernelRuntimeContext&, rt::Span<rt::EValue*> stack) { apply(*stack[0], *stack[1], 3, 0); }

class Demo final : public rt::BackendInterface {
 public:
  bool is_available() const override {
#ifdef LOGGING
    if (std::getenv("DEMO_IS_BROKEN") != nullptr) {
      ET_LOG(Error, "the demo's device does not answer");
      ET_CHECK_MSG(false, "the demo's device is broken");
    }
#endif
    return true;
  }
  rt::Result<rt::DelegateHandle*> init(rt::BackendInitContext&, rt::FreeableBuffer*,
                                       rt::ArrayRef<rt::CompileSpec>) const override {
    return nullptr;
  }
  rt::Error execute(rt::BackendExecutionContext&, rt::DelegateHandle*, rt::Span<rt::EValue*> args) const override {
#ifdef LOGGING
    ET_LOG(Info, "adding 1, 100%% sure");
    ET_LOG(Error, "an error \xff that stops nothing");
#endif
    apply(*args[0], *args[1], 1, 1);
    return rt::Error::Ok;
  }
};

#ifdef STOCK
const rt::Kernel kernels[] = {rt::Kernel("aten::add.out", &triple)};
#else
const rt::Kernel kernels[] = {rt::Kernel("demo::triple.out", &triple)};
#endif
#ifdef MANY
const bool many = [] {
  for (int i = 0; i < 1900; ++i) {
    auto* name = new std::string("demo::number" + std::to_string(i) + ".out");  // the registry keeps it
    const rt::Kernel kernel(name->c_str(), &triple);
    (void)rt::register_kernels({&kernel, 1});
  }
  return true;
}();
#endif
const auto registered = rt::register_kernels({kernels, 1});
#ifdef TWICE
const auto again = rt::register_kernels({kernels, 1});
#endif
Demo demo;
const auto with_demo = rt::register_backend({"DemoBackend", &demo});

}  // namespace
