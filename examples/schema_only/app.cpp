#include <etconfig/device.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

using namespace etconfig::device;

int main() {
  std::ifstream file("app.etbundle", std::ios::binary);
  const std::string data(std::istreambuf_iterator<char>(file), {});
  Bundle bundle;
  if (bundle.open(data.data(), data.size()) != Status::Ok) {
    return 1;
  }
  Arguments<64> arguments;
  if (bundle.resolve(bundle.select("pi5"), "forward", "", &arguments) != Status::Ok) {
    return 1;
  }
  for (uint32_t i = 0; i < arguments.size(); ++i) {
    const OptionArgument option = arguments[i];
    if (!option.key()) {
      continue;
    }
    const std::string key(*option.key());
    const char* scope = option.scope() == Scope::Process ? "process" : "method";
    if (const auto number = option.sent().integer()) {
      std::printf("%s = %d (%s)\n", key.c_str(), static_cast<int>(*number), scope);
    } else if (const auto flag = option.sent().boolean()) {
      std::printf("%s = %s (%s)\n", key.c_str(), *flag ? "true" : "false", scope);
    } else if (const auto text = option.sent().text()) {
      std::printf("%s = %s (%s)\n", key.c_str(), std::string(*text).c_str(), scope);
    }
  }
}
