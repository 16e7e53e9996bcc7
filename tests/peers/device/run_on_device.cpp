// Loads and runs method "forward" of a program, with the options that a bundle gives on this device:
// `run BUNDLE PROGRAM [CORES]`. Prints what was chosen, the option map, and how loading and executing ended.

#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

#include <etconfig/device_executorch.h>
#include <etconfig/facts.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

namespace device = etconfig::device;
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
  if (argc < 3) return 2;
  std::ifstream file(argv[1], std::ios::binary);
  const std::vector<char> data((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  static device::Bundle bundle;
  if (bundle.open(data.data(), data.size()) != device::Status::Ok) return 1;
  static device::FactStore<256> facts;
  if (device::detect(bundle, &facts) != device::FactStatus::Ok) return 1;
  if (device::set_runtime_backends(&facts) != device::FactStatus::Ok) return 1;
  const device::Status set = argc > 3 ? bundle.set(&facts, "cpu.available_cores", std::atoi(argv[3])) : device::Status::Ok;
  if (set != device::Status::Ok && set != device::Status::NoSuchFact) return 1;  // a resolved bundle reads no facts
  const auto backends = facts.find("runtime.backends").list();
  std::printf("XnnpackBackend is %s\n", backends.contains("XnnpackBackend") ? "there" : "missing");

  const device::Selection selection = bundle.select(facts);
  static device::Arguments<128> arguments;
  if (bundle.resolve(selection, facts, "forward", "", &arguments) != device::Status::Ok) {
    std::printf("%s\n", device::name_of(arguments.status()));
    return 1;
  }
  const std::string_view profile = bundle.profile_name(selection.profile);
  std::printf("profile %.*s\n", static_cast<int>(profile.size()), profile.data());

  BackendOption storage[32];
  LoadBackendOptionsMap map;
  size_t left_out = 0;
  if (device::set_process_options(arguments, {storage, 32}, &left_out) != Error::Ok) return 1;
  if (device::fill(arguments, {storage, 32}, &map, &left_out) != Error::Ok) return 1;
  std::printf("left out %zu\n", left_out);
  print(map);
  executorch::extension::Module module(argv[2]);
  {
    const device::XnnpackThreads threads(arguments);
    const bool is_single = executorch::extension::threadpool::NoThreadPoolGuard::is_enabled();
    const size_t count = executorch::extension::threadpool::get_threadpool()->get_thread_count();
    std::printf("threads %zu\n", is_single ? size_t{1} : count);
    if (!threads.is_ok()) return 1;
    const Error loaded = module.load_method("forward", nullptr, nullptr, &map);
    std::printf("load 0x%x\n", static_cast<unsigned>(loaded));
    if (loaded != Error::Ok) return 0;
  }
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
  return executorch::extension::threadpool::NoThreadPoolGuard::is_enabled() ? 1 : 0;
}
