#include "thread_pools.h"

#include <elf.h>
#include <executorch/extension/threadpool/threadpool_guard.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "errors.h"

#include "log_capture.h"

// The wheel ships the library but not these headers. Source: pthreadpool.h, extension/threadpool/threadpool.h.
extern "C" {
pthreadpool* pthreadpool_create(size_t threads_count);
size_t pthreadpool_get_threads_count(pthreadpool* pool);
void pthreadpool_destroy(pthreadpool* pool);
}

namespace executorch::extension::threadpool {
pthreadpool* get_pthreadpool();
}  // namespace executorch::extension::threadpool

namespace etconfig {

namespace {

namespace threadpool = executorch::extension::threadpool;

constexpr char kLibrary[] = "libexecutorch_backend_xnnpack.so";
constexpr char kFunction[] = "_ZN10executorch9extension10threadpool15get_pthreadpoolEv";

constexpr size_t kMostThreads = 1024;

thread_local pthreadpool* chosen = nullptr;

// XNNPACK asks for the pool once, when it makes a delegate's runtime. Source: backends/xnnpack/runtime/XNNCompiler.cpp.
pthreadpool* pool_for_loading() {
  if (chosen != nullptr && !threadpool::NoThreadPoolGuard::is_enabled()) {
    return chosen;
  }
  return threadpool::get_pthreadpool();
}

// A library in memory: its address, and its tables of symbols, names and references to functions.
struct Library {
  uintptr_t base = 0;
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela)* references = nullptr;
  size_t reference_bytes = 0;
};

Library library_of(const dl_phdr_info& info) {
  Library library;
  library.base = info.dlpi_addr;
  for (size_t i = 0; i < info.dlpi_phnum; ++i) {
    if (info.dlpi_phdr[i].p_type != PT_DYNAMIC) {
      continue;
    }
    for (auto* entry = reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
         entry->d_tag != DT_NULL; ++entry) {
      const auto value = entry->d_un.d_ptr;
      switch (entry->d_tag) {
        case DT_SYMTAB: library.symbols = reinterpret_cast<const ElfW(Sym)*>(value); break;
        case DT_STRTAB: library.names = reinterpret_cast<const char*>(value); break;
        case DT_JMPREL: library.references = reinterpret_cast<const ElfW(Rela)*>(value); break;
        case DT_PLTRELSZ: library.reference_bytes = entry->d_un.d_val; break;
        default: break;
      }
    }
  }
  return library;
}

// Let one reference of a library lead to our function. Its page may have been made read-only after loading.
bool redirect(uintptr_t slot) {
  const auto page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  void* page = reinterpret_cast<void*>(slot & ~(page_bytes - 1));
  if (mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) {
    return false;
  }
  reinterpret_cast<std::atomic<uintptr_t>*>(slot)->store(reinterpret_cast<uintptr_t>(&pool_for_loading));
  return true;
}

int redirect_in(dl_phdr_info* info, size_t, void* found) {
  if (info->dlpi_name == nullptr || std::strstr(info->dlpi_name, kLibrary) == nullptr) {
    return 0;
  }
  const Library library = library_of(*info);
  if (library.symbols == nullptr || library.names == nullptr || library.references == nullptr) {
    return 0;
  }
  for (size_t i = 0; i < library.reference_bytes / sizeof(ElfW(Rela)); ++i) {
    const auto& reference = library.references[i];
    const auto& symbol = library.symbols[ELF64_R_SYM(reference.r_info)];
    if (std::strcmp(library.names + symbol.st_name, kFunction) == 0 && redirect(library.base + reference.r_offset)) {
      *static_cast<bool*>(found) = true;
    }
  }
  return 0;
}

// Once for the process, which keeps this module forever.
void take_over_the_choice() {
  static const bool is_done = [] {
    bool found = false;
    dl_iterate_phdr(&redirect_in, &found);
    return found;
  }();
  if (!is_done) {
    throw std::runtime_error(std::string("no call of the thread pool was found in ") + kLibrary);
  }
}

// pthreadpool_create does not look whether its threads start; using such a pool ends the process. So as many are started
// here before.
void require_threads(size_t count) {
  if (count > kMostThreads) {
    throw ThreadsError("a pool has at most " + std::to_string(kMostThreads) + " threads, not " + std::to_string(count));
  }
  std::vector<std::thread> started;
  started.reserve(count);
  std::mutex waiting;
  bool is_refused = false;
  {
    std::lock_guard<std::mutex> all_at_once(waiting);
    try {
      while (started.size() + 1 < count) {  // the thread that calls execute is one of them
        started.emplace_back([&waiting] { std::lock_guard<std::mutex> wait(waiting); });
      }
    } catch (const std::system_error&) {
      is_refused = true;
    }
  }
  for (auto& each : started) {
    each.join();
  }
  if (is_refused) {
    throw ThreadsError("a pool of " + std::to_string(count) + " threads needs " + std::to_string(count - 1) +
                       " new ones, and the system starts " + std::to_string(started.size()) + " for this process");
  }
}

}  // namespace

ThreadPool thread_pool(size_t count) {
  take_over_the_choice();
  static std::mutex mutex;
  // By process: a fork has no threads but its own.
  static auto* pools = new std::map<std::pair<pid_t, size_t>, std::weak_ptr<pthreadpool>>();
  std::lock_guard<std::mutex> lock(mutex);
  const pid_t process = getpid();
  auto& known = (*pools)[{process, count}];
  ThreadPool pool = known.lock();
  if (pool == nullptr) {
    require_threads(count);
    pool = ThreadPool(pthreadpool_create(count), [process](pthreadpool* each) {
      if (each != nullptr && process == getpid()) {
        pthreadpool_destroy(each);
      }
    });
    if (pool == nullptr) {
      throw ThreadsError("there is no memory for a pool of " + std::to_string(count) + " threads");
    }
    known = pool;
  }
  return pool;
}

size_t process_thread_count() {
  LogCapture capture;  // making the pool logs how it looks for cores
  return pthreadpool_get_threads_count(threadpool::get_pthreadpool());
}

size_t thread_count(const ThreadPool& pool) { return pthreadpool_get_threads_count(pool.get()); }

PoolForLoading::PoolForLoading(const ThreadPool& pool) : outer_(chosen) { chosen = pool.get(); }

PoolForLoading::~PoolForLoading() { chosen = outer_; }

}  // namespace etconfig
