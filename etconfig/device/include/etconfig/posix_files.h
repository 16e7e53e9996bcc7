// The files of a `BundleStore` on Linux, Android and Apple's systems.

#pragma once

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "bundle_store.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {

// The files of a directory, which is made if only its last part is missing. Links are not followed. A file is
// for its owner alone. The lock is of the directory, and of all processes that use it.
class PosixFiles {
 public:
  // `directory` must stay as it is.
  explicit PosixFiles(const char* directory) : path_(directory) {}
  PosixFiles(const PosixFiles&) = delete;
  PosixFiles& operator=(const PosixFiles&) = delete;
  ~PosixFiles() { unlock(); }

  // Waits until nobody else has the lock. The other functions need it.
  bool lock() {
    if (path_ == nullptr) return false;
    const bool is_new = ::mkdir(path_, 0700) == 0;
    if (!is_new && errno != EEXIST) return false;
    directory_ = ::open(path_, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory_ < 0) return false;
    const int parent = is_new ? open("..", O_RDONLY | O_DIRECTORY) : -1;
    if (parent >= 0) {
      static_cast<void>(sync(parent));
      ::close(parent);
    }
    int locked = 0;
    do {
      locked = ::flock(directory_, LOCK_EX);
    } while (locked != 0 && errno == EINTR);
    if (locked != 0) unlock();
    return locked == 0;
  }
  void unlock() {
    if (directory_ >= 0) ::close(directory_);
    directory_ = -1;
  }

  // Reads `capacity` bytes at most, and finds the size that the file has; false if it cannot be read.
  bool read(const char* name, void* data, size_t capacity, size_t* size, bool* is_there) {
    const int file = open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    *is_there = file >= 0 || errno != ENOENT;
    if (file < 0) return !*is_there;
    struct stat status;
    bool is_read = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size >= 0;
    if (is_read) *size = static_cast<size_t>(status.st_size);
    size_t at = 0;
    while (is_read && at < capacity && at < *size) {
      const ssize_t count = ::read(file, static_cast<char*>(data) + at, capacity - at);
      if (count == 0) *size = at;  // it was cut meanwhile
      if (count > 0) at += static_cast<size_t>(count);
      is_read = count >= 0 || errno == EINTR;
    }
    ::close(file);
    return is_read;
  }

  // The four steps of replacing a file; each is false if it failed.
  bool write(const char* name, const void* data, size_t size) {
    static_cast<void>(::unlinkat(directory_, name, 0));  // of a replacement that did not end
    const int file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
    if (file < 0) return false;
    bool is_written = true;
    for (size_t at = 0; is_written && at < size;) {
      const ssize_t count = ::write(file, static_cast<const char*>(data) + at, size - at);
      if (count > 0) at += static_cast<size_t>(count);
      is_written = count > 0 || (count < 0 && errno == EINTR);
    }
    return ::close(file) == 0 && is_written;
  }
  bool sync(const char* name) {
    const int file = open(name, O_WRONLY | O_NOFOLLOW);
    if (file < 0) return false;
    const bool is_synced = sync(file);
    return ::close(file) == 0 && is_synced;
  }
  bool rename(const char* from, const char* to) {
    return ::renameat(directory_, from, directory_, to) == 0;
  }
  bool sync_directory() { return sync(directory_); }

 private:
  int open(const char* name, int flags) { return ::openat(directory_, name, flags | O_CLOEXEC, 0600); }
  static bool sync(int file) {
#ifdef F_FULLFSYNC
    if (::fcntl(file, F_FULLFSYNC) == 0) return true;  // a disk of Apple keeps the order only so
#endif
    int synced = 0;
    do {
      synced = ::fsync(file);
    } while (synced != 0 && errno == EINTR);
    return synced == 0;
  }

  const char* path_;
  int directory_ = -1;
};

}  // inline namespace
}  // namespace etconfig::device
