// Graphics and neural processors of Linux: `gpu.*` and `npu.*`.
//
// Devices are listed by the class directories of sysfs, where drivers put them, and by the PCI bus, which has
// devices without a driver, too. Each counts once. NVIDIA's management library is not loaded: where only it
// knows an answer, the fact is unknown, and the application may set it.

#pragma once

#include <cstdint>
#include <string_view>

#include "etconfig/device/version_text.h"
#include "etconfig/facts/cpuinfo.h"
#include "etconfig/facts/readings.h"
#include "../version.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {
namespace detection {

inline constexpr std::string_view kPciDevices = "/sys/bus/pci/devices";
inline constexpr int64_t kMaxDevices = 64;

// One device, as described in its `uevent`.
struct SysfsDevice {
  bool has_driver = false;
  bool has_pci_id = false;
  bool has_address = false;
  bool has_compatible = false;
  int64_t pci_class = 0;
  FixedText<1024> driver;
  FixedText<16> pci_id;
  FixedText<256> address;
  FixedText<1024> compatible;

  SysfsDevice(const System& system, std::string_view path) {
    LineReader lines(system, Path(path, "/uevent").view());
    const auto replace = [](Text* text, std::string_view value) {
      text->clear();
      *text << value;
      return true;
    };
    for (std::string_view line; lines.next(&line);) {
      std::string_view value;
      bool has_value = false;
      const std::string_view key = partition(line, "=", &value, &has_value);
      if (!has_value) continue;
      if (key == "DRIVER") has_driver = replace(&driver, value);
      if (key == "PCI_SLOT_NAME") has_address = replace(&address, value);
      if (key == "OF_COMPATIBLE_0") has_compatible = replace(&compatible, value);
      if (key == "PCI_CLASS" && !parse_hexadecimal(value, 8, &pci_class)) pci_class = 0;
      if (key == "PCI_ID") set_pci_id(value);
    }
    if (!lines.is_complete()) {
      has_driver = has_pci_id = has_address = has_compatible = false;
      pci_class = 0;
    }
  }

  std::string_view pci_vendor() const { return has_pci_id ? pci_id.view().substr(0, 4) : std::string_view(); }

 private:
  void set_pci_id(std::string_view value) {
    int64_t number = 0;
    pci_id.clear();
    has_pci_id = value.size() == 9 && value[4] == ':' && parse_hexadecimal(value.substr(0, 4), 4, &number) &&
                 parse_hexadecimal(value.substr(5), 4, &number);
    for (size_t i = 0; has_pci_id && i < value.size(); ++i) pci_id << lower_ascii(value[i]);
  }
};

// A directory that lists devices of one kind: the names that begin with `prefix`.
struct SysfsListing {
  const char* directory;
  const char* prefix;
  const char* inside;  // the path from the listed name to the device
};

inline constexpr SysfsListing kGpuListings[] = {{"/sys/class/drm", "renderD", "/device"},
                                                {"/sys/bus/platform/drivers/gk20a", "17000000.", ""},
                                                {"/sys/bus/pci/devices", "", ""},
                                                {nullptr, nullptr, nullptr}};
inline constexpr SysfsListing kNpuListings[] = {{"/sys/class/accel", "accel", "/device"},
                                                {"/sys/bus/pci/devices", "", ""},
                                                {nullptr, nullptr, nullptr}};

inline bool is_gpu(const SysfsDevice& device, bool is_on_bus) {
  if (is_on_bus) {
    constexpr int64_t kDisplay = 0x03;
    const std::string_view vendor = device.pci_vendor();
    return device.pci_class >> 16 == kDisplay && (vendor == "8086" || vendor == "1002" || vendor == "10de");
  }
  // not Jetson's display engine, whose GPU has another driver, nor the displays of virtual machines
  if (device.has_compatible && starts_with(device.compatible.view(), "nvidia,tegra")) return false;
  return !device.has_driver || device.driver.view() != "virtio_gpu";
}

inline bool is_npu(const SysfsDevice& device, bool is_on_bus) {
  return !is_on_bus || (device.has_pci_id && look_up_key(kNpus, device.pci_id.view()));
}

// Visits each wanted device once, first the listed ones, then those on the PCI bus: visit(device, path).
// Returns false if no directory can be listed.
inline bool visit_devices(const System& system, const SysfsListing* listings,
                          bool (*is_wanted)(const SysfsDevice&, bool),
                          Callback<const SysfsDevice&, std::string_view> visit) {
  uint64_t seen[kMaxDevices];
  int64_t count = 0;
  bool is_any_listed = false;
  for (; listings->directory != nullptr; ++listings) {
    const SysfsListing& listing = *listings;
    SortedNames names(system, listing.directory, listing.prefix);
    is_any_listed = is_any_listed || names.is_listed();
    for (std::string_view name; names.is_listed() && names.next(&name);) {
      const Path path(listing.directory, '/', name, listing.inside);
      const SysfsDevice device(system, path.view());
      if (!is_wanted(device, kPciDevices == listing.directory)) continue;
      const bool has_key = device.has_address && device.address.size() != 0;
      const uint64_t key = hash_text(has_key ? device.address.view() : path.view());
      bool is_seen = false;
      for (int64_t i = 0; i < count; ++i) is_seen = is_seen || seen[i] == key;
      if (is_seen || count == kMaxDevices) continue;
      seen[count++] = key;
      visit(device, path.view());
    }
  }
  return is_any_listed;
}

// `gpu.0.name` and the like.
class MemberName {
 public:
  MemberName(std::string_view kind, int64_t index, std::string_view attribute) {
    name_ << kind << '.' << index << '.' << attribute;
  }
  std::string_view view() const { return name_.view(); }

 private:
  FixedText<32> name_;
};

// The facts that GPUs and NPUs have in common.
inline void put_device(std::string_view kind, int64_t index, const SysfsDevice& device, std::string_view path,
                       std::string_view names, Readings* to) {
  const bool has_id = device.has_pci_id || (device.has_compatible && device.compatible.size() != 0);
  const std::string_view id = device.has_pci_id ? device.pci_id.view() : device.compatible.view();
  constexpr size_t kShownBytes = 200;
  const std::string_view shown = !has_id                  ? std::string_view("a device without an id")
                                 : id.size() > kShownBytes ? std::string_view("a device with a long id")
                                                           : id;
  std::string_view vendor_id = id.substr(0, id.find(device.has_pci_id ? ':' : ','));
  std::string_view name;
  std::string_view vendor;
  const auto put = [&](std::string_view attribute, bool is_known, std::string_view value,
                       std::string_view reason) {
    const MemberName fact(kind, index, attribute);
    if (is_known) return to->known(fact.view(), value, path);
    to->unknown(fact.view(), path, reason);
  };
  const bool has_name = has_id && look_up(names, id, &name);
  put("name", has_name, name, Path("etconfig knows no name for ", shown).view());
  const bool has_vendor = has_id && look_up(kDeviceVendors, vendor_id, &vendor);
  put("vendor", has_vendor, vendor, Path("etconfig knows no maker for ", shown).view());
  put("driver", device.has_driver, device.driver.view(), "no driver is bound to it");
  put("pci_id", device.has_pci_id, device.pci_id.view(), "it is not on a PCI bus");
}

inline void put_gpu_memory(System* system, int64_t index, std::string_view path, Readings* to) {
  const MemberName fact("gpu", index, "memory");
  for (const char* file : {"/mem_info_vram_total", "/tile0/physical_vram_size_bytes"}) {
    int64_t size = 0;
    const Path source(path, file);
    if (system->read_int(source.view(), &size) && size != 0) {
      return to->known(fact.view(), size, source.view());
    }
  }
  to->unknown(fact.view(), path, "its driver names no memory of its own");
}

inline void put_gpu_driver_version(System* system, int64_t index, const SysfsDevice& device,
                                   std::string_view path, Readings* to) {
  const MemberName fact("gpu", index, "driver_version");
  if (!device.has_driver) return to->unknown(fact.view(), path, "no driver is bound to it");
  constexpr size_t kModuleNameBytes = 64;  // more than the kernel allows
  if (device.driver.view().size() > kModuleNameBytes) {
    return to->unknown(fact.view(), path, "its driver's name is too long for a module");
  }
  FixedText<kModuleNameBytes + 24> source;
  source << "/sys/module/";
  for (const char c : device.driver.view()) source << (c == '-' ? '_' : c);
  source << "/version";
  std::string_view version;
  if (system->read_line(source.view(), &version)) return to->known(fact.view(), version, source.view());
  to->unknown(fact.view(), source.view(), "its driver has no version but the kernel's, see os.kernel");
}

// The value of `"api_version": "1.3.255"` in a line: up to four numbers of up to 9 digits.
inline std::string_view api_version_in(std::string_view line) {
  constexpr std::string_view kKey = "\"api_version\"";
  const auto skip_blanks = [](std::string_view text) {
    while (!text.empty() && (text[0] == ' ' || text[0] == '\t')) text.remove_prefix(1);
    return text;
  };
  for (size_t at = line.find(kKey); at != std::string_view::npos; at = line.find(kKey)) {
    line.remove_prefix(at + kKey.size());
    std::string_view rest = skip_blanks(line);
    if (!starts_with(rest, ":")) continue;
    rest = skip_blanks(rest.substr(1));
    const size_t end = rest.empty() ? std::string_view::npos : rest.find('"', 1);
    if (!starts_with(rest, "\"") || end == std::string_view::npos) continue;
    const std::string_view version = rest.substr(1, end - 1);
    int numbers = 0;
    bool is_version = true;
    bool has_more = true;
    for (std::string_view left = version; is_version && has_more; ++numbers) {
      int64_t number = 0;
      const std::string_view each = partition(left, ".", &left, &has_more);
      is_version = numbers < 4 && each.size() <= 9 && parse_count(each, &number);
    }
    if (is_version) return version;
  }
  return {};
}

// The manifests of Vulkan's drivers say which version each supports at most.
inline void detect_vulkan(const System& system, Readings* to) {
  if (!to->wants("vulkan.version")) return;
  FixedText<64> version;
  FixedText<1100> source;
  source << "/usr/share/vulkan/icd.d";
  char order[65];
  size_t order_size = 0;
  for (const char* directory : {"/etc/vulkan/icd.d", "/usr/share/vulkan/icd.d"}) {
    SortedNames names(system, directory, "");
    for (std::string_view name; names.is_listed() && names.next(&name);) {
      const Path path(directory, '/', name);
      LineReader lines(system, path.view());
      FixedText<64> found;
      for (std::string_view line; lines.next(&line);) {
        if (found.size() == 0) found << api_version_in(line);
      }
      char bytes[65];
      const size_t size = lines.is_complete() ? internal::write_version(found.view(), bytes) : 0;
      if (std::string_view(bytes, size) <= std::string_view(order, order_size)) continue;
      std::memcpy(order, bytes, size);
      order_size = size;
      version.clear();
      version << found.view();
      source.clear();
      source << path.view();
    }
  }
  if (order_size != 0) return to->known("vulkan.version", version.view(), source.view());
  to->unknown("vulkan.version", source.view(), "no driver of Vulkan is installed there");
}

// True if only NVIDIA's management library would know all GPUs: with a
// device of NVIDIA, or below Windows (WSL).
inline bool has_sign_of_nvml(const System& system, bool has_nvidia) {
  if (has_nvidia) return true;
  bool has_dxg = false;
  visit_names(system, "/dev", [&](std::string_view name) { has_dxg = has_dxg || name == "dxg"; });
  return has_dxg;
}

inline void detect_gpu(System* system, Readings* to) {
  detect_vulkan(*system, to);
  int64_t count = 0;
  bool has_nvidia = false;
  const bool is_listed =
      visit_devices(*system, kGpuListings, is_gpu, [&](const SysfsDevice& device, std::string_view) {
        ++count;
        has_nvidia = has_nvidia || device.pci_vendor() == "10de";
      });
  if (has_sign_of_nvml(*system, has_nvidia)) {
    to->unknown("gpu.count", "NVML", "only NVIDIA's library lists its GPUs; the application sets it");
    return;
  }
  if (!is_listed) {
    to->unknown("gpu.count", "/sys/class/drm", "neither /sys/class/drm nor a PCI bus can be listed");
    return;
  }
  to->known("gpu.count", count, "/sys/class/drm and /sys/bus/pci/devices");
  int64_t index = 0;
  visit_devices(*system, kGpuListings, is_gpu, [&](const SysfsDevice& device, std::string_view path) {
    put_device("gpu", index, device, path, table_of(kGpus), to);
    put_gpu_driver_version(system, index, device, path, to);
    put_gpu_memory(system, index++, path, to);
  });
}

inline void detect_npu(System* system, Readings* to) {
  int64_t count = 0;
  const bool is_listed =
      visit_devices(*system, kNpuListings, is_npu, [&](const SysfsDevice&, std::string_view) { ++count; });
  if (!is_listed) {
    to->unknown("npu.count", "/sys/class/accel", "neither /sys/class/accel nor a PCI bus can be listed");
    return;
  }
  to->known("npu.count", count, "/sys/class/accel and /sys/bus/pci/devices");
  int64_t index = 0;
  visit_devices(*system, kNpuListings, is_npu, [&](const SysfsDevice& device, std::string_view path) {
    put_device("npu", index++, device, path, table_of(kNpus), to);
  });
}

}  // namespace detection
}  // inline namespace
}  // namespace etconfig::device
