// Checks the options of XNNPACK with a generated reader, inside ExecuTorch: `run PROGRAM BACKEND [KEY KIND VALUE]...`,
// compiled with -DREADER="HEADER" -DSPACE=NAMESPACE. The program delegates to CheckedXnnpack, which reads its
// options and hands everything on to the backend of the wheel. Prints the problems, and how loading ended.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <executorch/extension/module/module.h>

#include READER

using namespace executorch::runtime;

namespace {

const BackendInterface* xnnpack() { return get_backend_class("XnnpackBackend"); }

class CheckedXnnpack final : public BackendInterface {
 public:
  bool is_available() const override { return xnnpack()->is_available(); }

  Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
                               ArrayRef<CompileSpec> specs) const override {
    SPACE::Options options;
    SPACE::Message message;
    const Error error = SPACE::read(context.runtime_specs(), &options, &message);
    if (error != Error::Ok) {
      std::printf("init: %s\n", message.text());
      return error;
    }
    if (options.weight_cache_enabled) std::printf("weight_cache_enabled %d\n", *options.weight_cache_enabled);
    if (options.packed_cache_path) std::printf("packed_cache_path %s\n", options.packed_cache_path->c_str());
    return xnnpack()->init(context, processed, specs);
  }

  Error execute(BackendExecutionContext& context, DelegateHandle* handle, Span<EValue*> args) const override {
    return xnnpack()->execute(context, handle, args);
  }

  Error set_option(BackendOptionContext&, const Span<BackendOption>& given) override {
    SPACE::Message message;
    const Error error = SPACE::read_process({given.data(), given.size()}, &process_, &message);
    if (error != Error::Ok) std::printf("set_option: %s\n", message.text());
    return error;
  }

  void destroy(DelegateHandle* handle) const override { xnnpack()->destroy(handle); }

 private:
  SPACE::Options process_;
};

CheckedXnnpack backend;
const auto registered = register_backend({"CheckedXnnpack", &backend});

BackendOption option(const char* key, std::string_view kind, const char* value) {
  BackendOption made;
  std::strncpy(made.key, key, sizeof made.key);  // a key of 64 bytes has no NUL
  if (kind == "bool") {
    made.value = std::string_view(value) == "true";
  } else if (kind == "int") {
    made.value = std::atoi(value);
  } else {
    std::array<char, kMaxOptionValueLength> bytes{};
    std::strncpy(bytes.data(), value, bytes.size());
    made.value = bytes;
  }
  return made;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc % 3 != 0 || argc > 24 || registered != Error::Ok) return 2;
  BackendOption options[8];
  size_t count = 0;
  for (int i = 3; i < argc; i += 3) options[count++] = option(argv[i], argv[i + 1], argv[i + 2]);
  LoadBackendOptionsMap map;
  if (map.set_options(argv[2], {options, count}) != Error::Ok) return 1;
  SPACE::Message message;
  if (SPACE::check_backends(map, &message) != Error::Ok) {
    std::printf("map: %s\n", message.text());
    return 0;
  }
  (void)set_option("CheckedXnnpack", {options, count});
  executorch::extension::Module module(argv[1]);
  std::printf("load 0x%x\n", static_cast<unsigned>(module.load_method("forward", nullptr, nullptr, &map)));
  return 0;
}
