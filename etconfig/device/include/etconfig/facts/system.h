// Files, directories and calls of a device, or of a tree of files that was captured on another one.
//
// Everything has a size: a file of one value 8 KiB, a line 8 KiB, a text of many lines 4 MiB. Nothing is
// allocated: directories are read with the system call, since `opendir` allocates.

#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/types.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#if defined(__linux__)
#include <sys/syscall.h>
#else
#include <dirent.h>
#endif

#include "etconfig/facts/cpu_set.h"
#include "etconfig/facts/text.h"
#include "../version.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {
namespace detection {

inline constexpr size_t kMaxPathBytes = 4096;
inline constexpr size_t kMaxNameBytes = 256;

// A path of at most 4,095 bytes; a longer one cannot be opened.
class Path : public FixedText<kMaxPathBytes> {
 public:
  template <typename... Parts>
  explicit Path(Parts... parts) {
    (void)(*this << ... << parts);
  }
};

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(File&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  // Returns the number of bytes, 0 at the end, -1 on failure.
  ssize_t read(char* to, size_t size) const {
    ssize_t count = 0;
    do {
      count = ::read(descriptor_, to, size);
    } while (count < 0 && errno == EINTR);
    return count;
  }

 private:
  int descriptor_;
};

// Turns bytes, one after the other, into valid UTF-8.
class Decoder {
 public:
  void push(char byte, Text* to) {
    if (count_ == 0 && static_cast<uint8_t>(byte) < 0x80) {
      *to << byte;
      return;
    }
    pending_[count_++] = byte;
    while (count_ != 0 && !may_grow()) take(to);
  }
  void flush(Text* to) {
    while (count_ != 0) take(to);
  }

 private:
  // True if further bytes may complete the pending ones: then
  // appending a wrong byte changes what is taken off.
  bool may_grow() const {
    char probe[5];
    std::memcpy(probe, pending_, count_);
    probe[count_] = '\0';
    std::string_view text(probe, count_ + 1);
    const auto first = static_cast<uint8_t>(probe[0]);
    const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 1;
    if (first > 0xf4 || count_ >= size) return false;
    take_code_point(&text);
    return text.size() == 1;  // all of them were taken as the beginning of one sequence
  }
  void take(Text* to) {
    std::string_view text(pending_, count_);
    to->code_point(take_code_point(&text));
    std::memmove(pending_, text.data(), text.size());
    count_ = text.size();
  }

  char pending_[4] = {};
  size_t count_ = 0;
};

struct Host {
  FixedText<64> system;  // "Linux", "Android", "Darwin", "Windows"
  FixedText<256> release;
  FixedText<256> machine;
  bool has_system = false;
  bool has_release = false;
  bool has_machine = false;
  bool has_affinity = false;
  CpuSet affinity;
};

class System {
 public:
  // `root` is null for this device.
  explicit System(const char* root) : root_(root == nullptr ? "" : root), is_captured_(root != nullptr) {
    while (!root_.empty() && root_.back() == '/') root_.remove_suffix(1);
    if (!is_captured_) return;
    const File directory(open_below(root_, "/"));
    if (!directory.is_open() || !locate(directory, &boundary_)) boundary_ << '\0';
  }

  bool is_captured() const { return is_captured_; }
  Host& host() { return host_; }
  const Host& host() const { return host_; }
  bool is_on(std::string_view system) const { return host_.has_system && host_.system.view() == system; }

  // A file or directory; links out of a captured tree are not followed.
  File open(std::string_view path) const {
    File file(open_below(root_, path));
    if (!is_captured_ || !file.is_open()) return file;
    Path located;
    const std::string_view boundary = boundary_.view();
    const bool is_inside = locate(file, &located) && starts_with(located.view(), boundary) &&
                           (located.size() == boundary.size() || located.view()[boundary.size()] == '/');
    return is_inside ? static_cast<File&&>(file) : File(-1);
  }

  // The text of a small file, decoded; false if it is missing or has more
  // than `kMaxLineBytes`. Valid until the next call.
  bool read_small(std::string_view path, std::string_view* text) {
    const File file = open(path);
    if (!file.is_open()) return false;
    Decoder decoder;
    char chunk[1024];
    size_t total = 0;
    small_.clear();
    while (true) {
      const ssize_t count = file.read(chunk, sizeof chunk);
      if (count < 0) return false;
      if (count == 0) break;
      total += static_cast<size_t>(count);
      if (total > kMaxLineBytes) return false;
      for (ssize_t i = 0; i < count; ++i) decoder.push(chunk[i], &small_);
    }
    decoder.flush(&small_);
    *text = small_.view();
    return !small_.is_cut();
  }

  // The one line, number or list of CPUs that a small file contains, without white space around it; false if
  // the file is missing, empty or something else.
  bool read_line(std::string_view path, std::string_view* line) {
    if (!read_small(path, line)) return false;
    *line = strip(*line);
    return !line->empty();
  }
  bool read_int(std::string_view path, int64_t* number) {
    std::string_view line;
    return read_line(path, &line) && parse_number(line, number);
  }
  bool read_cpus(std::string_view path, CpuSet* cpus) {
    std::string_view line;
    return read_line(path, &line) && cpus->parse(line) && cpus->count() != 0;
  }
  bool is_line(std::string_view path, std::string_view expected) {
    std::string_view line;
    return read_line(path, &line) && line == expected;
  }

 private:
  static int open_below(std::string_view root, std::string_view path) {
    if (path.find('\0') != std::string_view::npos) return -1;
    Path full(root, path, '\0');
    if (full.is_cut()) return -1;
    int descriptor = -1;
    do {
      descriptor = ::open(full.view().data(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    } while (descriptor < 0 && errno == EINTR);
    return descriptor;
  }

  // The path of an open file, with all links resolved.
  static bool locate(const File& file, Text* path) {
    char buffer[kMaxPathBytes];
#if defined(__APPLE__)
    if (fcntl(file.descriptor(), F_GETPATH, buffer) != 0) return false;
    *path << std::string_view(buffer);
#else
    FixedText<64> link;
    link << "/proc/self/fd/" << int64_t{file.descriptor()} << '\0';
    const ssize_t size = readlink(link.view().data(), buffer, sizeof buffer);
    if (size <= 0 || static_cast<size_t>(size) == sizeof buffer) return false;
    *path << std::string_view(buffer, static_cast<size_t>(size));
#endif
    return !path->is_cut();
  }

  std::string_view root_;
  bool is_captured_;
  Path boundary_;
  Host host_;
  FixedText<kMaxLineBytes> small_;
};

// The lines of a text, decoded, without those of more than `kMaxLineBytes`.
class LineReader {
 public:
  LineReader(const System& system, std::string_view path, size_t max_bytes = kMaxFileBytes)
      : file_(system.open(path)), max_bytes_(max_bytes), is_failed_(!file_.is_open()) {}

  // If false, all lines that were read do not count: the text cannot be read to its end, or is too large.
  bool is_complete() const { return !is_failed_; }

  // The line is valid until the next call.
  bool next(std::string_view* line) {
    line_.clear();
    bool is_begun = false;
    while (!is_failed_) {
      if (at_ == size_ && !fill()) break;
      const char c = chunk_[at_++];
      if (c != '\n') {
        is_begun = true;
        decoder_.push(c, &line_);
        continue;
      }
      decoder_.flush(&line_);
      if (!line_.is_cut()) {
        *line = line_.view();
        return true;
      }
      line_.clear();
      is_begun = false;
    }
    decoder_.flush(&line_);
    *line = line_.view();
    return is_begun && !is_failed_ && !line_.is_cut();
  }

 private:
  bool fill() {
    const ssize_t count = file_.read(chunk_, sizeof chunk_);
    if (count > 0) total_ += static_cast<size_t>(count);
    is_failed_ = count < 0 || total_ > max_bytes_;
    at_ = 0;
    size_ = is_failed_ ? 0 : static_cast<size_t>(count);
    return size_ != 0;
  }

  File file_;
  size_t max_bytes_;
  bool is_failed_;
  size_t total_ = 0;
  size_t at_ = 0;
  size_t size_ = 0;
  Decoder decoder_;
  FixedText<kMaxLineBytes> line_;
  char chunk_[2048];
};

// Calls `visit(name)` for every name in a directory, in no order; false if it cannot be listed.
inline bool visit_names(const System& system, std::string_view path, Callback<std::string_view> visit) {
  const File directory = system.open(path);
  if (!directory.is_open()) return false;
  const auto visit_unless_dots = [&](std::string_view name) {
    if (name != "." && name != "..") visit(name);
  };
#if defined(__linux__)
  alignas(8) char buffer[2048];
  constexpr size_t kNameOffset = 19;  // behind d_ino, d_off, d_reclen and d_type of struct linux_dirent64
  while (true) {
    const long count = syscall(SYS_getdents64, directory.descriptor(), buffer, sizeof buffer);
    if (count < 0) return false;
    if (count == 0) return true;
    for (long at = 0; at < count;) {
      uint16_t size = 0;
      std::memcpy(&size, buffer + at + 16, sizeof size);
      visit_unless_dots(std::string_view(buffer + at + kNameOffset));
      at += size;
    }
  }
#else
  DIR* stream = fdopendir(dup(directory.descriptor()));
  if (stream == nullptr) return false;
  while (const dirent* entry = readdir(stream)) visit_unless_dots(entry->d_name);
  closedir(stream);
  return true;
#endif
}

// The names in a directory that begin with a prefix, in order. It
// reads the directory once for every 32 of them.
class SortedNames {
 public:
  SortedNames(const System& system, std::string_view path, std::string_view prefix = {})
      : system_(system), path_(path), prefix_(prefix) {
    is_listed_ = collect();
  }

  bool is_listed() const { return is_listed_; }

  // The name is valid until the next call.
  bool next(std::string_view* name) {
    if (at_ == count_) {
      if (!is_full_ || !collect()) return false;
      if (count_ == 0) return false;
    }
    last_.clear();
    last_ << names_[order_[at_++]];
    *name = last_.view();
    return true;
  }

 private:
  static constexpr size_t kBatch = 32;

  // Keeps the smallest names above the last one.
  bool collect() {
    at_ = count_ = 0;
    is_full_ = false;
    return visit_names(system_, path_, [this](std::string_view name) {
      if (!starts_with(name, prefix_) || name.size() >= kMaxNameBytes || name <= last_.view()) return;
      size_t place = count_;
      while (place > 0 && name < std::string_view(names_[order_[place - 1]])) --place;
      if (place == kBatch) {
        is_full_ = true;
        return;
      }
      uint8_t slot = static_cast<uint8_t>(count_);
      if (count_ == kBatch) {
        slot = order_[--count_];
        is_full_ = true;
      }
      for (size_t i = count_; i > place; --i) order_[i] = order_[i - 1];
      order_[place] = slot;
      ++count_;
      std::memcpy(names_[slot], name.data(), name.size());
      names_[slot][name.size()] = '\0';
    });
  }

  const System& system_;
  std::string_view path_;
  std::string_view prefix_;
  bool is_listed_ = false;
  bool is_full_ = false;
  size_t at_ = 0;
  size_t count_ = 0;
  uint8_t order_[kBatch] = {};
  FixedText<kMaxNameBytes> last_;
  char names_[kBatch][kMaxNameBytes];
};

}  // namespace detection
}  // inline namespace
}  // namespace etconfig::device
