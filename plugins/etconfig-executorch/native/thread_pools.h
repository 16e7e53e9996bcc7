// Thread pools of XNNPACK's instances: one for each number of threads, beside the process's own pool.
#pragma once

#include <cstddef>
#include <memory>

struct pthreadpool;

namespace etconfig {

using ThreadPool = std::shared_ptr<pthreadpool>;

// Returns the pool of so many threads, the calling one included. Instances that ask for the same number share it, and
// take turns in it. It ends with the last of them.
// Throws ThreadsError if they cannot be started, and std::runtime_error if XNNPACK's library cannot be made to use it.
ThreadPool thread_pool(size_t count);

// The threads of a pool.
size_t thread_count(const ThreadPool& pool);

// The threads of the process's own pool, which is made if there is none yet.
size_t process_thread_count();

// Makes delegates that this thread loads keep `pool`, unless it is null, while it exists.
class PoolForLoading {
 public:
  explicit PoolForLoading(const ThreadPool& pool);
  ~PoolForLoading();
  PoolForLoading(const PoolForLoading&) = delete;
  PoolForLoading& operator=(const PoolForLoading&) = delete;

 private:
  pthreadpool* outer_;
};

}  // namespace etconfig
