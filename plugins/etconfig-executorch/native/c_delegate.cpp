#include "c_delegate.h"

#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>

#include "python_backend.h"
#include "text.h"

namespace etconfig {

namespace {

constexpr size_t kMaxThreads = 256;
constexpr size_t kMaxText = 1024;

// The parts of one parallel_for, which several threads take one after another.
class Loop {
 public:
  Loop(size_t count, EtconfigTask task, void* argument) : count_(count), task_(task), argument_(argument) {}

  void work() {
    for (size_t i = next_++; i < count_; i = next_++) {
      const EtconfigStatus status = task_(argument_, i);
      if (status != ETCONFIG_OK) {
        std::lock_guard<std::mutex> lock(mutex_);
        if (i < failed_) {
          failed_ = i;
          status_ = status;
        }
      }
    }
  }

  // The status of the lowest index that failed.
  EtconfigStatus status() const { return status_; }

 private:
  const size_t count_;
  const EtconfigTask task_;
  void* const argument_;
  std::atomic<size_t> next_{0};
  std::mutex mutex_;
  size_t failed_ = SIZE_MAX;
  EtconfigStatus status_ = ETCONFIG_OK;
};

}  // namespace

void* RunMemory::allocate(size_t size, size_t alignment) {
  const size_t aligned = std::max(alignment, alignof(std::max_align_t));
  if (size > SIZE_MAX - aligned) {
    return nullptr;
  }
  const size_t rounded = std::max<size_t>((size + aligned - 1) / aligned * aligned, aligned);
  if (used_ == blocks_.size() || blocks_[used_].size != rounded || blocks_[used_].alignment != aligned) {
    Block block{{std::aligned_alloc(aligned, rounded), &std::free}, rounded, aligned};
    if (block.memory == nullptr) {
      return nullptr;
    }
    blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(used_), std::move(block));
    blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(used_) + 1, blocks_.end());
  }
  void* memory = blocks_[used_++].memory.get();
  std::memset(memory, 0, rounded);
  return memory;
}

CDelegate::CDelegate(nb::object run)
    : python_(std::move(run)),
      function_(reinterpret_cast<decltype(EtconfigBackend::run)>(nb::cast<uintptr_t>(python_.attr("function")))),
      handle_(reinterpret_cast<void*>(nb::cast<uintptr_t>(python_.attr("handle")))),
      in_force_(reinterpret_cast<const EtconfigRun*>(nb::cast<uintptr_t>(python_.attr("call")))),
      services_{sizeof(EtconfigServices), this,    &allocate, &parallel_for, &log, nullptr,
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
  const EtconfigStatus status = function_(handle_, &call, &message);
  memory_.reset();
  if (status == ETCONFIG_OK) {
    return rt::Error::Ok;
  }
  nb::gil_scoped_acquire gil;
  try {
    nb::object exception = python_.attr("failure")(status, readable({text, strnlen(text, sizeof(text))}));
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
    throw nb::python_error();
  } catch (nb::python_error& error) {
    return keep_pending_exception(error);
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
  }
}

void* CDelegate::allocate(void* self, size_t size, size_t alignment) {
  try {
    return static_cast<CDelegate*>(self)->memory_.allocate(size, alignment);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

// Threads live as long as the loop: a method that is loaded but does not run has none.
EtconfigStatus CDelegate::parallel_for(void*, size_t count, size_t max_workers, EtconfigTask task, void* argument) {
  if (task == nullptr) {
    return ETCONFIG_INVALID_ARGUMENT;
  }
  Loop loop(count, task, argument);
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
  return loop.status();
}

void CDelegate::log(void* self, int32_t level, const char* text) {
  nb::gil_scoped_acquire gil;
  try {
    // the address: Python reads it with a limit, and can refuse it
    static_cast<CDelegate*>(self)->python_.attr("log")(level, reinterpret_cast<uintptr_t>(text));
  } catch (nb::python_error& error) {
    error.discard_as_unraisable("a log line of a backend");
  }
}

EtconfigStatus CDelegate::resize_output(void* self, size_t index, const int32_t* sizes, int32_t rank) {
  auto& delegate = *static_cast<CDelegate*>(self);
  if (index >= delegate.arguments_.size() || sizes == nullptr || rank < 0 ||
      !delegate.arguments_[index]->isTensor()) {
    return ETCONFIG_INVALID_ARGUMENT;
  }
  auto& tensor = delegate.arguments_[index]->toTensor();
  const auto error = rt::resize_tensor(tensor, {sizes, static_cast<size_t>(rank)});
  if (error == rt::Error::Ok) {
    delegate.fill(*delegate.values_[index].as.tensor, tensor);
  }
  return static_cast<EtconfigStatus>(error);
}

}  // namespace etconfig
