// Operating system, memory, power, temperature and firmware of Linux: `os.*`, `memory.*`, `power.*`,
// `thermal.*`, `device.*` and `soc.*`, from os-release, /proc and sysfs.

#pragma once

#include <cstdint>
#include <string_view>

#include "etconfig/facts/cgroup.h"
#include "etconfig/facts/readings.h"
#include "../version.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {
namespace detection {

inline void detect_kernel(const Host& host, Readings* to) {
  if (host.has_release) {
    to->known("os.kernel", host.release.view(), "uname");
  } else {
    to->unknown("os.kernel", "uname", "uname does not report it");
  }
}

inline void detect_operating_system(System* system, Readings* to) {
  const Host& host = system->host();
  FixedText<64> name;
  for (const char c : host.system.view()) name << lower_ascii(c);
  if (host.has_system) {
    to->known("os.name", name.view(), "uname");
  } else {
    to->unknown("os.name", "uname", "uname does not report it");
  }
  detect_kernel(host, to);
  if (!to->wants("os.distribution") && !to->wants("os.version")) return;
  FixedText<kMaxLineBytes> values[2];
  constexpr const char* kKeys[] = {"ID", "VERSION_ID"};
  constexpr const char* kReleaseFacts[] = {"os.distribution", "os.version"};
  bool is_found[] = {false, false};
  std::string_view source;
  for (const std::string_view file : {"/etc/os-release", "/usr/lib/os-release"}) {
    LineReader lines(*system, file);
    for (std::string_view line; lines.next(&line);) {
      std::string_view value;
      const std::string_view key = strip(partition(line, "=", &value));
      for (int i = 0; i < 2; ++i) {
        if (key != kKeys[i] || value.empty()) continue;
        values[i].clear();
        values[i] << strip_characters(strip(value), "\"'");
        is_found[i] = true;
      }
    }
    source = file;
    if (lines.is_complete()) break;
    is_found[0] = is_found[1] = false;
    source = "/etc/os-release";
  }
  for (int i = 0; i < 2; ++i) {
    if (is_found[i]) {
      to->known(kReleaseFacts[i], values[i].view(), source);
    } else {
      to->unknown(kReleaseFacts[i], source, Path(source, " has no ", kKeys[i]).view());
    }
  }
}

inline void detect_memory(System* system, Readings* to) {
  constexpr std::string_view kMeminfo = "/proc/meminfo";
  constexpr const char* kKeys[] = {"MemTotal", "SwapTotal", "MemAvailable"};
  int64_t sizes[] = {-1, -1, -1};
  LineReader lines(*system, kMeminfo);
  for (std::string_view line; lines.next(&line);) {
    std::string_view rest;
    const std::string_view name = partition(line, ":", &rest);
    int64_t count = 0;
    const bool is_count =
        parse_count(take_word(&rest), &count) && take_word(&rest) == "kB" && take_word(&rest).empty();
    for (int i = 0; i < 3; ++i) {
      int64_t size = 0;
      if (is_count && name == kKeys[i] && multiply(count, 1024, &size)) sizes[i] = size;
    }
  }
  const auto size_of = [&](int i) { return lines.is_complete() ? sizes[i] : -1; };
  const auto put = [&](const char* fact, int i) {
    if (size_of(i) >= 0) return to->known(fact, size_of(i), kMeminfo);
    to->unknown(fact, kMeminfo, Path(kMeminfo, " has no ", kKeys[i]).view());
  };
  put("memory.total", 0);
  put("memory.swap_total", 1);
  if (to->wants("memory.available")) {
    MemoryLimit headroom;
    find_memory_limit(system, true, &headroom);
    if (size_of(2) >= 0 && headroom.is_known && headroom.bytes < size_of(2)) {
      constexpr std::string_view kDetail = "the limit, less what its group uses";
      to->known("memory.available", headroom.bytes, headroom.source.view(), kDetail);
    } else {
      put("memory.available", 2);
    }
  }
  if (!to->wants("memory.cgroup_limit")) return;
  MemoryLimit limit;
  find_memory_limit(system, false, &limit);
  if (limit.is_known) {
    to->known("memory.cgroup_limit", limit.bytes, limit.source.view());
  } else {
    to->unknown("memory.cgroup_limit", "control groups", "no control group limits the memory");
  }
}

inline constexpr std::string_view kPowerSupplies = "/sys/class/power_supply";

struct PowerSupplies {
  int64_t batteries = 0;
  int64_t levels = 0;  // of batteries that report theirs
  int64_t percent = 0;  // the sum of the levels
  bool has_adapter = false;
  bool has_unclear = false;  // a battery that does not say whether it discharges
  Path online;               // the file of the adapter that is online
  Path first_adapter;
  Path first_battery;
  Path discharging;
  FixedText<2 * kMaxPathBytes> level_sources;
};

inline void read_power_supply(System* system, std::string_view path, PowerSupplies* to) {
  const auto file = [&](std::string_view name) { return Path(path, '/', name); };
  std::string_view kind;
  int64_t number = 0;
  const bool has_kind = system->read_line(file("type").view(), &kind);
  const bool is_battery = has_kind && kind == "Battery";
  if (has_kind && (kind == "Mains" || starts_with(kind, "USB"))) {
    if (!to->has_adapter) to->first_adapter << path;
    to->has_adapter = true;
    const bool is_online = system->read_int(file("online").view(), &number) && number != 0;
    if (is_online && to->online.size() == 0) to->online << path << "/online";
  }
  // batteries of peripherals such as a mouse do not count
  if (!is_battery || system->is_line(file("scope").view(), "Device")) return;
  if (system->read_int(file("present").view(), &number) && number == 0) return;
  if (to->batteries++ == 0) {
    to->first_battery << path;
  } else {
    to->level_sources << " and ";
  }
  to->level_sources << path << "/capacity";
  if (system->read_int(file("capacity").view(), &number) && number >= 0) {
    ++to->levels;
    to->percent += number < 100 ? number : 100;  // worn batteries may report a few percent more than full
  }
  std::string_view status;
  if (!system->read_line(file("status").view(), &status) || status == "Unknown") {
    to->has_unclear = true;
  } else if (status == "Discharging" && to->discharging.size() == 0) {
    to->discharging << path << "/status";
  }
}

inline void detect_power_source(const PowerSupplies& supplies, Readings* to) {
  constexpr std::string_view kFact = "power.source";
  if (supplies.online.size() != 0) {
    to->known(kFact, "mains", supplies.online.view());
  } else if (supplies.batteries == 0) {
    to->known(kFact, "mains", kPowerSupplies, "the kernel knows of no battery");
  } else if (supplies.discharging.size() != 0) {
    to->known(kFact, "battery", supplies.discharging.view());
  } else if (supplies.has_adapter) {
    to->known(kFact, "battery", Path(supplies.first_adapter.view(), "/online").view(),
              "no adapter is online");
  } else if (supplies.has_unclear) {
    to->unknown(kFact, kPowerSupplies, "the battery does not say whether it discharges");
  } else {
    to->known(kFact, "mains", Path(supplies.first_battery.view(), "/status").view(), "no battery discharges");
  }
}

inline void detect_power(System* system, Readings* to) {
  constexpr std::string_view kLevel = "power.battery_level";
  PowerSupplies supplies;
  SortedNames names(*system, kPowerSupplies);
  if (!names.is_listed()) {
    for (const std::string_view fact : {std::string_view("power.source"), kLevel}) {
      to->unknown(fact, kPowerSupplies, "there is no /sys/class/power_supply");
    }
    return;
  }
  for (std::string_view name; names.next(&name);) {
    read_power_supply(system, Path(kPowerSupplies, '/', name).view(), &supplies);
  }
  detect_power_source(supplies, to);
  if (supplies.batteries == 0) {
    to->unknown(kLevel, kPowerSupplies, "the kernel knows of no battery");
  } else if (supplies.levels == 0) {
    to->unknown(kLevel, kPowerSupplies, "the battery does not report its capacity");
  } else {
    const double level = static_cast<double>(supplies.percent) / static_cast<double>(100 * supplies.levels);
    to->known(kLevel, level, supplies.level_sources.view());
  }
}

inline constexpr const char* kThermalStates[] = {"nominal", "fair", "serious", "critical"};

// The state of a sensor against its trip points: an index of
// `kThermalStates`, or -1 if none of them slows the device down.
inline int thermal_state(System* system, std::string_view zone, double celsius) {
  constexpr double kNearCelsius = 5.0;
  constexpr const char* kKinds[] = {"passive", "hot", "critical"};
  double lowest[3] = {};
  bool has_kind[3] = {};
  visit_names(*system, zone, [&](std::string_view name) {
    if (!starts_with(name, "trip_point_") || !ends_with(name, "_type")) return;
    const std::string_view stem = name.substr(0, name.size() - std::string_view("type").size());
    int64_t millicelsius = 0;
    if (!system->read_int(Path(zone, '/', stem, "temp").view(), &millicelsius) || millicelsius <= 0) return;
    std::string_view kind;
    if (!system->read_line(Path(zone, '/', name).view(), &kind)) return;
    const double at = static_cast<double>(millicelsius) / 1000;
    for (int i = 0; i < 3; ++i) {
      if (kind != kKinds[i] || (has_kind[i] && lowest[i] <= at)) continue;
      lowest[i] = at;
      has_kind[i] = true;
    }
  });
  if ((has_kind[1] && celsius >= lowest[1]) || (has_kind[2] && celsius >= lowest[2])) return 3;
  if (!has_kind[0]) return -1;
  if (celsius >= lowest[0]) return 2;
  return celsius >= lowest[0] - kNearCelsius ? 1 : 0;
}

inline void detect_thermal(System* system, Readings* to) {
  constexpr std::string_view kClass = "/sys/class/thermal";
  Path hottest;
  Path worst;
  double highest = 0;
  int worst_state = -1;
  SortedNames names(*system, kClass, "thermal_zone");
  for (std::string_view name; names.is_listed() && names.next(&name);) {
    const Path zone(kClass, '/', name);
    int64_t millicelsius = 0;
    // a sensor that is switched off reports -274 degrees, which is 0 kelvin
    if (!system->read_int(Path(zone.view(), "/temp").view(), &millicelsius)) continue;
    if (millicelsius < -50000 || millicelsius >= 200000) continue;
    const double celsius = static_cast<double>(millicelsius) / 1000;
    if (hottest.size() == 0 || celsius > highest) {
      hottest.clear();
      hottest << zone.view();
      highest = celsius;
    }
    const int state = to->wants("thermal.state") ? thermal_state(system, zone.view(), celsius) : -1;
    if (state <= worst_state) continue;
    worst_state = state;
    worst.clear();
    worst << zone.view();
  }
  if (hottest.size() == 0) {
    for (const char* fact : {"thermal.max_celsius", "thermal.state"}) {
      to->unknown(fact, kClass, "/sys/class/thermal lists no sensor");
    }
    return;
  }
  to->known("thermal.max_celsius", highest, Path(hottest.view(), "/temp").view());
  if (worst_state < 0) {
    to->unknown("thermal.state", kClass, "no sensor says at which temperature the device is slowed down");
  } else {
    to->known("thermal.state", kThermalStates[worst_state], worst.view(),
              "its temperature against its trip points");
  }
}

// False for texts that a vendor forgot to replace, such as "To be filled by O.E.M."
inline bool is_filled_in(std::string_view text) {
  constexpr uint32_t kKelvin = 0x212a;  // the only other character whose lower case is a letter of ASCII
  FixedText<64> lower;
  std::string_view rest = text;
  while (!rest.empty()) {
    const uint32_t c = take_code_point(&rest);
    lower.code_point(c == kKelvin   ? 'k'
                         : c < 0x80 ? static_cast<uint32_t>(lower_ascii(static_cast<char>(c)))
                                    : c);
  }
  return lower.is_cut() || !look_up_key(kPlaceholders, lower.view());
}

inline constexpr std::string_view kDeviceTree = "/proc/device-tree";

// The strings of a property, each of which ends with a NUL: the first, the last, and their number.
struct DeviceTreeStrings {
  FixedText<kMaxLineBytes> first;
  FixedText<kMaxLineBytes> last;
  int64_t count = 0;

  DeviceTreeStrings(System* system, std::string_view name) {
    std::string_view text;
    if (!system->read_small(Path(kDeviceTree, '/', name).view(), &text)) return;
    while (!text.empty()) {
      const std::string_view part = strip(partition(text, std::string_view("\0", 1), &text));
      if (part.empty()) continue;
      if (count++ == 0) first << part;
      last.clear();
      last << part;
    }
  }
};

// A name from DMI, or else from the device tree if `in_tree` is not null.
inline void put_firmware_name(System* system, std::string_view fact, std::string_view dmi_name,
                              const std::string_view* in_tree, std::string_view tree_name, Readings* to) {
  const Path dmi("/sys/class/dmi/id/", dmi_name);
  std::string_view text;
  const bool has_text = system->read_line(dmi.view(), &text);
  if (has_text && is_filled_in(text)) return to->known(fact, text, dmi.view());
  if (in_tree != nullptr) return to->known(fact, *in_tree, Path(kDeviceTree, '/', tree_name).view());
  FixedText<512> reason;
  reason << "the firmware says ";
  if (has_text) {
    reason << "only ";
    append_repr(&reason, text, 400);
  } else {
    reason << "nothing";
  }
  reason << ", and no device tree has it";
  to->unknown(fact, dmi.view(), reason.view());
}

inline void detect_device(System* system, Readings* to) {
  const DeviceTreeStrings compatible(system, "compatible");
  const DeviceTreeStrings model(system, "model");
  const std::string_view board = compatible.first.view();
  const std::string_view vendor = board.substr(0, board.find(','));
  const std::string_view model_name = model.first.view();
  const bool has_tree = compatible.count != 0;
  put_firmware_name(system, "device.vendor", "sys_vendor", has_tree ? &vendor : nullptr, "compatible", to);
  put_firmware_name(system, "device.family", "product_family", nullptr, "compatible", to);
  put_firmware_name(system, "device.model", "product_name", model.count != 0 ? &model_name : nullptr, "model",
                    to);
  put_firmware_name(system, "device.board", "board_name", has_tree ? &board : nullptr, "compatible", to);
  // "compatible" lists the board first and the chip last: raspberrypi,5-model-b then brcm,bcm2712
  const Path source(kDeviceTree, "/compatible");
  std::string_view chip;
  bool has_chip = false;
  const std::string_view chip_vendor = partition(compatible.last.view(), ",", &chip, &has_chip);
  if (compatible.count > 1 && has_chip) {
    to->known("soc.vendor", chip_vendor, source.view());
    to->known("soc.model", chip, source.view());
    return;
  }
  for (const char* fact : {"soc.vendor", "soc.model"}) {
    to->unknown(fact, source.view(), "no device tree names a chip");
  }
}

}  // namespace detection
}  // inline namespace
}  // namespace etconfig::device
