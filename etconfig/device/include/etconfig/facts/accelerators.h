// Graphics and neural processors of Linux: `gpu.*` and `npu.*`.
//
// Devices are listed by the class directories of sysfs, where drivers put them, and by the PCI bus, which has
// devices without a driver, too. Each counts once. NVIDIA's management library is not loaded: where only it
// knows an answer, the fact is unknown, and the application may set it.

#pragma once

#include <cstdint>
#include <string_view>

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
  const std::string_view shown = has_id ? id : std::string_view("a device without an id");
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

// True if only NVIDIA's management library would know all GPUs: with a
// device of NVIDIA, or below Windows (WSL).
inline bool has_sign_of_nvml(const System& system, bool has_nvidia) {
  if (has_nvidia) return true;
  bool has_dxg = false;
  visit_names(system, "/dev", [&](std::string_view name) { has_dxg = has_dxg || name == "dxg"; });
  return has_dxg;
}

inline void detect_gpu(System* system, Readings* to) {
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
