// A library with a backend that prints the options it receives, each with its C++ type.
#include <executorch/runtime/backend/interface.h>

#include <array>
#include <cstdio>
#include <variant>

namespace {

namespace rt = executorch::runtime;

using Text = std::array<char, rt::kMaxOptionValueLength>;

void print(const char* call, const rt::BackendOption& option) {
  if (const auto* number = std::get_if<int>(&option.value)) {
    std::printf("%s: int %s = %d\n", call, option.key, *number);
  } else if (const auto* flag = std::get_if<bool>(&option.value)) {
    std::printf("%s: bool %s = %d\n", call, option.key, static_cast<int>(*flag));
  } else {
    std::printf("%s: text %s = %s\n", call, option.key, std::get<Text>(option.value).data());
  }
  std::fflush(stdout);
}

class AcmeDsp final : public rt::BackendInterface {
 public:
  bool is_available() const override { return true; }

  rt::Result<rt::DelegateHandle*> init(rt::BackendInitContext& context, rt::FreeableBuffer*,
                                       rt::ArrayRef<rt::CompileSpec>) const override {
    for (const auto& option : context.runtime_specs()) {
      print("init", option);
    }
    return nullptr;
  }

  rt::Error execute(rt::BackendExecutionContext&, rt::DelegateHandle*, rt::Span<rt::EValue*>) const override {
    return rt::Error::Ok;
  }

  rt::Error set_option(rt::BackendOptionContext&, const rt::Span<rt::BackendOption>& options) override {
    for (const auto& option : options) {
      print("set_option", option);
      cache_dir_ = option;
    }
    return rt::Error::Ok;
  }

  rt::Error get_option(rt::BackendOptionContext&, rt::Span<rt::BackendOption>& options) override {
    for (auto& option : options) {
      option.value = cache_dir_.value;
    }
    return rt::Error::Ok;
  }

 private:
  rt::BackendOption cache_dir_;
};

AcmeDsp backend;
const auto registered = rt::register_backend({"AcmeDspBackend", &backend});

}  // namespace
