// Android: its properties, and in captured trees the outputs of its services.
//
// An app may read properties, but it may not query services with `dumpsys`. On a device, power and
// temperature therefore come from sysfs where that can be read, and otherwise from the application.

#pragma once

#include <cstdint>
#include <string_view>

#if defined(__ANDROID__)
#include <sys/system_properties.h>
#endif

#include "etconfig/facts/platform.h"
#include "../version.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {
namespace detection {

inline constexpr size_t kMaxCapturedBytes = 1u << 20;

// The value of a property; false if there is none.
inline bool read_property(System* system, std::string_view name, Text* value) {
  value->clear();
  if (!system->is_captured()) {
#if defined(__ANDROID__)
    char text[PROP_VALUE_MAX];
    FixedText<128> terminated;
    terminated << name << '\0';
    if (__system_property_get(terminated.view().data(), text) <= 0) return false;
    Decoder decoder;
    for (const char c : std::string_view(text)) decoder.push(c, value);
    decoder.flush(value);
#endif
    return value->size() != 0;
  }
  // [name]: [value]
  LineReader lines(*system, "/commands/getprop.txt", kMaxCapturedBytes);
  for (std::string_view line; lines.next(&line);) {
    std::string_view rest;
    bool is_pair = false;
    if (!starts_with(line, "[") || !ends_with(line, "]")) continue;
    const std::string_view key = partition(line.substr(1), "]", &rest, &is_pair);
    if (!is_pair || key != name || !starts_with(rest, ": [")) continue;
    value->clear();
    *value << rest.substr(3, rest.size() - 4);
  }
  return lines.is_complete() && value->size() != 0;
}

inline void put_property(System* system, std::string_view fact, std::string_view name, std::string_view other,
                         Readings* to) {
  FixedText<kMaxLineBytes> value;
  for (const std::string_view each : {name, other}) {
    if (each.empty() || !read_property(system, each, &value)) continue;
    return to->known(fact, value.view(), Path("getprop ", each).view());
  }
  FixedText<128> reason;
  reason << "getprop has no " << name;
  if (!other.empty()) reason << " and no " << other;
  to->unknown(fact, "getprop", reason.view());
}

inline void detect_android_system(System* system, Readings* to) {
  to->known("os.name", "android", "uname");
  detect_kernel(system->host(), to);
  put_property(system, "os.version", "ro.build.version.release", {}, to);
  FixedText<kMaxLineBytes> value;
  int64_t level = 0;
  if (read_property(system, "ro.build.version.sdk", &value) && parse_count(value.view(), &level)) {
    to->known("os.api_level", level, "getprop ro.build.version.sdk");
  } else {
    to->unknown("os.api_level", "getprop ro.build.version.sdk", "getprop has no ro.build.version.sdk");
  }
}

inline void put_emulator(System* system, Readings* to) {
  FixedText<kMaxLineBytes> value;
  for (const std::string_view name : {"ro.kernel.qemu", "ro.boot.qemu"}) {
    if (!read_property(system, name, &value) || value.view() != "1") continue;
    return to->known("device.is_emulator", true, Path("getprop ", name).view());
  }
  if (!read_property(system, "ro.hardware", &value)) {
    return to->unknown("device.is_emulator", "getprop", "getprop has no ro.hardware");
  }
  bool is_emulator = false;
  for (const char* each : {"goldfish", "ranchu", "cutf_cvm", "vbox86"}) {
    is_emulator = is_emulator || value.view() == each;
  }
  to->known("device.is_emulator", is_emulator, "getprop ro.hardware");
}

inline void detect_android_device(System* system, Readings* to) {
  put_property(system, "device.vendor", "ro.product.manufacturer", {}, to);
  put_property(system, "device.model", "ro.product.model", {}, to);
  put_property(system, "device.board", "ro.product.board", {}, to);
  put_emulator(system, to);
  // Android 12 and later name the chip; before that, the platform comes closest
  put_property(system, "soc.vendor", "ro.soc.manufacturer", {}, to);
  put_property(system, "soc.model", "ro.soc.model", "ro.board.platform", to);
}

// Nothing without the output of the service.
inline void detect_android_power(System* system, Readings* to) {
  if (!system->is_captured()) return;
  LineReader lines(*system, "/commands/dumpsys battery.txt", kMaxCapturedBytes);
  int64_t level = -1;
  int64_t scale = -1;
  bool is_powered = false;
  for (std::string_view line; lines.next(&line);) {
    std::string_view value;
    if (!starts_with(line, "  ")) continue;
    const std::string_view key = partition(line.substr(2), ": ", &value);
    int64_t count = -1;
    const bool is_count = value.size() <= 9 && parse_count(value, &count);
    if (!is_count && value != "true" && value != "false") continue;
    if (key == "level") level = is_count ? count : -1;
    if (key == "scale") scale = is_count ? count : -1;
    constexpr std::string_view kPowered = " powered";
    bool is_name = key.size() > kPowered.size() && ends_with(key, kPowered);
    for (const char c : key) {
      is_name = is_name && (c == ' ' || (lower_ascii(c) >= 'a' && lower_ascii(c) <= 'z'));
    }
    if (is_name && value == "true") is_powered = true;
  }
  if (!lines.is_complete() || level < 0 || scale < 0) return;
  constexpr std::string_view kSource = "dumpsys battery";
  to->known("power.source", is_powered ? "mains" : "battery", kSource);
  const double fraction = static_cast<double>(level) / static_cast<double>(scale < 1 ? 1 : scale);
  to->known("power.battery_level", fraction < 1 ? fraction : 1, kSource);
}

// "-41.3", with at most 6 digits before the point and 9 behind it.
inline bool parse_temperature(std::string_view text, double* celsius) {
  const bool is_negative = starts_with(text, "-");
  if (is_negative) text.remove_prefix(1);
  std::string_view fraction;
  bool has_point = false;
  const std::string_view whole = partition(text, ".", &fraction, &has_point);
  if (whole.size() > 6 || fraction.size() > 9 || (has_point && fraction.empty())) return false;
  FixedText<16> digits;
  digits << whole << fraction;
  int64_t number = 0;
  if (whole.empty() || !parse_count(digits.view(), &number)) return false;
  double divisor = 1;
  for (size_t i = 0; i < fraction.size(); ++i) divisor *= 10;
  *celsius = static_cast<double>(number) / divisor;  // both are exact, so that the result is rounded once
  if (is_negative) *celsius = -*celsius;
  return true;
}

// Nothing without the output of the service.
inline void detect_android_thermal(System* system, Readings* to) {
  if (!system->is_captured()) return;
  constexpr std::string_view kSource = "dumpsys thermalservice";
  constexpr const char* kStates[] = {"nominal",  "fair",     "fair",    "serious",
                                     "critical", "critical", "critical"};
  LineReader lines(*system, "/commands/dumpsys thermalservice.txt", kMaxCapturedBytes);
  int64_t status = -1;
  bool has_temperature = false;
  double hottest = 0;
  for (std::string_view line; lines.next(&line);) {
    constexpr std::string_view kStatus = "Thermal Status: ";
    constexpr std::string_view kTemperature = "Temperature{mValue=";
    if (status < 0 && starts_with(line, kStatus) && line.size() == kStatus.size() + 1) {
      const char digit = line.back();
      if (digit >= '0' && digit <= '6') status = digit - '0';
    }
    line = strip_left(line);
    if (!starts_with(line, kTemperature) || line.find(',') == std::string_view::npos) continue;
    line.remove_prefix(kTemperature.size());
    double celsius = 0;
    if (!parse_temperature(line.substr(0, line.find(',')), &celsius)) continue;
    if (!has_temperature || celsius > hottest) hottest = celsius;
    has_temperature = true;
  }
  if (!lines.is_complete() || status < 0) return;
  to->known("thermal.state", kStates[status], kSource, Path("status ", status).view());
  if (has_temperature) {
    to->known("thermal.max_celsius", hottest, kSource);
  } else {
    to->unknown("thermal.max_celsius", kSource, "the service lists no temperature");
  }
}

inline void detect_android_gpu(System* system, Readings* to) {
  constexpr std::string_view kAdreno = "/sys/class/kgsl/kgsl-3d0/gpu_model";
  constexpr std::string_view kMali = "/sys/class/misc/mali0/device/gpuinfo";
  FixedText<2 * kMaxLineBytes> name;
  std::string_view line;
  const bool is_adreno = system->read_line(kAdreno, &line);
  if (!is_adreno && !system->read_line(kMali, &line)) {
    FixedText<160> reason;
    reason << "neither " << kAdreno << " nor " << kMali << " can be read";
    to->unknown("gpu.count", "/sys/class", reason.view());
    return;
  }
  if (is_adreno) {
    // "Adreno740v2": leave out the revision of the silicon
    constexpr std::string_view kBrand = "Adreno";
    std::string_view rest = line.substr(0, line.find('v'));
    for (size_t at = rest.find(kBrand); at != std::string_view::npos; at = rest.find(kBrand)) {
      name << rest.substr(0, at) << "Adreno ";
      rest.remove_prefix(at + kBrand.size());
    }
    name << rest;
  } else {
    name << line.substr(0, line.find(' '));  // "Mali-G715 7 cores r1p2 0xA0020C0B"
  }
  const std::string_view source = is_adreno ? kAdreno : kMali;
  to->known("gpu.count", int64_t{1}, source);
  to->known("gpu.0.name", name.view(), source);
  to->known("gpu.0.vendor", is_adreno ? "Qualcomm" : "Arm", source);
  to->unknown("gpu.0.driver_version", source, "only an app can ask the driver, and set it");
}

inline void detect_android_npu(System*, Readings* to) {
  to->unknown("npu.count", "getprop", "Android lists no neural processors; soc.model names the chip");
}

}  // namespace detection
}  // inline namespace
}  // namespace etconfig::device
