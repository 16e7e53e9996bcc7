// A stand-in for the header of Apple's SDK: an M2.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

struct xsw_usage {
  uint64_t xsu_total, xsu_avail, xsu_used;
  uint32_t xsu_pagesize;
  bool xsu_encrypted;
};

inline int sysctlbyname(const char* name, void* value, size_t* size, void*, size_t) {
  struct Number {
    const char* name;
    int64_t value;
    size_t size;
  };
  const Number numbers[] = {
      {"hw.logicalcpu", 8, 4},
      {"hw.physicalcpu", 8, 4},
      {"hw.activecpu", 8, 4},
      {"hw.perflevel0.physicalcpu", 4, 4},
      {"hw.perflevel1.physicalcpu", 4, 4},
      {"hw.perflevel0.l1dcachesize", 131072, 8},
      {"hw.perflevel0.l2cachesize", 16777216, 4},
      {"hw.memsize", int64_t{16} << 30, 8},
      {"hw.optional.arm.FEAT_DotProd", 1, 4},
      {"hw.optional.arm.FEAT_BF16", 1, 4},
      {"hw.optional.arm.FEAT_SME", 0, 4},
      {"kern.hv_vmm_present", 0, 4},
  };
  const char* const texts[][2] = {
      {"machdep.cpu.brand_string", "Apple M2"}, {"kern.osproductversion", "15.5"}, {"hw.model", "Mac14,2"}};
  if (std::strcmp(name, "vm.swapusage") == 0 && *size == sizeof(xsw_usage)) {
    static_cast<xsw_usage*>(value)->xsu_total = uint64_t{2} << 30;
    return 0;
  }
  for (const Number& number : numbers) {
    if (std::strcmp(number.name, name) != 0 || *size < number.size) continue;
    *size = number.size;
    const auto narrow = static_cast<int32_t>(number.value);
    std::memcpy(value, number.size == 4 ? static_cast<const void*>(&narrow) : &number.value, number.size);
    return 0;
  }
  for (const auto& text : texts) {
    if (std::strcmp(text[0], name) != 0 || *size <= std::strlen(text[1])) continue;
    *size = std::strlen(text[1]) + 1;
    std::memcpy(value, text[1], *size);
    return 0;
  }
  return -1;
}
