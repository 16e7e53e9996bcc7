// Keeps the bundles that an application receives: the last good one, and a new one until it has proved good.
//
//   BundleStore<PosixFiles> store("/data/user/0/org.example/files/etconfig");
//   Status status = store.install(data, size, demands);      // after a download
//
//   status = store.load(buffer, sizeof buffer, demands, &bundle);      // at each start, once
//   if (status != Status::Ok) status = bundle.open(built_in, built_in_size);
//   ...                                                      // load the model, run it once
//   status = store.confirm();                                // or `reject`, if something failed
//
// A new bundle is on trial. It becomes the good one by `confirm`. Until then each load is counted, before the
// bundle is used: after three loads, each of which may have ended in a crash, the good one is loaded again,
// and the other is refused until another bundle fails. The good one before it stays, for a good one that is
// damaged, or rejected later. Nothing allocates, except for what a verifier does.
//
// There are two slots and a state, each a file. A file is replaced as a whole: it is written beside the old
// one, brought to the disk, and renamed. So a cut of power at any byte leaves the old one or the new one. Of
// damaged files nothing is used: the state and the slots have checksums. These are no protection against
// somebody who can write the directory; a verifier is.

#pragma once

#include "device.h"

namespace etconfig::device {
inline namespace ETCONFIG_INLINE_NAMESPACE {
namespace internal {

// The contents of the file `state`.
struct StoreState {
  enum Kind : uint8_t { Empty, Trial, Good, Former };
  static constexpr size_t kBytes = 56;
  static constexpr uint32_t kNone = 2;  // no slot

  struct Slot {
    Kind kind = Empty;
    uint32_t size = 0;
    uint64_t checksum = 0;
  };
  Slot slots[2];
  uint8_t loads = 0;      // of the bundle on trial
  uint64_t revision = 0;  // the highest that was installed
  uint64_t failed = 0;    // the checksum of the last bundle that failed

  uint32_t find(Kind kind) const {
    return slots[0].kind == kind ? 0 : slots[1].kind == kind ? 1 : kNone;
  }

  void write(uint8_t* bytes) const {
    std::memcpy(bytes, "ETCS\1", 5);
    bytes[5] = slots[0].kind;
    bytes[6] = slots[1].kind;
    bytes[7] = loads;
    put(bytes + 8, uint64_t{slots[1].size} << 32 | slots[0].size);
    put(bytes + 16, slots[0].checksum);
    put(bytes + 24, slots[1].checksum);
    put(bytes + 32, revision);
    put(bytes + 40, failed);
    put(bytes + 48, checksum_of(bytes, 48));
  }
  // False if the bytes are damaged.
  bool read(const uint8_t* bytes) {
    if (std::memcmp(bytes, "ETCS\1", 5) != 0 || get(bytes + 48) != checksum_of(bytes, 48)) return false;
    if (bytes[5] > Former || bytes[6] > Former || (bytes[5] == bytes[6] && bytes[5] != Empty)) return false;
    slots[0].kind = static_cast<Kind>(bytes[5]);
    slots[1].kind = static_cast<Kind>(bytes[6]);
    loads = bytes[7];
    slots[0].size = static_cast<uint32_t>(get(bytes + 8));
    slots[1].size = static_cast<uint32_t>(get(bytes + 8) >> 32);
    slots[0].checksum = get(bytes + 16);
    slots[1].checksum = get(bytes + 24);
    revision = get(bytes + 32);
    failed = get(bytes + 40);
    return true;
  }

  // Never 0, which stands for none.
  static uint64_t checksum_of(const void* data, size_t size) {
    Md5 hash;
    hash.add({static_cast<const char*>(data), size});
    const uint64_t found = hash.finish();
    return found == 0 ? 1 : found;
  }

 private:
  static void put(uint8_t* at, uint64_t number) {
    for (int i = 0; i < 8; ++i) at[i] = static_cast<uint8_t>(number >> (8 * i));
  }
  static uint64_t get(const uint8_t* at) { return format::read<uint64_t>(at); }
};

}  // namespace internal

// The bundles of one directory. `Files` is `PosixFiles`, or a class of the application with its functions. An
// object may be used by one thread at a time; other objects and processes may use the same directory.
template <typename Files>
class BundleStore {
 public:
  static constexpr uint8_t kLoads = 3;  // of a bundle on trial, without `confirm`

  // The arguments are those of `Files`.
  template <typename... Arguments>
  explicit BundleStore(const Arguments&... arguments) : files_(arguments...) {}
  BundleStore(const BundleStore&) = delete;
  BundleStore& operator=(const BundleStore&) = delete;

  // Puts a bundle on trial, in place of another one on trial. OldRevision: a higher one was installed before.
  // RolledBack: this one failed before. Ok also if it is there already. StoreFailed: it may be there or not,
  // and the bundle on trial may be gone; the good one stays.
  Status install(const void* data, size_t size, const Demands& demands) {
    Bundle bundle;
    const Status opened = bundle.open(data, size, demands);
    if (opened != Status::Ok) return opened;
    const Lock lock(&files_);
    State state;
    const Status status = lock.is_held ? read(&state) : Status::StoreFailed;
    if (status == Status::StoreFailed) return status;
    const uint64_t checksum = State::checksum_of(data, size);
    if (checksum == state.failed) return Status::RolledBack;
    for (uint32_t i = 0; i < 2; ++i) {
      const bool is_used = state.slots[i].kind == State::Trial || state.slots[i].kind == State::Good;
      if (!is_used || state.slots[i].checksum != checksum) continue;
      return replace(kSlots[i], data, size) ? Status::Ok : Status::StoreFailed;  // it may be damaged
    }
    if (bundle.revision() < state.revision) return Status::OldRevision;
    const uint32_t good = state.find(State::Good);
    const uint32_t trial = state.find(State::Trial);
    // never over the good one; over the one on trial only if it is needed
    const uint32_t target = good != State::kNone ? 1 - good : trial != State::kNone ? 1 - trial : 0;
    if (!replace(kSlots[target], data, size)) return Status::StoreFailed;
    if (trial != State::kNone) state.slots[trial] = {};
    state.slots[target] = {State::Trial, static_cast<uint32_t>(size), checksum};
    state.loads = 0;
    state.revision = bundle.revision();
    return write(state) ? Status::Ok : Status::StoreFailed;
  }

  // Reads the bundle on trial, or the good one, and opens it. The buffer must stay as it is while the bundle
  // is used. Unless the result is Ok, the bundle stays as it was. NoBundle: the store is empty; use the one
  // that the application was built with. Damaged: its state is damaged, and so it counts as empty; `install`
  // starts anew. TooSmall: the buffer; see `size`.
  Status load(void* buffer, size_t capacity, const Demands& demands, Bundle* bundle) {
    loaded_ = 0;
    const Lock lock(&files_);
    State state;
    const Status status = lock.is_held ? read(&state) : Status::StoreFailed;
    if (status != Status::Ok) return status;
    Status first = Status::NoBundle;
    const uint32_t trial = state.find(State::Trial);
    if (trial != State::kNone) {
      if (state.slots[trial].size > capacity) return Status::TooSmall;
      const bool is_over = state.loads >= kLoads;
      if (is_over) state.failed = state.slots[trial].checksum;
      if (!is_over) ++state.loads;
      if (is_over) state.slots[trial] = {};
      // a trial that is not counted might never end
      if (write(state) && !is_over) first = open(state.slots[trial], trial, buffer, demands, bundle);
      if (first == Status::Ok) return first;
      if (first != Status::NoBundle && first != Status::StoreFailed) {
        state.slots[trial] = {};
        write(state);
      }
    }
    for (const auto kind : {State::Good, State::Former}) {
      const uint32_t slot = state.find(kind);
      if (slot == State::kNone) continue;
      if (state.slots[slot].size > capacity) return Status::TooSmall;
      const Status opened = open(state.slots[slot], slot, buffer, demands, bundle);
      if (opened == Status::Ok) return opened;
      if (first == Status::NoBundle) first = opened;
    }
    return first;
  }

  // The bytes that `load` needs for any of its bundles; 0 if there is none.
  size_t size() {
    const Lock lock(&files_);
    State state;
    if (!lock.is_held || read(&state) != Status::Ok) return 0;
    return state.slots[0].size > state.slots[1].size ? state.slots[0].size : state.slots[1].size;
  }

  // Makes the bundle that was loaded the good one. Stale: none was, or another one was installed since.
  Status confirm() {
    return change([](State* state, uint32_t slot) {
      const uint32_t good = state->find(State::Good);
      if (good != State::kNone && good != slot) state->slots[good].kind = State::Former;
      state->slots[slot].kind = State::Good;
      state->loads = 0;
    });
  }

  // Gives up the bundle that was loaded, for good: the next load has the good one, or if that was it, the one
  // before. Stale as for `confirm`.
  Status reject() {
    return change([](State* state, uint32_t slot) {
      state->failed = state->slots[slot].checksum;
      const bool was_good = state->slots[slot].kind == State::Good;
      state->slots[slot] = {};
      const uint32_t former = state->find(State::Former);
      if (was_good && former != State::kNone) state->slots[former].kind = State::Good;
    });
  }

  // Names the bundle that was loaded, so that another object can confirm or reject it; 0 if none was.
  uint64_t loaded() const { return loaded_; }
  void set_loaded(uint64_t loaded) { loaded_ = loaded; }

  Files& files() { return files_; }

 private:
  using State = internal::StoreState;
  static constexpr const char* kState = "state";
  static constexpr const char* kSlots[2] = {"slot-0", "slot-1"};
  static constexpr const char* kNew = "new";  // what is being written

  struct Lock {
    explicit Lock(Files* files_of_lock) : files(files_of_lock), is_held(files->lock()) {}
    ~Lock() {
      if (is_held) files->unlock();
    }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    Files* files;
    bool is_held;
  };

  // Ok, or NoBundle without a state, or Damaged, or StoreFailed.
  Status read(State* state) {
    uint8_t bytes[State::kBytes];
    size_t size = 0;
    bool is_there = true;
    if (!files_.read(kState, bytes, sizeof bytes, &size, &is_there)) return Status::StoreFailed;
    if (!is_there) return Status::NoBundle;
    return size == sizeof bytes && state->read(bytes) ? Status::Ok : Status::Damaged;
  }
  bool write(const State& state) {
    uint8_t bytes[State::kBytes];
    state.write(bytes);
    return replace(kState, bytes, sizeof bytes);
  }
  bool replace(const char* name, const void* data, size_t size) {
    return files_.write(kNew, data, size) && files_.sync(kNew) && files_.rename(kNew, name) &&
        files_.sync_directory();
  }

  Status open(const State::Slot& slot, uint32_t number, void* buffer, const Demands& demands,
              Bundle* bundle) {
    size_t size = 0;
    bool is_there = true;
    if (!files_.read(kSlots[number], buffer, slot.size, &size, &is_there)) return Status::StoreFailed;
    const bool is_whole = is_there && size == slot.size;
    if (!is_whole || State::checksum_of(buffer, size) != slot.checksum) return Status::Damaged;
    const Status status = bundle->open(buffer, size, demands);
    if (status == Status::Ok) loaded_ = slot.checksum;
    return status;
  }

  template <typename Change>
  Status change(const Change& apply) {
    const Lock lock(&files_);
    State state;
    const Status status = lock.is_held ? read(&state) : Status::StoreFailed;
    if (status != Status::Ok) return status;
    for (uint32_t slot = 0; slot < 2; ++slot) {
      if (loaded_ == 0 || state.slots[slot].kind == State::Empty) continue;
      if (state.slots[slot].checksum != loaded_) continue;
      const bool is_good = state.slots[slot].kind == State::Good;
      State changed = state;
      apply(&changed, slot);
      if (is_good && changed.slots[slot].kind == State::Good) return Status::Ok;  // confirmed before
      return write(changed) ? Status::Ok : Status::StoreFailed;
    }
    return Status::Stale;
  }

  Files files_;
  uint64_t loaded_ = 0;  // the checksum of the bundle that was loaded
};

}  // inline namespace
}  // namespace etconfig::device
