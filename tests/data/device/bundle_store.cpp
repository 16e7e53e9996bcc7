// A `BundleStore` on a disk that loses power at every byte of every step, and on real files.
//
//   bundle_store cuts A B C     every step of a story is cut at every byte, on a simulated disk
//   bundle_store damage A B     50,000 damaged stores
//   bundle_store rules A B C    the rules of trials, revisions and demands
//   bundle_store model A B C    20,000 random steps, compared with the rules as the header states them
//   bundle_store files DIR A B  on real files, with a disk that is full after each byte
//   bundle_store calls DIR A B  the order of system calls, and each of them failing; linked with
//                               -Wl,--wrap=fsync,--wrap=renameat
//   bundle_store loop DIR A B   installs A and B in turn until it is killed; `check DIR A B` looks at the result
//
// A, B and C are files with bundles of revisions 1, 2 and 3.

#include <etconfig/posix_files.h>

#include "damage.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <vector>

#include <sys/resource.h>

#define CHECK(condition)                                                            \
  if (!(condition)) {                                                               \
    std::fprintf(stderr, "line %d: %s (%s)\n", __LINE__, #condition, place.c_str()); \
    std::exit(1);                                                                   \
  }

using namespace etconfig::device;

namespace {

std::string place;  // of the cut, for messages

// What a disk has: directories lead to files, and both reach it only when they are synced. The model is
// written from what POSIX promises, and knows nothing of the store: until a sync, a file may have any part of
// its bytes, and a directory any number of its changes, in their order.
struct Disk {
  struct File {
    std::string bytes;
    bool is_synced = false;
  };
  using Directory = std::map<std::string, int>;

  std::vector<File> files;
  std::vector<Directory> directories{Directory()};  // the one on the disk, and each change since
  long left = -1;                                   // bytes and steps until the cut; -1: no cut
  bool is_cut = false;
  bool is_full = false;
  bool is_writing = false;

  // Takes one step; false from the cut on.
  bool step(long cost = 1) {
    if (is_cut) return false;
    if (left < 0) return true;
    if (left >= cost) {
      left -= cost;
      return true;
    }
    is_cut = true;
    return false;
  }
  const Directory& now() const { return directories.back(); }

  // Each disk that may be found after the power was lost.
  std::vector<Disk> outcomes() const {
    std::vector<Disk> found;
    for (const Directory& directory : directories) {
      for (int part = 0; part < 4; ++part) {
        Disk disk;
        disk.files = files;
        disk.directories = {directory};
        bool has_lost = false;
        for (File& file : disk.files) {
          if (file.is_synced) continue;
          has_lost = true;
          file.is_synced = true;
          if (part == 1) file.bytes.clear();
          if (part == 2) file.bytes.resize(file.bytes.size() / 2);
          if (part == 3) file.bytes.assign(file.bytes.size(), '\0');
        }
        found.push_back(disk);
        if (!has_lost || is_writing) break;  // a part of a part is that of another cut
      }
    }
    return found;
  }
};

Disk* disk = nullptr;  // of every `DiskFiles`

struct DiskFiles {
  bool lock() { return disk->step(); }
  void unlock() {}
  bool read(const char* name, void* data, size_t capacity, size_t* size, bool* is_there) {
    if (!disk->step()) return false;
    const auto found = disk->now().find(name);
    *is_there = found != disk->now().end();
    if (!*is_there) return true;
    const std::string& bytes = disk->files[static_cast<size_t>(found->second)].bytes;
    *size = bytes.size();
    std::memcpy(data, bytes.data(), bytes.size() < capacity ? bytes.size() : capacity);
    return true;
  }
  bool write(const char* name, const void* data, size_t size) {
    if (disk->is_full || !disk->step()) return false;
    Disk::Directory changed = disk->now();
    changed[name] = static_cast<int>(disk->files.size());
    disk->directories.push_back(changed);
    disk->files.emplace_back();
    disk->is_writing = true;
    for (size_t i = 0; i < size; ++i) {
      if (!disk->step()) return false;
      disk->files.back().bytes += static_cast<const char*>(data)[i];
    }
    disk->is_writing = false;
    return true;
  }
  bool sync(const char* name) {
    if (!disk->step()) return false;
    disk->files[static_cast<size_t>(disk->now().at(name))].is_synced = true;
    return true;
  }
  bool rename(const char* from, const char* to) {
    if (!disk->step()) return false;
    Disk::Directory changed = disk->now();
    changed[to] = changed.at(from);
    changed.erase(from);
    disk->directories.push_back(changed);
    return true;
  }
  bool sync_directory() {
    if (!disk->step()) return false;
    disk->directories = {disk->now()};
    return true;
  }
};

using DiskStore = BundleStore<DiskFiles>;
char buffer[1 << 20];

// The bytes of the bundle that a start of the application gets; empty if it gets none.
template <typename Store>
std::string start(Store* store, Status* status = nullptr, const Demands& demands = Demands()) {
  Bundle bundle;
  std::memset(buffer, 0x55, sizeof buffer);
  const Status loaded = store->load(buffer, sizeof buffer, demands, &bundle);
  if (status != nullptr) *status = loaded;
  if (loaded != Status::Ok) return {};
  std::string bytes(buffer, store->size());
  const size_t end = bytes.find_last_not_of(0x55);  // the other slot may be larger
  bytes.resize(end == std::string::npos ? 0 : end + 1);
  return bytes;
}

Status install(DiskStore* store, const std::string& bytes) {
  return store->install(bytes.data(), bytes.size(), Demands());
}

// Does one step of a story on the disk, cut at each byte. After each cut, an application that starts must get one of
// the `allowed` bundles, and the same step must succeed when it is done again. Returns the disk without a cut.
Disk cut_everywhere(const char* name, const Disk& before, const std::vector<std::string>& allowed,
                    const std::function<void(DiskStore*)>& act, const std::string& next) {
  uint64_t cuts = 0;
  for (long at = 0;; ++at) {
    Disk cut = before;
    cut.left = at;
    disk = &cut;
    DiskStore during;
    act(&during);
    if (!cut.is_cut) {
      cut.left = -1;
      disk = nullptr;
      std::printf("%s: %llu disks\n", name, static_cast<unsigned long long>(cuts));
      return cut;
    }
    for (const Disk& found : cut.outcomes()) {
      ++cuts;
      place = std::string(name) + " cut at " + std::to_string(at);
      Disk after = found;
      disk = &after;
      DiskStore store;
      const std::string got = start(&store);
      bool is_allowed = false;
      for (const std::string& each : allowed) is_allowed = is_allowed || got == each;
      CHECK(is_allowed);
      // the store goes on as before
      after = found;
      DiskStore again;
      act(&again);
      DiskStore last;
      CHECK(start(&last) == next);
    }
  }
}

void cuts(const std::string& a, const std::string& b, const std::string& c) {
  const auto put = [](const std::string& bundle) {
    return [bundle](DiskStore* store) { static_cast<void>(install(store, bundle)); };
  };
  const auto begin = [](DiskStore* store) { start(store); };
  const auto confirm = [](DiskStore* store) {
    start(store);
    static_cast<void>(store->confirm());
  };
  const auto reject = [](DiskStore* store) {
    start(store);
    static_cast<void>(store->reject());
  };
  Disk now;
  now = cut_everywhere("install A", now, {"", a}, put(a), a);
  cut_everywhere("install B over A, which nobody confirmed", now, {a, b}, put(b), b);
  now = cut_everywhere("confirm A", now, {a}, confirm, a);
  now = cut_everywhere("start A", now, {a}, begin, a);
  now = cut_everywhere("install B", now, {a, b}, put(b), b);
  const Disk on_trial = now;
  now = cut_everywhere("start B", now, {b}, begin, b);
  now = cut_everywhere("install C over B", now, {a, b, c}, put(c), c);
  now = cut_everywhere("confirm C", now, {c}, confirm, c);
  now = on_trial;
  now = cut_everywhere("confirm B", now, {b}, confirm, b);
  const Disk with_former = now;
  now = cut_everywhere("install C over A", now, {b, c}, put(c), c);
  // A is not a former one any more, so the rejected C leaves B; a second reject leaves nothing
  {
    Disk before = now;
    disk = &before;
    DiskStore store;
    CHECK(start(&store) == c);
    CHECK(store.reject() == Status::Ok);
    CHECK(start(&store) == b);
    CHECK(install(&store, c) == Status::RolledBack);
  }
  // rejected after it was the good one: the former one is loaded again
  for (long at = 0;; ++at) {
    Disk cut = with_former;
    cut.left = at;
    disk = &cut;
    DiskStore store;
    reject(&store);
    place = "reject B cut at " + std::to_string(at);
    if (!cut.is_cut) break;
    for (Disk after : cut.outcomes()) {
      disk = &after;
      DiskStore next;
      const std::string got = start(&next);
      CHECK(got == a || got == b);
    }
  }
  // a crash in each trial: the fourth start has the good one, wherever the third was cut
  now = on_trial;
  for (int i = 0; i < DiskStore::kLoads; ++i) {
    disk = &now;
    DiskStore store;
    CHECK(start(&store) == b);
  }
  now = cut_everywhere("roll back B", now, {a}, begin, a);
  disk = &now;
  DiskStore store;
  CHECK(install(&store, b) == Status::RolledBack);
  CHECK(install(&store, c) == Status::Ok);
  CHECK(start(&store) == c);
}

void damage(const std::string& a, const std::string& b) {
  Disk whole;
  disk = &whole;
  {
    DiskStore store;
    CHECK(install(&store, a) == Status::Ok && start(&store) == a && store.confirm() == Status::Ok);
    CHECK(install(&store, b) == Status::Ok);
  }
  std::mt19937 random(1);
  const std::string names[] = {"state", "slot-0", "slot-1"};
  int counts[4] = {};
  for (int i = 0; i < 50000; ++i) {
    Disk hurt = whole;
    disk = &hurt;
    place = "mutant " + std::to_string(i);
    const std::string& name = names[i % 3];
    std::string& bytes = hurt.files[static_cast<size_t>(hurt.now().at(name))].bytes;
    const std::string before = bytes;
    bytes = damaged(bytes, i % 2 == 0 ? a : b, &random);
    const bool is_equal = bytes == before;
    DiskStore store;
    Status status = Status::Ok;
    const std::string got = start(&store, &status);
    if (is_equal) {
      ++counts[3];
    } else if (name == "state") {
      CHECK(status == Status::Damaged && got.empty());
      ++counts[0];
    } else {  // the other slot is whole
      CHECK(got == (name == "slot-0" ? b : a));
      ++counts[name == "slot-0" ? 1 : 2];
    }
    // and a new one can be installed
    if (i % 50 == 0) CHECK(install(&store, b) == Status::Ok && start(&store) == b);
  }
  CHECK(counts[3] < 1000);
  std::printf("%d damaged stores, none accepted\n", 50000 - counts[3]);
}

void rules(const std::string& a, const std::string& b, const std::string& c) {
  Disk one;
  disk = &one;
  DiskStore store;
  Status status = Status::Ok;
  CHECK(start(&store, &status).empty() && status == Status::NoBundle);
  CHECK(store.confirm() == Status::NoBundle && store.reject() == Status::NoBundle && store.size() == 0);
  CHECK(install(&store, "no bundle") == Status::NotABundle);
  CHECK(install(&store, a.substr(0, a.size() / 2)) == Status::Damaged);
  CHECK(install(&store, b) == Status::Ok && store.confirm() == Status::Stale);
  CHECK(install(&store, a) == Status::OldRevision);
  CHECK(start(&store) == b && store.confirm() == Status::Ok && store.confirm() == Status::Ok);
  CHECK(install(&store, b) == Status::Ok);  // it is there
  for (int i = 0; i < 10; ++i) CHECK(start(&store) == b);
  CHECK(install(&store, c) == Status::Ok);
  // a bundle that nobody loaded cannot be confirmed
  CHECK(store.confirm() == Status::Ok);  // B, which is the good one
  CHECK(start(&store) == c);
  DiskStore other;  // of another process
  CHECK(other.confirm() == Status::Stale);
  other.set_loaded(store.loaded());
  CHECK(other.confirm() == Status::Ok);
  // an application with a newer bundle of its own does not want an old one
  Demands demands;
  demands.least_revision = 4;
  CHECK(start(&store, &status, demands).empty() && status == Status::OldRevision);
  CHECK(start(&store) == c);
  Bundle bundle;
  CHECK(store.load(buffer, 100, Demands(), &bundle) == Status::TooSmall);
  // a trial that cannot be counted is not loaded
  Disk full;
  disk = &full;
  DiskStore last;
  CHECK(install(&last, a) == Status::Ok && start(&last) == a && last.confirm() == Status::Ok);
  CHECK(install(&last, b) == Status::Ok);
  full.is_full = true;
  CHECK(start(&last) == a);
  CHECK(install(&last, c) == Status::StoreFailed && last.confirm() == Status::Ok);
  full.is_full = false;
  CHECK(start(&last) == b);
  CHECK(last.reject() == Status::Ok && start(&last) == a);
}

// The rules of bundle_store.h, with names of bundles instead of slots.
struct Model {
  std::string good, former, trial, failed, loaded;
  int loads = 0;
  uint64_t highest = 0;
  bool is_new = true;  // nothing was ever installed

  Status install(const std::string& bundle, uint64_t revision) {
    if (bundle == failed) return Status::RolledBack;
    if (bundle == trial || bundle == good) return Status::Ok;
    if (revision < highest) return Status::OldRevision;
    is_new = false;
    former.clear();  // its place is needed
    trial = bundle;
    loads = 0;
    highest = revision;
    return Status::Ok;
  }
  std::string load() {
    loaded.clear();
    if (!trial.empty() && loads == 3) {
      failed = trial;
      trial.clear();
    }
    if (!trial.empty()) {
      ++loads;
      return loaded = trial;
    }
    return loaded = good;
  }
  Status confirm() {
    if (is_new) return Status::NoBundle;
    if (loaded.empty() || (loaded != trial && loaded != good)) return Status::Stale;
    if (loaded == good) return Status::Ok;
    former = good;
    good = trial;
    trial.clear();
    loads = 0;
    return Status::Ok;
  }
  Status reject() {
    if (is_new) return Status::NoBundle;
    if (loaded.empty() || (loaded != trial && loaded != good)) return Status::Stale;
    failed = loaded;
    if (loaded == trial) {
      trial.clear();
    } else {
      good = former;
      former.clear();
    }
    return Status::Ok;
  }
};

void compare(const std::vector<std::string>& given) {
  std::vector<std::pair<std::string, uint64_t>> bundles;
  for (size_t i = 0; i < given.size(); ++i) {
    for (const char variant : {'a', 'b'}) {  // two of each revision, with signatures of nobody
      bundles.emplace_back(given[i] + "ETCBSIG1" + std::string(kSignatureBytes, variant), i + 1);
    }
  }
  std::mt19937 random(3);
  int steps[4] = {};
  for (int walk = 0; walk < 1000; ++walk) {
    Disk empty;
    disk = &empty;
    DiskStore store;
    Model model;
    place.clear();
    for (int i = 0; i < 20; ++i) {
      const auto step = random() % 8;
      if (step < 2) {
        // mostly the next revisions, since others are refused
        const auto& [bundle, revision] = bundles[(random() % 3 + static_cast<size_t>(i) / 5) % bundles.size()];
        place += " install " + std::to_string(revision) + bundle.back();
        CHECK(install(&store, bundle) == model.install(bundle, revision));
        ++steps[0];
      } else if (step < 6) {
        place += " load";
        CHECK(start(&store) == model.load());
        ++steps[1];
      } else if (step == 6) {
        place += " confirm";
        CHECK(store.confirm() == model.confirm());
        ++steps[2];
      } else {
        place += " reject";
        CHECK(store.reject() == model.reject());
        ++steps[3];
      }
    }
  }
  for (const int count : steps) CHECK(count > 2000);
}

// --- real files ---

using FileStore = BundleStore<PosixFiles>;

void files(const char* directory, const std::string& a, const std::string& b) {
  std::signal(SIGXFSZ, SIG_IGN);
  FileStore store(directory);
  Status status = Status::Ok;
  CHECK(start(&store, &status).empty() && status == Status::NoBundle);
  CHECK(store.install(a.data(), a.size(), Demands()) == Status::Ok);
  CHECK(start(&store) == a && store.confirm() == Status::Ok);
  // a disk that is full after each byte
  rlimit whole;
  getrlimit(RLIMIT_FSIZE, &whole);
  for (rlim_t bytes = 0; bytes < b.size(); ++bytes) {
    place = "full after " + std::to_string(bytes);
    const rlimit small{bytes, whole.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    FileStore full(directory);
    CHECK(full.install(b.data(), b.size(), Demands()) == Status::StoreFailed);
    CHECK(start(&full) == a);
  }
  setrlimit(RLIMIT_FSIZE, &whole);
  CHECK(store.install(b.data(), b.size(), Demands()) == Status::Ok);
  CHECK(start(&store) == b && store.reject() == Status::Ok && start(&store) == a);
  // neither a link nor a directory is followed
  FileStore nowhere("/nowhere/at/all");
  CHECK(nowhere.install(a.data(), a.size(), Demands()) == Status::StoreFailed);
  const std::string slot = std::string(directory) + "/slot-0";
  const std::string elsewhere = std::string(directory) + "/elsewhere";
  CHECK(std::rename(slot.c_str(), elsewhere.c_str()) == 0);
  CHECK(symlink("elsewhere", slot.c_str()) == 0);
  CHECK(start(&store, &status).empty() && status == Status::StoreFailed);
}

#ifdef ETCONFIG_TEST_CALLS
std::string calls;      // f: fsync, r: renameat
int failing_call = -1;  // which of them fails

bool fails(char call) {
  calls += call;
  const bool is_failing = failing_call >= 0 && calls.size() == static_cast<size_t>(failing_call) + 1;
  if (is_failing) errno = EIO;
  return is_failing;
}

void check_calls(const char* directory, const std::string& a, const std::string& b) {
  FileStore store(directory);
  CHECK(store.install(a.data(), a.size(), Demands()) == Status::Ok);
  CHECK(start(&store) == a && store.confirm() == Status::Ok);
  calls.clear();
  CHECK(store.install(b.data(), b.size(), Demands()) == Status::Ok);
  CHECK(calls == "frffrf");  // the slot and the state: bytes, name, directory
  CHECK(start(&store) == b && store.reject() == Status::Ok);
  for (int call = 0; call < 6; ++call) {
    place = "call " + std::to_string(call);
    std::string other = b;  // B was rejected: this one is signed by nobody, which changes its bytes
    other += "ETCBSIG1" + std::string(kSignatureBytes, static_cast<char>('0' + call));
    calls.clear();
    failing_call = call;
    CHECK(store.install(other.data(), other.size(), Demands()) == Status::StoreFailed);
    failing_call = -1;
    const std::string got = start(&store);
    CHECK(got == a || (call == 5 && got == other));  // the last one comes after the rename of the state
  }
}
#endif

[[noreturn]] void loop(const char* directory, const std::string& a, const std::string& b) {
  for (int i = 0;; ++i) {
    FileStore store(directory);
    const std::string& bundle = i % 2 == 0 ? a : b;
    static_cast<void>(store.install(bundle.data(), bundle.size(), Demands()));
    start(&store);
    if (store.confirm() == Status::Ok && i == 0) {
      std::puts("ready");
      std::fflush(stdout);
    }
  }
}

void check(const char* directory, const std::string& a, const std::string& b) {
  FileStore store(directory);
  const std::string got = start(&store);
  CHECK(got == a || got == b);
}

}  // namespace

#ifdef ETCONFIG_TEST_CALLS
extern "C" {
int __real_fsync(int file);
int __real_renameat(int from, const char* name, int to, const char* renamed);
int __wrap_fsync(int file) { return fails('f') ? -1 : __real_fsync(file); }
int __wrap_renameat(int from, const char* name, int to, const char* renamed) {
  return fails('r') ? -1 : __real_renameat(from, name, to, renamed);
}
}
#endif

int main(int count, char** words) {
  const std::string command = count > 1 ? words[1] : "";
  std::vector<std::string> bundles;
  const bool has_directory = command == "files" || command == "calls" || command == "loop" || command == "check";
  for (int i = has_directory ? 3 : 2; i < count; ++i) bundles.push_back(read_file(words[i]));
  if (command == "cuts") cuts(bundles.at(0), bundles.at(1), bundles.at(2));
  if (command == "damage") damage(bundles.at(0), bundles.at(1));
  if (command == "rules") rules(bundles.at(0), bundles.at(1), bundles.at(2));
  if (command == "model") compare(bundles);
  if (command == "files") files(words[2], bundles.at(0), bundles.at(1));
#ifdef ETCONFIG_TEST_CALLS
  if (command == "calls") check_calls(words[2], bundles.at(0), bundles.at(1));
#endif
  if (command == "loop") loop(words[2], bundles.at(0), bundles.at(1));
  if (command == "check") check(words[2], bundles.at(0), bundles.at(1));
  return 0;
}
