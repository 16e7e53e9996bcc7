// Recognizes a digit with ExecuTorch: `app BUNDLE IMAGE [FACT=TEXT...]`. The bundle decides which program runs, with which
// options and on how many threads, by what this device is. The last arguments stand for what only an app knows, such as
// power.source=battery.

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <etconfig/device_executorch.h>
#include <etconfig/facts.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

namespace device = etconfig::device;
using executorch::extension::Module;
using executorch::runtime::BackendOption;
using executorch::runtime::Error;
using executorch::runtime::LoadBackendOptionsMap;

namespace {

device::Bundle bundle;
device::FactStore<256> facts;
device::Arguments<128> arguments;
char memory[1024];

std::vector<char> read_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void print(const char* what, std::string_view text) {
  std::printf("%-8s %.*s\n", what, static_cast<int>(text.size()), text.data());
}

void print_variants(const device::ModelChoice& choice) {
  for (uint32_t i = 0; i < bundle.variant_count(choice.model()); ++i) {
    device::TextBuffer line(memory, sizeof memory);
    line << bundle.variant_file(choice.model(), i) << ": ";
    bundle.explain_variant(choice, i, facts, &line, "; ");
    print(i == choice.variant() ? "program" : "", line.text());
  }
}

// Loads method "forward" with the options that were resolved for it.
Error load(Module* module) {
  static BackendOption storage[32];
  static LoadBackendOptionsMap map;
  size_t left_out = 0;
  const Error error = device::fill(arguments, {storage, 32}, &map, &left_out);
  if (error != Error::Ok) return error;
  if (left_out != 0) std::printf("%zu options could not be passed on\n", left_out);
  const device::XnnpackThreads threads(arguments);
  if (!threads.is_ok()) return Error::NotSupported;
  return module->load_method("forward", nullptr, nullptr, &map);
}

Error recognize(Module* module, std::vector<char>* image) {
  const auto input = executorch::extension::from_blob(image->data(), {1, 1, 8, 8});
  const auto outputs = module->execute("forward", executorch::runtime::EValue(*input));
  if (!outputs.ok()) return outputs.error();
  const executorch::aten::Tensor scores = (*outputs)[0].toTensor();
  const float* first = scores.const_data_ptr<float>();
  std::printf("%-8s %td\n", "digit", std::max_element(first, first + scores.numel()) - first);
  return Error::Ok;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "usage: app BUNDLE IMAGE [FACT=TEXT...]\n"), 2;
  const std::vector<char> bytes = read_file(argv[1]);
  std::vector<char> image = read_file(argv[2]);
  if (bundle.open(bytes.data(), bytes.size()) != device::Status::Ok || image.size() != 64 * sizeof(float)) {
    return std::fprintf(stderr, "cannot use %s and %s: expected a bundle and an image of 8 x 8 floats\n", argv[1], argv[2]), 1;
  }

  if (device::detect(bundle, &facts) != device::FactStatus::Ok ||
      device::set_runtime_backends(&facts) != device::FactStatus::Ok) {
    return std::fprintf(stderr, "there are more facts than there is room for\n"), 1;
  }
  for (int i = 3; i < argc; ++i) {
    const std::string text = argv[i];
    const size_t equals = std::min(text.find('='), text.size() - 1);
    if (bundle.set(&facts, text.substr(0, equals), std::string_view(text).substr(equals + 1)) != device::Status::Ok) {
      return std::fprintf(stderr, "%s: the bundle reads no such fact, or it has no such value\n", argv[i]), 1;
    }
  }

  const device::Selection selection = bundle.select(facts);
  if (!selection) return std::fprintf(stderr, "no profile: %s\n", device::name_of(selection.status)), 1;
  print("profile", bundle.profile_name(selection.profile));
  if (bundle.resolve(selection, facts, "forward", "", &arguments) != device::Status::Ok) {
    return std::fprintf(stderr, "no options: %s\n", device::name_of(arguments.status())), 1;
  }
  for (const char* name : {"num_threads", "workspace_sharing_mode"}) {
    device::TextBuffer line(memory, sizeof memory);
    if (bundle.explain(arguments, std::string("XnnpackBackend.") + name, &line) == device::Status::Ok) {
      print("option", line.text());
    }
  }

  BackendOption storage[32];
  if (device::set_process_options(arguments, {storage, 32}) != Error::Ok) return 1;
  device::ModelChoice choice = bundle.select_model("digits", facts);
  if (!choice) return std::fprintf(stderr, "no program: %s\n", device::name_of(choice.status())), 1;
  for (;;) {
    Module module{std::string(choice.file())};
    const Error error = load(&module);
    if (error == Error::Ok) {
      print_variants(choice);
      const Error failed = recognize(&module, &image);
      if (failed != Error::Ok) std::fprintf(stderr, "execute: error 0x%x\n", static_cast<unsigned>(failed));
      return failed == Error::Ok ? 0 : 1;
    }
    std::fprintf(stderr, "load: error 0x%x\n", static_cast<unsigned>(error));
    if (!choice.next("ExecuTorch refused it")) return 1;
  }
}
