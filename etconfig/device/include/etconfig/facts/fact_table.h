// The facts that etconfig itself knows. Written by tools/write_device_tables.py.

#pragma once

#include <cstdint>

#include "etconfig/facts/types.h"

#include "../version.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {
namespace detection {

enum class Topic : uint8_t {
  OperatingSystem,
  Cpu,
  Cores,
  AvailableCores,
  Memory,
  Power,
  Thermal,
  Device,
  Gpu,
  Npu,
  Runtime,
  None,  // no built-in detector finds it
};

inline constexpr const char* kTopicNames[] = {
    "operating-system",
    "cpu",
    "cores",
    "available-cores",
    "memory",
    "power",
    "thermal",
    "device",
    "gpu",
    "npu",
    "runtime",
};
inline constexpr int8_t kUnbounded = -128;

struct FactInfo {
  const char* name;  // with <n> for the index of a family
  const char* unit;  // or null
  const char* choices;  // joined by spaces, or null
  FactType type;
  Volatility volatility;
  Topic topic;  // the detector that finds it
  int8_t minimum;
  int8_t maximum;
};

inline constexpr FactInfo kFacts[] = {
    {"os.name", nullptr, nullptr, FactType::Text,
     Volatility::Static, Topic::OperatingSystem, kUnbounded, kUnbounded},
    {"os.version", nullptr, nullptr, FactType::Text,
     Volatility::Boot, Topic::OperatingSystem, kUnbounded, kUnbounded},
    {"os.kernel", nullptr, nullptr, FactType::Text,
     Volatility::Boot, Topic::OperatingSystem, kUnbounded, kUnbounded},
    {"os.distribution", nullptr, nullptr, FactType::Text,
     Volatility::Boot, Topic::OperatingSystem, kUnbounded, kUnbounded},
    {"os.api_level", nullptr, nullptr, FactType::Integer,
     Volatility::Boot, Topic::OperatingSystem, 1, kUnbounded},
    {"cpu.arch", nullptr, nullptr, FactType::Text, Volatility::Static, Topic::Cpu, kUnbounded, kUnbounded},
    {"cpu.model", nullptr, nullptr, FactType::Text, Volatility::Static, Topic::Cpu, kUnbounded, kUnbounded},
    {"cpu.vendor", nullptr, nullptr, FactType::Text, Volatility::Static, Topic::Cpu, kUnbounded, kUnbounded},
    {"cpu.features", nullptr, nullptr, FactType::TextList,
     Volatility::Static, Topic::Cpu, kUnbounded, kUnbounded},
    {"cpu.logical_cores", "cores", nullptr, FactType::Integer, Volatility::Live, Topic::Cores, 1, kUnbounded},
    {"cpu.physical_cores", "cores", nullptr, FactType::Integer,
     Volatility::Live, Topic::Cores, 1, kUnbounded},
    {"cpu.performance_cores", "cores", nullptr, FactType::Integer,
     Volatility::Live, Topic::Cores, 1, kUnbounded},
    {"cpu.efficiency_cores", "cores", nullptr, FactType::Integer,
     Volatility::Live, Topic::Cores, 0, kUnbounded},
    {"cpu.offline_cores", "cores", nullptr, FactType::Integer, Volatility::Live, Topic::Cores, 0, kUnbounded},
    {"cpu.isolated_cores", "cores", nullptr, FactType::Integer,
     Volatility::Boot, Topic::Cores, 0, kUnbounded},
    {"cpu.numa_nodes", "nodes", nullptr, FactType::Integer, Volatility::Live, Topic::Cores, 1, kUnbounded},
    {"cpu.available_cores", "cores", nullptr, FactType::Integer,
     Volatility::Live, Topic::AvailableCores, 1, kUnbounded},
    {"cpu.quota_cores", "cores", nullptr, FactType::Number,
     Volatility::Live, Topic::AvailableCores, 0, kUnbounded},
    {"cpu.cache.l1d", "bytes", nullptr, FactType::Integer, Volatility::Static, Topic::Cpu, 0, kUnbounded},
    {"cpu.cache.l2", "bytes", nullptr, FactType::Integer, Volatility::Static, Topic::Cpu, 0, kUnbounded},
    {"cpu.cache.l3", "bytes", nullptr, FactType::Integer, Volatility::Static, Topic::Cpu, 0, kUnbounded},
    {"memory.total", "bytes", nullptr, FactType::Integer, Volatility::Boot, Topic::Memory, 0, kUnbounded},
    {"memory.available", "bytes", nullptr, FactType::Integer, Volatility::Live, Topic::Memory, 0, kUnbounded},
    {"memory.cgroup_limit", "bytes", nullptr, FactType::Integer,
     Volatility::Live, Topic::Memory, 0, kUnbounded},
    {"memory.swap_total", "bytes", nullptr, FactType::Integer,
     Volatility::Live, Topic::Memory, 0, kUnbounded},
    {"device.vendor", nullptr, nullptr, FactType::Text,
     Volatility::Static, Topic::Device, kUnbounded, kUnbounded},
    {"device.family", nullptr, nullptr, FactType::Text,
     Volatility::Static, Topic::Device, kUnbounded, kUnbounded},
    {"device.model", nullptr, nullptr, FactType::Text,
     Volatility::Static, Topic::Device, kUnbounded, kUnbounded},
    {"device.board", nullptr, nullptr, FactType::Text,
     Volatility::Static, Topic::Device, kUnbounded, kUnbounded},
    {"device.id", nullptr, nullptr, FactType::Text, Volatility::Static, Topic::None, kUnbounded, kUnbounded},
    {"device.is_emulator", nullptr, nullptr, FactType::Boolean,
     Volatility::Boot, Topic::Device, kUnbounded, kUnbounded},
    {"soc.vendor", nullptr, nullptr, FactType::Text,
     Volatility::Static, Topic::Device, kUnbounded, kUnbounded},
    {"soc.model", nullptr, nullptr, FactType::Text,
     Volatility::Static, Topic::Device, kUnbounded, kUnbounded},
    {"power.source", nullptr, "mains battery", FactType::Text,
     Volatility::Live, Topic::Power, kUnbounded, kUnbounded},
    {"power.battery_level", "fraction", nullptr, FactType::Number, Volatility::Live, Topic::Power, 0, 1},
    {"thermal.state", nullptr, "nominal fair serious critical", FactType::Text,
     Volatility::Live, Topic::Thermal, kUnbounded, kUnbounded},
    {"thermal.max_celsius", "celsius", nullptr, FactType::Number,
     Volatility::Live, Topic::Thermal, kUnbounded, kUnbounded},
    {"gpu.count", nullptr, nullptr, FactType::Integer, Volatility::Boot, Topic::Gpu, 0, kUnbounded},
    {"gpu.<n>.name", nullptr, nullptr, FactType::Text, Volatility::Boot, Topic::Gpu, kUnbounded, kUnbounded},
    {"gpu.<n>.vendor", nullptr, nullptr, FactType::Text,
     Volatility::Boot, Topic::Gpu, kUnbounded, kUnbounded},
    {"gpu.<n>.memory", "bytes", nullptr, FactType::Integer, Volatility::Boot, Topic::Gpu, 0, kUnbounded},
    {"gpu.<n>.driver", nullptr, nullptr, FactType::Text,
     Volatility::Boot, Topic::Gpu, kUnbounded, kUnbounded},
    {"gpu.<n>.driver_version", nullptr, nullptr, FactType::Text,
     Volatility::Boot, Topic::Gpu, kUnbounded, kUnbounded},
    {"gpu.<n>.pci_id", nullptr, nullptr, FactType::Text,
     Volatility::Boot, Topic::Gpu, kUnbounded, kUnbounded},
    {"vulkan.version", nullptr, nullptr, FactType::Text,
     Volatility::Boot, Topic::Gpu, kUnbounded, kUnbounded},
    {"npu.count", nullptr, nullptr, FactType::Integer, Volatility::Boot, Topic::Npu, 0, kUnbounded},
    {"npu.<n>.name", nullptr, nullptr, FactType::Text, Volatility::Boot, Topic::Npu, kUnbounded, kUnbounded},
    {"npu.<n>.vendor", nullptr, nullptr, FactType::Text,
     Volatility::Boot, Topic::Npu, kUnbounded, kUnbounded},
    {"npu.<n>.driver", nullptr, nullptr, FactType::Text,
     Volatility::Boot, Topic::Npu, kUnbounded, kUnbounded},
    {"npu.<n>.pci_id", nullptr, nullptr, FactType::Text,
     Volatility::Boot, Topic::Npu, kUnbounded, kUnbounded},
    {"runtime.python", nullptr, nullptr, FactType::Text,
     Volatility::Boot, Topic::Runtime, kUnbounded, kUnbounded},
    {"runtime.etconfig", nullptr, nullptr, FactType::Text,
     Volatility::Boot, Topic::Runtime, kUnbounded, kUnbounded},
    {"runtime.executorch", nullptr, nullptr, FactType::Text,
     Volatility::Boot, Topic::Runtime, kUnbounded, kUnbounded},
    {"runtime.torch", nullptr, nullptr, FactType::Text,
     Volatility::Boot, Topic::Runtime, kUnbounded, kUnbounded},
    {"runtime.numpy", nullptr, nullptr, FactType::Text,
     Volatility::Boot, Topic::Runtime, kUnbounded, kUnbounded},
    {"runtime.backends", nullptr, nullptr, FactType::TextList,
     Volatility::Boot, Topic::Runtime, kUnbounded, kUnbounded},
};

}  // namespace detection
}  // inline namespace
}  // namespace etconfig::device
