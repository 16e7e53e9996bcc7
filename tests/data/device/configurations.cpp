// Prints every configuration of a bundle that was resolved when packing, without facts: `configurations FILE`.

#include <etconfig/device.h>

#include <cstdio>

using namespace etconfig::device;

static void print(std::string_view text) { std::printf("%.*s", static_cast<int>(text.size()), text.data()); }

static void print_option(const OptionArgument& option) {
  char memory[1024];
  TextBuffer value(memory, sizeof memory);
  option.value().write(&value);
  value << " sent ";
  option.sent().write(&value);
  value << (option.separator() ? " joined" : "") << " as " << option.key().value_or("nothing");
  value << (option.scope() == Scope::Process ? ", process" : ", method");
  value << (option.applies() == Applies::Execute ? ", execute" : ", load") << (option.is_set() ? ", set" : "");
  value << ", from " << option.origin();
  print(option.backend());
  print(".");
  print(option.name());
  std::printf(" = %s\n", memory);
}

int main(int, char** arguments) {
  static char bytes[1 << 16];
  std::FILE* const file = std::fopen(arguments[1], "rb");
  if (file == nullptr) return 1;
  const size_t size = std::fread(bytes, 1, sizeof bytes, file);
  std::fclose(file);
  static Bundle bundle;
  if (bundle.open(bytes, size) != Status::Ok) return 2;
  static Arguments<64> resolved;
  FactStore<1> none;
  const Selection only = bundle.select(none);
  std::printf(only ? "selects %u\n" : "selects none of %u\n", only ? only.profile : bundle.profile_count());
  for (uint32_t i = 0; i < bundle.profile_count(); ++i) {
    const Selection selection = bundle.select(bundle.profile_name(i));
    print(bundle.profile_name(i));
    print(" ");
    print(bundle.profile_fingerprint(i));
    print("\n");
    for (uint32_t slot = 0; slot < bundle.slot_count(i); ++slot) {
      const std::string_view method = bundle.slot_method(i, slot), instance = bundle.slot_instance(i, slot);
      if (bundle.resolve(selection, method, instance, &resolved) != Status::Ok) return 3;
      std::printf("%.*s@%.*s\n", static_cast<int>(method.size()), method.data(), static_cast<int>(instance.size()),
                  instance.data());
      for (uint32_t at = 0; at < resolved.size(); ++at) print_option(resolved[at]);
    }
  }
}
