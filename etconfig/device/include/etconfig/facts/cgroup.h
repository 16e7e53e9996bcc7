// The limits of the process's control groups, in version 1, version 2 or a mix of both.
//
// The limits of all ancestors apply, too, so the smallest one on the way up counts. Source:
// Linux, Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/.

#pragma once

#include <cstdint>
#include <string_view>

#include "etconfig/facts/system.h"
#include "../version.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {
namespace detection {

// The directories of the process's group for one controller, innermost first.
class Groups {
 public:
  Groups(System* system, std::string_view controller) : system_(*system) {
    find(controller);
    size_ = directory_.size();
  }

  int version() const { return version_; }

  // The directory is valid until the next call.
  bool next(std::string_view* directory) {
    if (is_done_) return false;
    directory_.resize(size_);
    *directory = directory_.view();
    is_done_ = size_ == top_;
    if (!is_done_) size_ = directory->rfind('/');
    return true;
  }

 private:
  // The group of `controller`; for version 2, the controller is empty.
  bool find_membership(std::string_view controller, Text* group) {
    LineReader lines(system_, "/proc/self/cgroup");
    bool is_found = false;
    for (std::string_view line; lines.next(&line);) {
      std::string_view rest;
      std::string_view path;
      bool has_path = false;
      partition(line, ":", &rest);
      const std::string_view controllers = partition(rest, ":", &path, &has_path);
      if (!has_path || !is_item(controllers, controller)) continue;
      group->clear();
      *group << path;
      is_found = true;
    }
    return is_found && lines.is_complete();
  }

  static bool is_item(std::string_view items, std::string_view item) {
    while (true) {
      bool has_more = false;
      if (partition(items, ",", &items, &has_more) == item) return true;
      if (!has_more) return false;
    }
  }

  void find(std::string_view controller) {
    FixedText<kMaxLineBytes> group;
    const bool has_group = find_membership(controller, &group);
    if (has_group && find_mount(1, controller, group.view())) return;
    if (find_membership("", &group) && find_mount(2, controller, group.view())) return;
    directory_.clear();
    is_done_ = true;
  }

  // The first mount of this version that has the controller.
  bool find_mount(int version, std::string_view controller, std::string_view group) {
    LineReader lines(system_, "/proc/self/mountinfo");
    bool is_found = false;
    for (std::string_view line; lines.next(&line);) {
      std::string_view after;
      std::string_view before = partition(line, " - ", &after);
      const std::string_view kind = take_word(&after);
      take_word(&after);
      const std::string_view options = take_word(&after);
      if (options.empty() || is_found || kind != (version == 1 ? "cgroup" : "cgroup2")) continue;
      if (version == 1 && !is_item(options, controller)) continue;
      for (int i = 0; i < 3; ++i) take_word(&before);
      const std::string_view root = take_word(&before);
      const std::string_view mount_point = take_word(&before);
      if (mount_point.empty()) continue;
      set_directories(root, mount_point, group);
      is_found = true;  // the rest is read too, since an incomplete text does not count
    }
    version_ = version;
    return is_found && lines.is_complete();
  }

  void set_directories(std::string_view root, std::string_view mount_point, std::string_view group) {
    while (ends_with(root, "/")) root.remove_suffix(1);
    while (ends_with(mount_point, "/")) mount_point.remove_suffix(1);
    directory_.clear();
    directory_ << mount_point;
    top_ = directory_.size();
    if (!starts_with(group, root)) return;
    std::string_view rest = group.substr(root.size());
    if (!rest.empty() && rest[0] != '/') return;
    while (!rest.empty()) {
      const std::string_view part = partition(rest, "/", &rest);
      if (part == "..") {  // the group is outside of the namespace, so only the mounted top is visible
        directory_.resize(top_);
        return;
      }
      if (!part.empty()) directory_ << '/' << part;
    }
  }

  System& system_;
  int version_ = 2;
  size_t top_ = 0;
  size_t size_ = 0;
  bool is_done_ = false;
  FixedText<2 * kMaxLineBytes> directory_;
};

struct QuotaLimit {
  bool is_known = false;
  double cores = 0;
  Path source;
};

inline bool read_quota(System* system, int version, std::string_view directory, double* cores, Path* source) {
  int64_t quota = 0;
  int64_t period = 0;
  source->clear();
  *source << directory << (version == 1 ? "/cpu.cfs_quota_us" : "/cpu.max");
  if (version == 1) {
    if (!system->read_int(source->view(), &quota)) return false;
    if (!system->read_int(Path(directory, "/cpu.cfs_period_us").view(), &period)) return false;
  } else {
    std::string_view line;
    if (!system->read_line(source->view(), &line)) return false;
    if (!parse_count(take_word(&line), &quota) || !parse_count(take_word(&line), &period)) return false;
    if (!take_word(&line).empty()) return false;
  }
  constexpr int64_t kMaxQuota = int64_t{1} << 53;
  if (quota <= 0 || quota > kMaxQuota || period <= 0 || period > kMaxQuota) return false;
  *cores = static_cast<double>(quota) / static_cast<double>(period);
  return true;
}

// Finds the share of CPU time that the groups allow, in cores.
inline void find_quota(System* system, QuotaLimit* limit) {
  Groups groups(system, "cpu");
  Path source;
  double cores = 0;
  for (std::string_view directory; groups.next(&directory);) {
    if (!read_quota(system, groups.version(), directory, &cores, &source)) continue;
    if (limit->is_known && cores >= limit->cores) continue;
    limit->is_known = true;
    limit->cores = cores;
    limit->source.clear();
    limit->source << source.view();
  }
}

// Finds the CPUs that the groups allow, and the file that lists them.
inline bool find_cpuset(System* system, CpuSet* cpus, Path* source) {
  Groups groups(system, "cpuset");
  for (std::string_view directory; groups.next(&directory);) {
    for (const char* file : {"/cpuset.effective_cpus", "/cpuset.cpus", "/cpuset.cpus.effective"}) {
      if ((groups.version() == 2) != (std::string_view(file) == "/cpuset.cpus.effective")) continue;
      source->clear();
      *source << directory << file;
      if (system->read_cpus(source->view(), cpus)) return true;
    }
  }
  return false;
}

struct MemoryLimit {
  bool is_known = false;
  int64_t bytes = 0;
  Path source;
};

// The number behind `key` in memory.stat; 0 if there is none.
inline int64_t read_statistic(const System& system, std::string_view path, std::string_view key) {
  LineReader lines(system, path);
  int64_t count = 0;
  bool is_found = false;
  for (std::string_view line; lines.next(&line);) {
    std::string_view number;
    if (!is_found && partition(line, " ", &number) == key) is_found = parse_count(number, &count);
  }
  return is_found && lines.is_complete() ? count : 0;
}

// Finds the bytes that the groups allow; with `is_headroom`, those that they still allow.
inline void find_memory_limit(System* system, bool is_headroom, MemoryLimit* smallest) {
  Groups groups(system, "memory");
  const bool is_first = groups.version() == 1;
  for (std::string_view directory; groups.next(&directory);) {
    constexpr int64_t kUnlimited = int64_t{1} << 62;
    const Path source(directory, is_first ? "/memory.limit_in_bytes" : "/memory.max");
    int64_t bytes = 0;
    if (!system->read_int(source.view(), &bytes) || bytes >= kUnlimited) continue;
    if (is_headroom) {
      int64_t usage = 0;
      const Path usage_file(directory, is_first ? "/memory.usage_in_bytes" : "/memory.current");
      if (!system->read_int(usage_file.view(), &usage)) usage = 0;
      const int64_t reclaimable = read_statistic(*system, Path(directory, "/memory.stat").view(),
                                                 is_first ? "total_inactive_file" : "inactive_file");
      const int64_t in_use = usage <= reclaimable ? 0 : usage - reclaimable;
      bytes = bytes <= in_use ? 0 : bytes - in_use;
    }
    if (smallest->is_known && bytes >= smallest->bytes) continue;
    smallest->is_known = true;
    smallest->bytes = bytes;
    smallest->source.clear();
    smallest->source << source.view();
  }
}

}  // namespace detection
}  // inline namespace
}  // namespace etconfig::device
