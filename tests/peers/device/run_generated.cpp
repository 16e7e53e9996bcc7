// Loads and runs method "forward" of a program with generated options: `run PROGRAM`, compiled with
// -DGENERATED="HEADER". Prints the option map, XNNPACK's threads, and how loading and executing ended.

#include <cstdio>
#include <vector>

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

#include GENERATED

using executorch::runtime::BackendOption;
using executorch::runtime::Error;
using executorch::runtime::LoadBackendOptionsMap;
using executorch::extension::threadpool::NoThreadPoolGuard;

static void print(const LoadBackendOptionsMap& map) {
  for (size_t i = 0; i < map.size(); ++i) {
    const auto entry = map.entry_at(i);
    for (const BackendOption& option : entry.options) {
      std::printf("%s %s ", entry.backend_id, option.key);
      if (const auto* flag = std::get_if<bool>(&option.value)) std::printf("bool %d\n", *flag);
      if (const auto* number = std::get_if<int>(&option.value)) std::printf("int %d\n", *number);
      if (const auto* text = std::get_if<2>(&option.value)) std::printf("text %s\n", text->data());
    }
  }
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  etconfig_options::ForwardOptions options;
  LoadBackendOptionsMap map;
  if (options.fill(map) != Error::Ok) return 1;
  print(map);
  executorch::extension::Module module(argv[1]);
  {
    const auto threads = options.threads();
    const size_t count = executorch::extension::threadpool::get_threadpool()->get_thread_count();
    std::printf("threads %zu\n", NoThreadPoolGuard::is_enabled() ? size_t{1} : count);
    if (!threads.is_ok()) return 1;
    const Error loaded = module.load_method("forward", nullptr, nullptr, &map);
    std::printf("load 0x%x\n", static_cast<unsigned>(loaded));
    if (loaded != Error::Ok) return 0;
  }
  if (NoThreadPoolGuard::is_enabled()) return 1;
  const auto meta = module.method_meta("forward");
  std::vector<executorch::extension::TensorPtr> inputs;
  std::vector<executorch::runtime::EValue> values;
  for (size_t i = 0; i < meta->num_inputs(); ++i) {
    const auto sizes = meta->input_tensor_meta(i)->sizes();
    inputs.push_back(executorch::extension::ones({sizes.begin(), sizes.end()}));
    values.emplace_back(*inputs.back());
  }
  const auto outputs = module.execute("forward", values);
  std::printf("execute 0x%x\n", static_cast<unsigned>(outputs.error()));
  return 0;
}
