#include "c_delegate.h"

#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "library_guard.h"
#include "python_backend.h"
#include "resizing.h"
#include "text.h"

namespace etconfig {

namespace {

constexpr size_t kMaxThreads = 256;
constexpr size_t kMaxText = 1024;

// The parts of one parallel_for, which several threads take one after another.
class Loop {
 public:
  Loop(size_t count, EtconfigTask task, void* argument, const StopRequest* stop)
      : count_(count), task_(task), argument_(argument), stop_(stop) {}

  void work() {
    for (size_t i = next_++; i < count_; i = next_++) {
      if (stop_ != nullptr && stop_->is_due()) {
        is_cut_short_ = true;
        return;
      }
      char text[kMaxText] = "";
      const EtconfigMessage message{text, sizeof(text)};
      const EtconfigStatus status = guarded_call(&message, [&] { return task_(argument_, i); });
      if (status != ETCONFIG_OK) {
        std::lock_guard<std::mutex> lock(mutex_);
        if (i < failed_) {
          failed_ = i;
          status_ = status;
          text_ = text;
        }
      }
    }
  }

  // The status of the lowest index that failed; an error if the run must end, so that parts were left out.
  EtconfigStatus status() const { return is_cut_short_ ? ETCONFIG_INTERNAL : status_; }

  // The exception that left the task of that index, or an empty text.
  const std::string& text() const { return text_; }

 private:
  const size_t count_;
  const EtconfigTask task_;
  void* const argument_;
  const StopRequest* const stop_;
  std::atomic<size_t> next_{0};
  std::atomic<bool> is_cut_short_{false};
  std::mutex mutex_;
  size_t failed_ = SIZE_MAX;
  EtconfigStatus status_ = ETCONFIG_OK;
  std::string text_;
};

bool is_power_of_2(size_t number) { return number != 0 && (number & (number - 1)) == 0; }

}  // namespace

void* RunMemory::allocate(size_t size, size_t alignment) {
  const size_t aligned = std::max(alignment, alignof(std::max_align_t));
  if (used_ < blocks_.size() && blocks_[used_].size == size && blocks_[used_].alignment == aligned) {
    void* start = blocks_[used_++].start;
    std::memset(start, 0, size);
    return start;
  }
  if (size > SIZE_MAX - aligned) {
    return nullptr;
  }
  size_t room = size + aligned;
  Block block{{std::calloc(1, room), &std::free}, nullptr, size, aligned};
  if (block.memory == nullptr) {
    return nullptr;
  }
  block.start = block.memory.get();
  std::align(aligned, size, block.start, room);
  if (used_ == blocks_.size()) {
    blocks_.push_back(std::move(block));
  } else {
    blocks_[used_] = std::move(block);
  }
  return blocks_[used_++].start;
}

CDelegate::CDelegate(nb::object run)
    : python_(std::move(run)),
      function_(reinterpret_cast<decltype(EtconfigBackend::run)>(nb::cast<uintptr_t>(python_.attr("function")))),
      handle_(reinterpret_cast<void*>(nb::cast<uintptr_t>(python_.attr("handle")))),
      in_force_(reinterpret_cast<const EtconfigRun*>(nb::cast<uintptr_t>(python_.attr("call")))),
      services_{sizeof(EtconfigServices), this,    &allocate, &parallel_for, &log, &is_cancelled,
                &resize_output,           nullptr, nullptr} {}

rt::Error CDelegate::run(rt::Span<rt::EValue*> values) {
  arguments_ = values;
  tensors_.clear();
  lists_.clear();
  texts_.clear();
  values_.assign(values.size(), EtconfigValue{});
  for (size_t i = 0; i < values.size(); ++i) {
    fill(values_[i], *values[i]);
  }
  const EtconfigRun call{sizeof(EtconfigRun),  &services_,          values_.data(),     values_.size(),
                         in_force_->options,   in_force_->option_count, in_force_->resource};
  char text[kMaxText] = "";
  EtconfigMessage message{text, sizeof(text)};
  stop_ = StopRequest::current();
  const EtconfigStatus status = guarded_call(&message, [&] { return function_(handle_, &call, &message); });
  memory_.reset();
  std::string reason = readable({text, strnlen(text, sizeof(text))});
  if (!task_text_.empty()) {
    reason += (reason.empty() ? "" : "; ") + std::exchange(task_text_, "");
  }
  return outcome(status, reason);
}

rt::Error CDelegate::outcome(EtconfigStatus status, const std::string& text) {
  const bool must_end = stop_ != nullptr && stop_->was_due();
  // A run that must end may end early, with any status, and is no failure.
  const EtconfigStatus judged = must_end ? ETCONFIG_OK : status;
  const rt::Error unblamed = must_end ? rt::Error::Internal : rt::Error::Ok;
  if (!has_kept_ && judged == ETCONFIG_OK) {
    return unblamed;
  }
  nb::gil_scoped_acquire gil;
  try {
    nb::object exception;
    if (has_kept_) {
      has_kept_ = false;
      exception = python_.attr("service_failure")(std::exchange(kept_, nb::object()), judged);
    } else {
      exception = python_.attr("failure")(status, text);
    }
    if (exception.is_none()) {
      return unblamed;
    }
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
    throw nb::python_error();
  } catch (nb::python_error& error) {
    return keep_pending_exception(error);
  }
}

void CDelegate::keep(nb::handle type, const std::string& text) {
  nb::gil_scoped_acquire gil;
  keep(nb::object(type(text)));
}

void CDelegate::keep(nb::object exception) {
  if (!kept_.is_valid()) {
    kept_ = std::move(exception);
    has_kept_ = true;
  }
}

void CDelegate::fill(EtconfigTensor& target, const executorch::aten::Tensor& tensor) {
  target.data = tensor.mutable_data_ptr();
  target.size_bytes = tensor.nbytes();
  target.sizes = tensor.sizes().data();
  target.strides = tensor.strides().data();
  target.dim_order = tensor.dim_order().data();
  target.rank = static_cast<int32_t>(tensor.dim());
  target.dtype = static_cast<int32_t>(tensor.scalar_type());
}

EtconfigValue CDelegate::tensor_value(const executorch::aten::Tensor& tensor) {
  EtconfigValue value{};
  fill(tensors_.emplace_back(), tensor);
  value.kind = ETCONFIG_KIND_TENSOR;
  value.as.tensor = &tensors_.back();
  return value;
}

template <typename Items, typename Convert>
void CDelegate::fill_list(EtconfigValue& target, const Items& items, Convert convert) {
  auto& list = lists_.emplace_back();
  for (const auto& item : items) {
    list.push_back(convert(item));
  }
  target.kind = ETCONFIG_KIND_LIST;
  target.size = list.size();
  target.as.items = list.data();
}

void CDelegate::fill(EtconfigValue& target, const rt::EValue& value) {
  const auto integer = [](int64_t number, int32_t kind) {
    EtconfigValue result{};
    result.kind = kind;
    result.as.integer = number;
    return result;
  };
  const auto number = [](double given) {
    EtconfigValue result{};
    result.kind = ETCONFIG_KIND_NUMBER;
    result.as.number = given;
    return result;
  };
  if (value.isTensor()) {
    target = tensor_value(value.toTensor());
  } else if (value.isInt()) {
    target = integer(value.toInt(), ETCONFIG_KIND_INTEGER);
  } else if (value.isDouble()) {
    target = number(value.toDouble());
  } else if (value.isBool()) {
    target = integer(value.toBool(), ETCONFIG_KIND_BOOLEAN);
  } else if (value.isString()) {
    const auto view = value.toString();
    const auto& text = texts_.emplace_back(view.data(), view.size());
    target.kind = ETCONFIG_KIND_TEXT;
    target.size = text.size();
    target.as.text = text.c_str();
  } else if (value.isIntList()) {
    fill_list(target, value.toIntList(), [&](int64_t each) { return integer(each, ETCONFIG_KIND_INTEGER); });
  } else if (value.isBoolList()) {
    fill_list(target, value.toBoolList(), [&](bool each) { return integer(each, ETCONFIG_KIND_BOOLEAN); });
  } else if (value.isDoubleList()) {
    fill_list(target, value.toDoubleList(), number);
  } else if (value.isTensorList()) {
    fill_list(target, value.toTensorList(),
              [&](const executorch::aten::Tensor& each) { return tensor_value(each); });
  } else if (value.isListOptionalTensor()) {
    fill_list(target, value.toListOptionalTensor(), [&](const std::optional<executorch::aten::Tensor>& each) {
      return each.has_value() ? tensor_value(*each) : EtconfigValue{};
    });
  }
}

void* CDelegate::allocate(void* self, size_t size, size_t alignment) {
  auto& delegate = *static_cast<CDelegate*>(self);
  if (alignment > 1 && !is_power_of_2(alignment)) {
    delegate.keep(PyExc_ValueError, "the alignment must be a power of 2, not " + std::to_string(alignment));
    return nullptr;
  }
  void* memory = nullptr;
  try {
    memory = delegate.memory_.allocate(size, alignment);
  } catch (const std::bad_alloc&) {  // the list of blocks cannot grow
  }
  if (memory == nullptr) {
    delegate.keep(PyExc_MemoryError, "cannot allocate " + std::to_string(size) + " bytes");
  }
  return memory;
}

// Threads live as long as the loop: a method that is loaded but does not run has none.
EtconfigStatus CDelegate::parallel_for(void* self, size_t count, size_t max_workers, EtconfigTask task, void* argument) {
  if (task == nullptr) {
    return ETCONFIG_INVALID_ARGUMENT;
  }
  auto& delegate = *static_cast<CDelegate*>(self);
  Loop loop(count, task, argument, delegate.stop_);
  std::vector<std::thread> threads;
  const size_t wanted = std::min({count, max_workers, kMaxThreads});
  try {
    for (size_t i = 1; i < wanted; ++i) {
      threads.emplace_back([&loop] { loop.work(); });
    }
  } catch (const std::system_error&) {
    // no more threads: those that there are do the work
  }
  loop.work();
  for (auto& thread : threads) {
    thread.join();
  }
  if (!loop.text().empty()) {
    delegate.task_text_ = readable(loop.text());
  }
  return loop.status();
}

void CDelegate::log(void* self, int32_t level, const char* text) {
  nb::gil_scoped_acquire gil;
  try {
    // the address: Python reads it with a limit, and can refuse it
    static_cast<CDelegate*>(self)->python_.attr("log")(level, reinterpret_cast<uintptr_t>(text));
  } catch (nb::python_error& error) {
    static_cast<CDelegate*>(self)->keep(nb::borrow(error.value()));
  }
}

int32_t CDelegate::is_cancelled(void* self) {
  const StopRequest* stop = static_cast<CDelegate*>(self)->stop_;
  return stop != nullptr && stop->is_due() ? 1 : 0;
}

EtconfigStatus CDelegate::resize_output(void* self, size_t index, const int32_t* sizes, int32_t rank) {
  auto& delegate = *static_cast<CDelegate*>(self);
  if (sizes == nullptr || rank < 0 || rank > static_cast<int32_t>(executorch::runtime::kTensorDimensionLimit)) {
    return ETCONFIG_INVALID_ARGUMENT;
  }
  if (index >= delegate.arguments_.size() || !delegate.arguments_[index]->isTensor()) {
    delegate.keep(PyExc_ValueError, "argument " + std::to_string(index) + " is not a tensor");
    return ETCONFIG_INVALID_ARGUMENT;
  }
  auto& tensor = delegate.arguments_[index]->toTensor();
  const std::string problem = resize(tensor, sizes, static_cast<size_t>(rank));
  if (!problem.empty()) {
    delegate.keep(PyExc_ValueError, problem);
    return ETCONFIG_INVALID_ARGUMENT;
  }
  delegate.fill(*delegate.values_[index].as.tensor, tensor);
  return ETCONFIG_OK;
}

}  // namespace etconfig
