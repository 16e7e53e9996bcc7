// Loads method "forward" of a program with options, and executes it with ones: `run FILE.etargs CONFIGURATION PROGRAM`.
// The options come from the file, or with -DGENERATED="HEADER" from generated code. Prints the option map, and how
// loading and executing ended.

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <etconfig/etargs_executorch.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

#ifdef GENERATED
#include GENERATED
#endif

using executorch::runtime::BackendOption;
using executorch::runtime::Error;
using executorch::runtime::LoadBackendOptionsMap;

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
  if (argc != 4) return 2;
  std::ifstream file(argv[1], std::ios::binary);
  const std::vector<char> data((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  LoadBackendOptionsMap map;
#ifdef GENERATED
  etconfig_options::ForwardOptions options;
  if (options.fill(map) != Error::Ok) return 1;
#else
  etconfig::etargs::Package package;
  const auto status = etconfig::etargs::Package::open(data.data(), data.size(), &package);
  if (status != etconfig::etargs::Status::Ok) {
    std::printf("status %d\n", static_cast<int>(status));
    return 1;
  }
  const auto configuration = package.find(argv[2]);
  const auto method = configuration ? configuration->find("forward") : std::nullopt;
  if (!method) return 1;
  BackendOption storage[16];
  size_t left_out = 0;
  if (etconfig::etargs::fill(*method, {storage, 16}, &map, &left_out) != Error::Ok) return 1;
  size_t process_left_out = 0;
  if (etconfig::etargs::set_process_options(*method, {storage + 8, 8}, &process_left_out) != Error::Ok) return 1;
  std::printf("left out %zu and %zu\n", left_out, process_left_out);
#endif
  print(map);
  executorch::extension::Module module(argv[3]);
  const Error loaded = module.load_method("forward", nullptr, nullptr, &map);
  std::printf("load 0x%x\n", static_cast<unsigned>(loaded));
  if (loaded != Error::Ok) return 0;
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
