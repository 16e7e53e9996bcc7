// The processor and its cores: `cpu.*`, from sysfs and /proc/cpuinfo.
//
// Performance cores are those that the kernel lists for Intel's hybrids, or whose capacity or frequency is
// near that of the fastest core. The first of them stands for the processor. Threads of one core count once.

#pragma once

#include <cstdint>
#include <string_view>

#include "etconfig/facts/cgroup.h"
#include "etconfig/facts/cpuinfo.h"
#include "etconfig/facts/readings.h"
#include "../version.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {
namespace detection {

inline constexpr std::string_view kCpus = "/sys/devices/system/cpu";

// A set of hardware threads, and the place where it was read.
struct Cpus {
  bool is_known = false;
  CpuSet numbers;
  Path source;
  std::string_view detail;

  void set_source(std::string_view text) {
    is_known = true;
    source.clear();
    source << text;
  }
};

inline void find_online(System* system, Cpus* online) {
  const Path source(kCpus, "/online");
  if (system->read_cpus(source.view(), &online->numbers)) return online->set_source(source.view());
  CpuinfoBlock block;
  online->numbers.clear();
  const bool is_read =
      visit_blocks(*system, &block, [&](const CpuinfoBlock& each) { online->numbers.add(each.number); });
  if (is_read && online->numbers.count() != 0) online->set_source(kCpuinfo);
}

// A file that distinguishes slow cores, and the share of the fastest core below which a core is slow.
struct Measure {
  const char* file;
  double share;
  const char* detail;
};
inline constexpr Measure kMeasures[] = {
    {"cpu_capacity", 0.6, "at least 60% of the fastest core's"},
    {"cpufreq/cpuinfo_max_freq", 0.8, "at least 80% of the fastest core's"},
};

// Finds the threads of the cores that are not slow.
inline void find_fast(System* system, const Cpus& online, Cpus* fast) {
  constexpr std::string_view kIntel = "/sys/devices/cpu_core/cpus";
  if (system->read_cpus(kIntel, &fast->numbers)) {
    fast->numbers.keep(online.numbers);
    if (fast->numbers.count() != 0) return fast->set_source(kIntel);
  }
  for (const Measure& measure : kMeasures) {
    const auto read = [&](int64_t cpu, int64_t* value) {
      return system->read_int(Path(kCpus, "/cpu", cpu, '/', measure.file).view(), value) && *value != 0;
    };
    int64_t value = 0;
    int64_t highest = INT64_MIN;
    bool has_all = true;
    for (int64_t cpu = online.numbers.next(0); cpu < kMaxCpus && has_all;
         cpu = online.numbers.next(cpu + 1)) {
      has_all = read(cpu, &value);
      if (has_all && value > highest) highest = value;
    }
    if (!has_all) continue;
    const double least = measure.share * static_cast<double>(highest);
    fast->numbers.clear();
    for (int64_t cpu = online.numbers.next(0); cpu < kMaxCpus; cpu = online.numbers.next(cpu + 1)) {
      if (read(cpu, &value) && static_cast<double>(value) >= least) fast->numbers.add(cpu);
    }
    fast->detail = measure.detail;
    return fast->set_source(Path(kCpus, "/cpu*/", measure.file).view());
  }
}

// The number of physical cores, and of those that have fast threads.
struct CoreCount {
  bool is_known = false;
  int64_t all = 0;
  int64_t fast = 0;
  Path source;
};

inline bool count_cores_in_sysfs(System* system, const Cpus& online, const Cpus& fast, CoreCount* count) {
  CpuSet seen;
  CpuSet core;
  const char* used = "";
  for (int64_t cpu = online.numbers.next(0); cpu < kMaxCpus; cpu = online.numbers.next(cpu + 1)) {
    if (seen.contains(cpu)) continue;
    bool is_read = false;
    // the second name is the older name of the same list
    for (const char* file : {"core_cpus_list", "thread_siblings_list"}) {
      is_read = system->read_cpus(Path(kCpus, "/cpu", cpu, "/topology/", file).view(), &core);
      used = file;
      if (is_read) break;
    }
    if (!is_read) return false;
    core.add(cpu);
    seen.add_all(core);
    ++count->all;
    if (core.count_common(fast.numbers) != 0) ++count->fast;
  }
  count->source << kCpus << "/cpu*/topology/" << used;
  return true;
}

// The different cores in /proc/cpuinfo, counted 256 at a time, the smallest hashes first.
inline bool count_cores_in_cpuinfo(const System& system, const Cpus& online, const Cpus& fast,
                                   CoreCount* count) {
  constexpr size_t kBatch = 256;
  uint64_t cores[kBatch];
  bool is_fast[kBatch];
  uint64_t last = 0;
  CpuinfoBlock block;
  for (bool is_first = true;; is_first = false) {
    size_t size = 0;
    int64_t complete = 0;
    const bool is_read = visit_blocks(system, &block, [&](const CpuinfoBlock& each) {
      if (!online.numbers.contains(each.number) || !each.has_physical_id || !each.has_core_id) return;
      ++complete;
      if (!is_first && each.core <= last) return;
      size_t place = size;
      while (place > 0 && each.core < cores[place - 1]) --place;
      const bool is_known = place > 0 && cores[place - 1] == each.core;
      if (!is_known && place == kBatch) return;
      if (!is_known) {
        if (size < kBatch) ++size;
        for (size_t i = size - 1; i > place; --i) {
          cores[i] = cores[i - 1];
          is_fast[i] = is_fast[i - 1];
        }
        cores[place] = each.core;
        is_fast[place] = false;
      }
      if (fast.numbers.contains(each.number)) is_fast[is_known ? place - 1 : place] = true;
    });
    if (!is_read || complete != online.numbers.count()) return false;
    for (size_t i = 0; i < size; ++i) count->fast += is_fast[i] ? 1 : 0;
    count->all += static_cast<int64_t>(size);
    if (size < kBatch) break;
    last = cores[kBatch - 1];
  }
  count->source << kCpuinfo;
  return true;
}

inline void count_cores(System* system, const Cpus& online, const Cpus& fast, CoreCount* count) {
  count->is_known = count_cores_in_sysfs(system, online, fast, count);
  if (count->is_known) return;
  count->all = count->fast = 0;
  count->is_known = count_cores_in_cpuinfo(*system, online, fast, count);
}

inline void detect_online_cores(System* system, const Cpus& online, Readings* to) {
  constexpr const char* kByCore[] = {"cpu.physical_cores", "cpu.performance_cores", "cpu.efficiency_cores"};
  if (!online.is_known) {
    to->unknown("cpu.logical_cores", kCpuinfo, "neither sysfs nor /proc/cpuinfo lists the cores");
    for (const char* name : kByCore) {
      to->unknown(name, kCpuinfo, "neither sysfs nor /proc/cpuinfo lists the cores");
    }
    return;
  }
  to->known("cpu.logical_cores", online.numbers.count(), online.source.view());
  if (!to->wants(kByCore[0]) && !to->wants(kByCore[1]) && !to->wants(kByCore[2])) return;
  Cpus fast;
  find_fast(system, online, &fast);
  CoreCount count;
  count_cores(system, online, fast, &count);
  if (!count.is_known) {
    for (const char* name : kByCore) {
      to->unknown(name, kCpuinfo, "neither sysfs nor /proc/cpuinfo shows which threads share a core");
    }
    return;
  }
  to->known(kByCore[0], count.all, count.source.view());
  if (!fast.is_known) {
    for (const char* name : {kByCore[1], kByCore[2]}) {
      to->unknown(name, kCpus, "sysfs has neither the capacity nor the highest frequency of the cores");
    }
    return;
  }
  to->known(kByCore[1], count.fast, fast.source.view(), fast.detail);
  to->known(kByCore[2], count.all - count.fast, fast.source.view(), "the others");
}

inline void detect_cores(System* system, Readings* to) {
  Cpus online;
  find_online(system, &online);
  detect_online_cores(system, online, to);
  CpuSet cpus;
  const auto missing = [&](std::string_view name, std::string_view path) {
    to->unknown(name, path, Path("there is no ", path).view());
  };
  // the file "offline" also lists CPUs that could be plugged in; virtual machines have many of these
  const Path present(kCpus, "/present");
  if (online.is_known && system->read_cpus(present.view(), &cpus)) {
    to->known("cpu.offline_cores", cpus.count() - cpus.count_common(online.numbers), present.view());
  } else {
    missing("cpu.offline_cores", present.view());
  }
  const Path isolated(kCpus, "/isolated");
  std::string_view text;
  if (system->read_small(isolated.view(), &text)) {  // the file is usually empty
    const bool has_some = system->read_cpus(isolated.view(), &cpus);
    to->known("cpu.isolated_cores", has_some ? cpus.count() : 0, isolated.view());
  } else {
    missing("cpu.isolated_cores", isolated.view());
  }
  constexpr std::string_view kNodes = "/sys/devices/system/node/online";
  if (system->read_cpus(kNodes, &cpus)) {
    to->known("cpu.numa_nodes", cpus.count(), kNodes);
  } else {
    missing("cpu.numa_nodes", kNodes);
  }
}

// `cpu.arch`, from the machine name of uname.
inline void detect_architecture(const Host& host, Readings* to) {
  if (!host.has_machine) return to->unknown("cpu.arch", "uname", "uname does not report it");
  FixedText<256> meant;
  const bool is_misnomer = meant_value("cpu.arch", host.machine.view(), &meant);
  to->known("cpu.arch", is_misnomer ? meant.view() : host.machine.view(), "uname");
}

inline void detect_cpu_identity(System* system, int64_t main_cpu, Readings* to) {
  constexpr std::string_view kNone = "/proc/cpuinfo names none that etconfig knows";
  std::string_view model;
  std::string_view vendor;
  CommonFeatures common;
  CpuinfoBlock block;
  bool has_model = false;
  bool has_vendor = false;
  const bool is_read = visit_blocks(*system, &block, [&](const CpuinfoBlock& each) {
    if (to->wants("cpu.features")) common.add(each.extensions());
    if (each.number != main_cpu) return;
    has_model = cpu_model(each, &model);
    has_vendor = cpu_vendor(each, &vendor);
    if (has_model) to->known("cpu.model", model, kCpuinfo);
    if (has_vendor) to->known("cpu.vendor", vendor, kCpuinfo);
  });
  if (!is_read || !has_model) to->unknown("cpu.model", kCpuinfo, kNone);
  if (!is_read || !has_vendor) to->unknown("cpu.vendor", kCpuinfo, kNone);
  const std::string_view* features = nullptr;
  const uint32_t count = common.sorted(&features);
  if (is_read && common.is_known() && count <= CommonFeatures::kMost) {
    to->known("cpu.features", features, count, kCpuinfo);
  } else {
    to->unknown("cpu.features", kCpuinfo, "/proc/cpuinfo lists none");
  }
}

// Reads a size as sysfs writes it: 512K or 8M.
inline bool parse_size(std::string_view text, int64_t* bytes) {
  if (text.empty() || (text.back() != 'K' && text.back() != 'M')) return false;
  int64_t count = 0;
  const int64_t unit = int64_t{1} << (text.back() == 'K' ? 10 : 20);
  return parse_count(text.substr(0, text.size() - 1), &count) && multiply(count, unit, bytes);
}

inline void detect_caches(System* system, int64_t main_cpu, Readings* to) {
  constexpr const char* kCacheFacts[] = {"cpu.cache.l1d", "cpu.cache.l2", "cpu.cache.l3"};
  const Path caches(kCpus, "/cpu", main_cpu, "/cache");
  int64_t sizes[] = {-1, -1, -1};
  Path sources[3];
  SortedNames names(*system, caches.view());
  for (std::string_view name; names.is_listed() && names.next(&name);) {
    int64_t level = 0;
    int64_t bytes = 0;
    std::string_view line;
    const Path size_file(caches.view(), '/', name, "/size");
    if (!system->read_int(Path(caches.view(), '/', name, "/level").view(), &level)) continue;
    if (level < 1 || level > 3 || sizes[level - 1] >= 0) continue;
    if (!system->read_line(size_file.view(), &line) || !parse_size(line, &bytes)) continue;
    if (system->is_line(Path(caches.view(), '/', name, "/type").view(), "Instruction")) continue;
    sizes[level - 1] = bytes;
    sources[level - 1] << size_file.view();
  }
  for (int64_t i = 0; i < 3; ++i) {
    if (sizes[i] >= 0) {
      to->known(kCacheFacts[i], sizes[i], sources[i].view());
    } else {
      to->unknown(kCacheFacts[i], caches.view(), Path("sysfs lists no level ", i + 1, " cache").view());
    }
  }
}

// The first thread of a performance core.
inline int64_t find_main_cpu(System* system) {
  Cpus online;
  Cpus fast;
  find_online(system, &online);
  if (online.is_known) find_fast(system, online, &fast);
  return fast.is_known ? fast.numbers.next(0) : 0;
}

inline void detect_cpu(System* system, Readings* to) {
  detect_architecture(system->host(), to);
  const bool wants_identity = to->wants("cpu.model") || to->wants("cpu.vendor") || to->wants("cpu.features");
  const bool wants_caches =
      to->wants("cpu.cache.l1d") || to->wants("cpu.cache.l2") || to->wants("cpu.cache.l3");
  if (!wants_identity && !wants_caches) return;
  const int64_t main_cpu = find_main_cpu(system);
  if (wants_identity) detect_cpu_identity(system, main_cpu, to);
  if (wants_caches) detect_caches(system, main_cpu, to);
}

inline void detect_available_cores(System* system, Readings* to) {
  constexpr std::string_view kFact = "cpu.available_cores";
  QuotaLimit quota;
  find_quota(system, &quota);
  if (quota.is_known) {
    to->known("cpu.quota_cores", quota.cores, quota.source.view());
  } else {
    to->unknown("cpu.quota_cores", "control groups", "no control group limits the CPU time");
  }
  if (!to->wants(kFact)) return;
  const Host& host = system->host();
  if (!host.has_affinity) {
    return to->unknown(kFact, "sched_getaffinity", "the affinity of the process is not known");
  }
  CpuSet allowed;
  Path source;
  int64_t count = host.affinity.count();
  const bool is_limited =
      find_cpuset(system, &allowed, &source) && allowed.count_common(host.affinity) < count;
  if (is_limited) count = allowed.count_common(host.affinity);
  // rounded down: a thread beyond the quota would be throttled in every period
  if (quota.is_known && quota.cores < static_cast<double>(count)) {
    const auto whole = static_cast<int64_t>(quota.cores);
    if (whole < count) {
      FixedText<96> detail;
      detail << "a quota of ";
      append_general(&detail, quota.cores);
      detail << " cores, rounded down";
      return to->known(kFact, whole < 1 ? 1 : whole, quota.source.view(), detail.view());
    }
  }
  to->known(kFact, count < 1 ? 1 : count, is_limited ? source.view() : std::string_view("sched_getaffinity"));
}

}  // namespace detection
}  // inline namespace
}  // namespace etconfig::device
