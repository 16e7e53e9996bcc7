// Apple systems, by `sysctl`. It does not report free memory, power, temperature and GPUs, for which etconfig
// runs commands on a desk; here these facts are unknown, and an app sets them.
//
// Written from Apple's documentation. It was compiled with stand-ins for
// Apple's headers, and run on captured outputs.

#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#if defined(__APPLE__)
#define ETCONFIG_FACTS_APPLE 1
#include <TargetConditionals.h>
#endif
#if defined(ETCONFIG_FACTS_APPLE)
#include <sys/sysctl.h>
#endif

#include "etconfig/facts/cpu.h"
#include "etconfig/facts/platform.h"
#include "../version.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {
namespace detection {

inline constexpr std::string_view kOnlyInPython =
    "etconfig detects it only in Python; the application sets it";
inline constexpr std::string_view kNeverDetected =
    "it identifies the device, so it is never detected; set it";

enum class Sysctl : uint8_t { Number, Text };

#if defined(ETCONFIG_FACTS_APPLE)
inline bool ask_sysctl(const char* name, Sysctl kind, Text* value) {
  char bytes[kMaxLineBytes];
  size_t size = sizeof bytes;
  if (std::string_view(name) == "vm.swapusage") {
    xsw_usage usage{};
    size = sizeof usage;
    if (sysctlbyname(name, &usage, &size, nullptr, 0) != 0) return false;
    *value << "total = " << static_cast<int64_t>(usage.xsu_total >> 20) << ".00M";
    return true;
  }
  if (sysctlbyname(name, bytes, &size, nullptr, 0) != 0) return false;
  if (kind == Sysctl::Text) {
    Decoder decoder;
    for (size_t i = 0; i < size && bytes[i] != '\0'; ++i) decoder.push(bytes[i], value);
    decoder.flush(value);
    return true;
  }
  int64_t number = 0;
  if (size == sizeof(int32_t)) {
    int32_t narrow = 0;
    std::memcpy(&narrow, bytes, sizeof narrow);
    number = narrow;
  } else if (size == sizeof number) {
    std::memcpy(&number, bytes, sizeof number);
  } else {
    return false;
  }
  *value << number;
  return true;
}
#endif

// The value of a variable as `sysctl` prints it; false if there is none.
inline bool read_sysctl(System* system, const char* name, Sysctl kind, Text* value) {
  value->clear();
  if (!system->is_captured()) {
#if defined(ETCONFIG_FACTS_APPLE)
    return ask_sysctl(name, kind, value);
#else
    (void)kind;
    return false;
#endif
  }
  constexpr std::string_view kOutput =
      "/commands/sysctl hw machdep.cpu kern.osproductversion kern.hv_vmm_present vm.swapusage.txt";
  LineReader lines(*system, kOutput, 1u << 20);
  bool is_found = false;
  for (std::string_view line; lines.next(&line);) {
    std::string_view found;
    bool has_value = false;
    if (partition(line, ":", &found, &has_value) != name || !has_value) continue;
    value->clear();
    *value << strip(found);
    is_found = true;
  }
  return is_found && lines.is_complete();
}

inline bool has_sysctl(System* system, const char* name, Sysctl kind) {
  FixedText<kMaxLineBytes> value;
  return read_sysctl(system, name, kind, &value);
}

inline void put_sysctl_text(System* system, std::string_view fact, const char* name, Readings* to) {
  if (!to->wants(fact)) return;
  FixedText<kMaxLineBytes> value;
  if (read_sysctl(system, name, Sysctl::Text, &value) && value.size() != 0) {
    to->known(fact, value.view(), Path("sysctl ", name).view());
  } else {
    to->unknown(fact, Path("sysctl ", name).view(), Path("sysctl has no ", name).view());
  }
}

// The first of two numbers that exists.
inline void put_sysctl_number(System* system, std::string_view fact, const char* name, const char* other,
                              Readings* to) {
  if (!to->wants(fact)) return;
  FixedText<64> value;
  for (const char* each : {name, other}) {
    int64_t number = 0;
    if (each == nullptr || !read_sysctl(system, each, Sysctl::Number, &value)) continue;
    if (parse_count(value.view(), &number)) return to->known(fact, number, Path("sysctl ", each).view());
  }
  Path reason("sysctl has no ", name);
  if (other != nullptr) reason << " and no " << other;
  to->unknown(fact, Path("sysctl ", name).view(), reason.view());
}

inline bool is_apple_silicon(System* system) {
  FixedText<kMaxLineBytes> brand;
  return read_sysctl(system, "machdep.cpu.brand_string", Sysctl::Text, &brand) &&
      starts_with(brand.view(), "Apple");
}

inline void detect_apple_system(System* system, Readings* to) {
#if defined(TARGET_OS_IPHONE) && TARGET_OS_IPHONE
  to->known("os.name", system->is_captured() ? "macos" : "ios", "uname");
#else
  to->known("os.name", "macos", "uname");
#endif
  detect_kernel(system->host(), to);
  put_sysctl_text(system, "os.version", "kern.osproductversion", to);
}

inline void put_apple_features(System* system, Readings* to) {
  CommonFeatures features;
  FixedText<kMaxLineBytes> words;
  FixedText<kMaxLineBytes> value;
  const char* end = kAppleFeatures + sizeof kAppleFeatures - 1;
  for (const char* at = kAppleFeatures; at < end;) {
    const std::string_view name(at);
    const std::string_view feature(at + name.size() + 1);
    at += name.size() + feature.size() + 2;
    FixedText<64> variable;
    variable << "hw.optional." << name << '\0';
    const bool is_read = read_sysctl(system, variable.view().data(), Sysctl::Number, &value);
    if (is_read && value.view() == "1") words << feature << ' ';
  }
  for (const char* variable : {"machdep.cpu.features", "machdep.cpu.leaf7_features"}) {
    if (!read_sysctl(system, variable, Sysctl::Text, &value)) continue;
    std::string_view rest = value.view();
    for (std::string_view word = take_word(&rest); !word.empty(); word = take_word(&rest)) {
      FixedText<128> lower;
      std::string_view linux_name;
      for (const char c : word) lower << lower_ascii(c);
      words << (look_up(kIntelFeatures, lower.view(), &linux_name) ? linux_name : lower.view()) << ' ';
    }
  }
  features.add(words.view());
  const std::string_view* sorted = nullptr;
  const uint32_t count = features.sorted(&sorted);
  if (features.is_known() && count != 0 && count <= CommonFeatures::kMost) {
    to->known("cpu.features", sorted, count, "sysctl");
  } else {
    to->unknown("cpu.features", "sysctl", "sysctl lists none");
  }
}

inline void detect_apple_cpu(System* system, Readings* to) {
  detect_architecture(system->host(), to);
  put_sysctl_text(system, "cpu.model", "machdep.cpu.brand_string", to);
  if (is_apple_silicon(system)) {
    to->known("cpu.vendor", "Apple", "sysctl machdep.cpu");
  } else if (has_sysctl(system, "machdep.cpu.vendor", Sysctl::Text)) {
    to->known("cpu.vendor", "Intel", "sysctl machdep.cpu");
  } else {
    to->unknown("cpu.vendor", "sysctl machdep.cpu", "sysctl does not report it");
  }
  if (to->wants("cpu.features")) put_apple_features(system, to);
  // Apple's processors list the caches of each kind of core, fast cores first
  put_sysctl_number(system, "cpu.cache.l1d", "hw.perflevel0.l1dcachesize", "hw.l1dcachesize", to);
  put_sysctl_number(system, "cpu.cache.l2", "hw.perflevel0.l2cachesize", "hw.l2cachesize", to);
  put_sysctl_number(system, "cpu.cache.l3", "hw.perflevel0.l3cachesize", "hw.l3cachesize", to);
}

inline void detect_apple_cores(System* system, Readings* to) {
  constexpr const char* kSlow = "hw.perflevel1.physicalcpu";
  put_sysctl_number(system, "cpu.logical_cores", "hw.logicalcpu", nullptr, to);
  put_sysctl_number(system, "cpu.physical_cores", "hw.physicalcpu", nullptr, to);
  put_sysctl_number(system, "cpu.performance_cores", "hw.perflevel0.physicalcpu", "hw.physicalcpu", to);
  if (has_sysctl(system, "hw.physicalcpu", Sysctl::Number) && !has_sysctl(system, kSlow, Sysctl::Number)) {
    to->known("cpu.efficiency_cores", int64_t{0}, "sysctl hw", "it reports one kind of core");
  } else {
    put_sysctl_number(system, "cpu.efficiency_cores", kSlow, nullptr, to);
  }
}

inline void detect_apple_available_cores(System* system, Readings* to) {
  put_sysctl_number(system, "cpu.available_cores", "hw.activecpu", "hw.logicalcpu", to);
}

// "total = 3072.00M  used = ..."
inline bool parse_swap(std::string_view text, int64_t* bytes) {
  constexpr std::string_view kTotal = "total = ";
  const size_t at = text.find(kTotal);
  if (at == std::string_view::npos) return false;
  text.remove_prefix(at + kTotal.size());
  text = text.substr(0, text.find('M'));
  std::string_view fraction;
  bool has_point = false;
  const std::string_view whole = partition(text, ".", &fraction, &has_point);
  int64_t megabytes = 0;
  int64_t millionths = 0;
  if (whole.size() > 9 || !parse_count(whole, &megabytes)) return false;
  if (has_point && (fraction.size() > 6 || !parse_count(fraction, &millionths))) return false;
  double divisor = 1;
  for (size_t i = 0; i < fraction.size(); ++i) divisor *= 10;
  const double all = (static_cast<double>(megabytes) * divisor + static_cast<double>(millionths)) / divisor;
  *bytes = static_cast<int64_t>(all * (1 << 20));
  return true;
}

inline void detect_apple_memory(System* system, Readings* to) {
  put_sysctl_number(system, "memory.total", "hw.memsize", nullptr, to);
  FixedText<kMaxLineBytes> value;
  int64_t swap = 0;
  if (read_sysctl(system, "vm.swapusage", Sysctl::Text, &value) && parse_swap(value.view(), &swap)) {
    to->known("memory.swap_total", swap, "sysctl vm.swapusage");
  } else {
    to->unknown("memory.swap_total", "sysctl vm.swapusage", "sysctl does not report it");
  }
  to->unknown("memory.available", "nothing", kOnlyInPython);
}

inline void detect_apple_power(System*, Readings* to) {
  for (const char* fact : {"power.source", "power.battery_level"}) {
    to->unknown(fact, "nothing", kOnlyInPython);
  }
}

inline void detect_apple_thermal(System*, Readings* to) {
  to->unknown("thermal.state", "nothing", kOnlyInPython);
}

inline void detect_apple_device(System* system, Readings* to) {
  to->known("device.vendor", "Apple", "uname");
#if defined(TARGET_OS_IPHONE) && TARGET_OS_IPHONE
  const bool is_phone = !system->is_captured();  // where hw.model is the name of a board
#else
  constexpr bool is_phone = false;
#endif
  put_sysctl_text(system, "device.model", is_phone ? "hw.machine" : "hw.model", to);
  constexpr std::string_view kSource = "sysctl machdep.cpu.brand_string";
  if (is_apple_silicon(system)) {
    FixedText<kMaxLineBytes> brand;
    read_sysctl(system, "machdep.cpu.brand_string", Sysctl::Text, &brand);
    to->known("soc.vendor", "Apple", kSource);
    to->known("soc.model", brand.view(), kSource);
    return;
  }
  for (const char* fact : {"soc.vendor", "soc.model"}) to->unknown(fact, kSource, "it has no Apple silicon");
}

inline void detect_apple_gpu(System*, Readings* to) { to->unknown("gpu.count", "nothing", kOnlyInPython); }

// The Neural Engine, which all Apple silicon has, but virtual machines lack.
inline void detect_apple_npu(System* system, Readings* to) {
  constexpr std::string_view kSource = "sysctl kern.hv_vmm_present";
  if (!is_apple_silicon(system)) return to->unknown("npu.count", "sysctl", "sysctl reports no Apple silicon");
  FixedText<64> value;
  const bool is_virtual =
      read_sysctl(system, "kern.hv_vmm_present", Sysctl::Number, &value) && value.view() == "1";
  to->known("npu.count", int64_t{is_virtual ? 0 : 1}, kSource, "all Apple silicon has one");
  if (is_virtual) return;
  to->known("npu.0.name", "Apple Neural Engine", kSource);
  to->known("npu.0.vendor", "Apple", kSource);
}

}  // namespace detection
}  // inline namespace
}  // namespace etconfig::device
