#include <executorch/runtime/backend/interface.h>

#include <array>
#include <cstdio>
#include <variant>

using namespace executorch::runtime;

static void print(const char* call, const BackendOption& option) {
  if (const auto* number = std::get_if<int>(&option.value)) {
    std::printf("%s: int %s = %d\n", call, option.key, *number);
  } else if (const auto* flag = std::get_if<bool>(&option.value)) {
    std::printf("%s: bool %s = %s\n", call, option.key, *flag ? "true" : "false");
  } else {
    const auto& text = std::get<std::array<char, kMaxOptionValueLength>>(option.value);
    std::printf("%s: text %s = %s\n", call, option.key, text.data());
  }
  std::fflush(stdout);
}

class AcmeDsp final : public BackendInterface {
 public:
  bool is_available() const override { return true; }

  Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer*,
                               ArrayRef<CompileSpec>) const override {
    for (const auto& option : context.runtime_specs()) {
      print("init", option);
    }
    return nullptr;
  }

  Error execute(BackendExecutionContext&, DelegateHandle*, Span<EValue*>) const override {
    return Error::Ok;
  }

  Error set_option(BackendOptionContext&, const Span<BackendOption>& options) override {
    for (const auto& option : options) {
      print("set_option", option);
    }
    return Error::Ok;
  }
};

static AcmeDsp backend;
static const auto registered = register_backend({"AcmeDspBackend", &backend});
