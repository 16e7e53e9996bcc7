// A set of hardware threads, by number.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "etconfig/facts/text.h"
#include "../version.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {
namespace detection {

inline constexpr int64_t kMaxCpus = 8192;  // MAX_CPUS

class CpuSet {
 public:
  bool contains(int64_t cpu) const { return (words_[cpu / 64] >> (cpu % 64) & 1) != 0; }
  void add(int64_t cpu) { words_[cpu / 64] |= uint64_t{1} << (cpu % 64); }
  void clear() { std::memset(words_, 0, sizeof words_); }

  int64_t count() const {
    int64_t count = 0;
    for (uint64_t word : words_) {
      for (; word != 0; word &= word - 1) ++count;
    }
    return count;
  }
  // The first number from `cpu` on; `kMaxCpus` if there is none.
  int64_t next(int64_t cpu) const {
    while (cpu < kMaxCpus && !contains(cpu)) {
      cpu = words_[cpu / 64] >> (cpu % 64) == 0 ? (cpu / 64 + 1) * 64 : cpu + 1;
    }
    return cpu;
  }
  int64_t count_common(const CpuSet& other) const {
    CpuSet common = *this;
    common.keep(other);
    return common.count();
  }
  void keep(const CpuSet& other) {
    for (size_t i = 0; i < kWords; ++i) words_[i] &= other.words_[i];
  }
  void add_all(const CpuSet& other) {
    for (size_t i = 0; i < kWords; ++i) words_[i] |= other.words_[i];
  }

  // `parse_cpu_list`: "0-3,8"; false if the text is something else.
  bool parse(std::string_view text) {
    clear();
    text = strip(text);
    while (!text.empty()) {
      const std::string_view part = partition(text, ",", &text);
      if (part.empty()) continue;
      std::string_view end;
      bool is_range = false;
      const std::string_view begin = partition(part, "-", &end, &is_range);
      int64_t low = 0;
      if (begin.size() > 5 || !parse_count(begin, &low)) return false;
      int64_t high = low;
      if (is_range && (end.size() > 5 || !parse_count(end, &high))) return false;
      if (low > high || high >= kMaxCpus) return false;
      for (int64_t cpu = low; cpu <= high; ++cpu) add(cpu);
    }
    return true;
  }

  // The memory for `sched_getaffinity`.
  unsigned char* bytes() { return reinterpret_cast<unsigned char*>(words_); }
  static constexpr size_t kBytes = static_cast<size_t>(kMaxCpus) / 8;
  // Reads the set that `sched_getaffinity` wrote into `bytes()`, in words of the system.
  void from_system_words() {
    unsigned long system_words[kBytes / sizeof(unsigned long)];
    std::memcpy(system_words, words_, kBytes);
    clear();
    constexpr int64_t kBits = 8 * static_cast<int64_t>(sizeof(unsigned long));
    for (int64_t cpu = 0; cpu < kMaxCpus; ++cpu) {
      if ((system_words[cpu / kBits] >> (cpu % kBits) & 1) != 0) add(cpu);
    }
  }

 private:
  static constexpr size_t kWords = static_cast<size_t>(kMaxCpus) / 64;
  uint64_t words_[kWords] = {};
};

}  // namespace detection
}  // inline namespace
}  // namespace etconfig::device
