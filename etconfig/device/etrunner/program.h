// A program that is loaded with a configuration, and measured.

#pragma once

#include <etconfig/device_executorch.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "text.h"

namespace etrunner {

namespace rt = executorch::runtime;
using executorch::aten::ScalarType;

constexpr std::string_view kXnnpack = "XnnpackBackend";
constexpr int64_t kMostThreads = 1024;  // as in etconfig-executorch

// The last error that the runtime logged, which says more than its code.
inline std::string last_error;

inline void check(const char* what, rt::Error error) {
  if (error == rt::Error::Ok) return;
  const std::string_view name = std::string_view(rt::to_string(error)).substr(sizeof "Error::" - 1);
  throw Failure{std::string(what) + ": " + std::string(name) + (last_error.empty() ? "" : ": ") + last_error};
}

template <typename T>
T take(const char* what, rt::Result<T> result) {
  check(what, result.error());
  return std::move(result.get());
}

// The growth of the memory of this process since this was made; nothing on systems that do not report it.
class PeakMemory {
 public:
  PeakMemory() {
    std::ofstream("/proc/self/clear_refs") << "5";  // resets the peak. Source: proc(5)
    before_ = bytes_of("VmRSS:");
  }
  std::optional<int64_t> growth() const { return since("VmHWM:"); }
  std::optional<int64_t> resident_growth() const { return since("VmRSS:"); }

 private:
  static std::optional<int64_t> bytes_of(const char* name) {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
      int64_t kilobytes = 0;
      if (word == name && status >> kilobytes) return kilobytes * 1024;
    }
    return std::nullopt;
  }
  std::optional<int64_t> since(const char* name) const {
    const auto now = bytes_of(name);
    if (!now || !before_) return std::nullopt;
    return std::max<int64_t>(0, *now - *before_);
  }

  std::optional<int64_t> before_;
};

// Options of XNNPACK: those in the runtime's option map, and the threads, for which it has no key.
class Options {
 public:
  // Throws Failure for what this program cannot bring into force.
  explicit Options(const Fields& options) {
    for (const auto& [path, values] : options) {
      if (values.size() != 1 || values[0].kind != ValueKind::None) set(path, one(options, path.c_str()));
    }
    check("options", map_.set_options(kXnnpack.data(), {values_.data(), values_.size()}));
  }
  Options(const Options&) = delete;
  Options& operator=(const Options&) = delete;

  const rt::LoadBackendOptionsMap* map() const { return &map_; }
  bool is_single_threaded() const { return is_single_threaded_; }
  std::optional<int64_t> threads() const { return threads_; }

 private:
  void set(const std::string& path, const Scalar& value) {
    if (path == "XnnpackBackend.workspace_sharing_mode" && value.kind == ValueKind::Text) {
      constexpr std::string_view kModes[] = {"disabled", "per_model", "global"};
      const auto* const found = std::find(std::begin(kModes), std::end(kModes), value.text);
      if (found != std::end(kModes)) return pass_on(path, static_cast<int>(found - kModes));
    } else if (path == "XnnpackBackend.weight_cache_enabled" && value.kind == ValueKind::Boolean) {
      return pass_on(path, value.integer != 0);
    } else if (path == "XnnpackBackend.single_threaded" && value.kind == ValueKind::Boolean) {
      is_single_threaded_ = value.integer != 0;
      return;
    } else if (path == "XnnpackBackend.num_threads" && value.integer >= 1 && value.integer <= kMostThreads) {
      threads_ = value.integer;
      return;
    }
    throw Failure{"etrunner cannot bring " + path + " = " + json_text(value) + " into force"};
  }
  template <typename T>
  void pass_on(const std::string& path, T value) {
    std::strcpy(values_.emplace_back().key, path.c_str() + kXnnpack.size() + 1);
    values_.back().value = value;
  }

  std::vector<rt::BackendOption> values_;
  rt::LoadBackendOptionsMap map_;
  bool is_single_threaded_ = false;
  std::optional<int64_t> threads_;
};

constexpr std::pair<ScalarType, std::string_view> kTypes[] = {
    {ScalarType::Byte, "uint8"},     {ScalarType::Char, "int8"},      {ScalarType::Short, "int16"},
    {ScalarType::Int, "int32"},      {ScalarType::Long, "int64"},     {ScalarType::Half, "float16"},
    {ScalarType::Float, "float32"},  {ScalarType::Double, "float64"}, {ScalarType::Bool, "bool"},
    {ScalarType::UInt16, "uint16"},  {ScalarType::UInt32, "uint32"},  {ScalarType::UInt64, "uint64"},
    {ScalarType::BFloat16, "bfloat16"}};

// The name that numpy has for a type; empty if this program sends none such.
inline std::string_view name_of(ScalarType type) {
  for (const auto& [known, name] : kTypes) {
    if (known == type) return name;
  }
  return {};
}

// Calls `visit(position in memory)` for each element, the last dimension fastest.
template <typename Sizes, typename Order, typename Visit>
void visit_elements(const Sizes& sizes, const Order& dim_order, const Visit& visit) {
  std::vector<size_t> strides(sizes.size());
  size_t count = 1;
  for (size_t i = sizes.size(); i-- != 0; count *= static_cast<size_t>(sizes[dim_order[i]])) {
    strides[dim_order[i]] = count;
  }
  std::vector<size_t> at(sizes.size());
  for (size_t element = 0, position = 0; element < count; ++element) {
    visit(position);
    for (size_t i = sizes.size(); i-- != 0; position -= strides[i] * at[i], at[i] = 0) {
      position += strides[i];
      if (++at[i] < static_cast<size_t>(sizes[i])) break;
    }
  }
}

class MeasuredProgram {
 public:
  // Loads the program of a request. Throws Failure if it cannot be loaded so.
  MeasuredProgram(const Fields& request, const Fields& options)
      : method_(one(request, "method").text), options_(options) {
    check_request(request);
    std::vector<std::string> data;
    for (const Scalar& path : request.at("data")) data.emplace_back(path.text);
    const PeakMemory peak;
    const auto start = std::chrono::steady_clock::now();
    module_ = std::make_unique<Module>(std::string(one(request, "model").text), data, Module::LoadMode::Mmap);
    check("open", module_->load(rt::Program::Verification::InternalConsistency));
    meta_.emplace(take("load", module_->method_meta(method_)));
    for (size_t i = 0; i < meta_->num_backends(); ++i) {
      const std::string name = take("load", meta_->get_backend_name(i));
      if (name != kXnnpack) throw Failure{"it delegates to " + name + "; etrunner has only XnnpackBackend"};
    }
    {
      const etconfig::device::XnnpackThreads threads(options_.is_single_threaded(), options_.threads());
      if (!threads.is_ok()) throw Failure{"the thread pool cannot have so many threads"};
      check("load", module_->load_method(method_, nullptr, nullptr, options_.map()));
    }
    place_outputs();
    const std::chrono::duration<double> duration = std::chrono::steady_clock::now() - start;
    loaded_bytes_ = peak.growth();
    resident_bytes_ = peak.resident_growth();
    loaded_ = "{\"load_s\": " + json_text(duration.count()) + ", \"input_names\": [], \"open_inputs\": []";
    for (const auto& [path, values] : options) {
      loaded_ += (path == options.begin()->first ? ", \"options\": {" : ", ") + json_text(path) + ": " +
          json_text(one(options, path.c_str()));
    }
    loaded_ += options.empty() ? ", \"options\": {}}" : "}}";
  }

  // The time that it took, and the options in force.
  const std::string& loaded() const { return loaded_; }

  // Runs once on values, and keeps them; returns the outputs in the same form.
  std::string run(JsonReader* json) {
    inputs_.clear();
    input_bytes_.clear();
    tensors_.clear();
    if (!json->items([&] { return read_input(json); }) || inputs_.size() != meta_->num_inputs()) {
      throw Failure{"expected inputs: " + std::to_string(meta_->num_inputs())};
    }
    const PeakMemory peak;
    const auto outputs = take("execute", module_->execute(method_, inputs_));
    const auto run_bytes = peak.growth();
    if (!has_run_ && loaded_bytes_ && resident_bytes_ && run_bytes) {
      peak_bytes_ = std::max(*loaded_bytes_, *resident_bytes_ + *run_bytes);
    }
    has_run_ = true;
    std::string text = "{\"outputs\": [";
    for (size_t i = 0; i < outputs.size(); ++i) text += (i == 0 ? "" : ", ") + encoded(outputs[i], i);
    return text + "], \"peak_bytes\": " + (peak_bytes_ ? std::to_string(*peak_bytes_) : "null") + "}";
  }

  // Runs a number of times on the same inputs; returns the time of each run in nanoseconds.
  std::string time(int64_t count) {
    if (!has_run_) throw Failure{"run it once, so that there are inputs"};
    std::string text = "[";
    for (int64_t i = 0; i < count; ++i) {
      const auto start = std::chrono::steady_clock::now();
      const auto outputs = module_->execute(method_, inputs_);
      const std::chrono::nanoseconds duration = std::chrono::steady_clock::now() - start;
      check("execute", outputs.error());
      text += (i == 0 ? "" : ", ") + std::to_string(duration.count());
    }
    return text + "]";
  }

 private:
  using Module = executorch::extension::Module;

  static void check_request(const Fields& request) {
    if (one(request, "backend").kind != ValueKind::None) {
      throw Failure{"etrunner runs programs of ExecuTorch, and no models of other engines"};
    }
    if (one(request, "executor").text != "executorch") {
      throw Failure{"etrunner has the executor executorch only: give --executor executorch"};
    }
    if (!request.at("shapes").empty()) throw Failure{"a program says the shapes of its inputs itself"};
    for (const Scalar& each : request.at("overrides")) {
      if (each.text.substr(0, 9) == "executor." && each.text != "executor.libraries=[]") {
        throw Failure{"etrunner loads no libraries: " + std::string(each.text)};
      }
    }
  }

  // Outputs without planned memory get their own.
  void place_outputs() {
    for (size_t i = 0; i < meta_->num_outputs(); ++i) {
      if (take("load", meta_->output_tag(i)) != rt::Tag::Tensor) continue;
      const auto info = take("load", meta_->output_tensor_meta(i));
      if (info.is_memory_planned()) continue;
      auto& bytes = output_bytes_.emplace_back(std::max<size_t>(1, info.nbytes()));
      check("load", module_->set_output(method_, *tensor(info.sizes(), info, bytes.data()), i));
    }
  }

  template <typename Sizes>
  static executorch::extension::TensorPtr tensor(const Sizes& sizes, const rt::TensorInfo& info, void* data) {
    const auto order = info.dim_order();
    return executorch::extension::make_tensor_ptr({sizes.begin(), sizes.end()}, data,
                                                  {order.begin(), order.end()}, {}, info.scalar_type());
  }

  bool read_input(JsonReader* json) {
    Fields fields;
    if (!read_fields(json, &fields) || inputs_.size() == meta_->num_inputs()) return false;
    const Scalar value = one(fields, "value");
    const auto add = [&](ValueKind kind, auto given) {
      if (value.kind != kind) throw Failure{"input " + std::to_string(inputs_.size()) + " has another type"};
      inputs_.emplace_back(given);
      return true;
    };
    switch (take("execute", meta_->input_tag(inputs_.size()))) {
      case rt::Tag::Tensor: add_tensor(fields); return true;
      case rt::Tag::None: return add(ValueKind::None, rt::EValue());
      case rt::Tag::Int: return add(ValueKind::Integer, value.integer);
      case rt::Tag::Double: return add(ValueKind::Number, value.number);
      case rt::Tag::Bool: return add(ValueKind::Boolean, value.integer != 0);
      default: throw Failure{"etrunner takes tensors and numbers as inputs only"};
    }
  }

  void add_tensor(const Fields& fields) {
    const auto info = take("execute", meta_->input_tensor_meta(inputs_.size()));
    const std::string_view dtype = name_of(info.scalar_type());
    const auto sizes = fields.find("shape");
    bool fits = one(fields, "dtype").text == dtype && sizes != fields.end() &&
        sizes->second.size() == info.sizes().size();
    std::vector<int32_t> shape;
    const size_t width = rt::elementSize(info.scalar_type());
    size_t bytes = width;
    for (size_t i = 0; fits && i < info.sizes().size(); ++i) {
      const int64_t size = sizes->second[i].integer;
      fits = size >= 0 && size <= info.sizes()[i];  // the largest that the program allows
      shape.push_back(static_cast<int32_t>(size));
      bytes *= static_cast<size_t>(size);
    }
    const std::vector<uint8_t> given = decode_base64(one(fields, "bytes").text);
    if (!fits || given.size() != bytes) {
      throw Failure{"input " + std::to_string(inputs_.size()) + " is not a tensor of " + std::string(dtype) +
                    " in a shape that the program allows"};
    }
    auto& stored = input_bytes_.emplace_back(std::max<size_t>(1, given.size()));
    const uint8_t* from = given.data();
    visit_elements(shape, info.dim_order(), [&](size_t position) {
      std::memcpy(&stored[position * width], from, width);
      from += width;
    });
    tensors_.push_back(tensor(shape, info, stored.data()));
    inputs_.emplace_back(*tensors_.back());
  }

  static std::string encoded(const rt::EValue& value, size_t index) {
    if (value.isNone()) return "{\"value\": null}";
    if (value.isBool()) return value.toBool() ? "{\"value\": true}" : "{\"value\": false}";
    if (value.isInt()) return "{\"value\": " + std::to_string(value.toInt()) + "}";
    if (value.isDouble()) return "{\"value\": " + json_text(value.toDouble()) + "}";
    const std::string name(value.isTensor() ? name_of(value.toTensor().scalar_type()) : std::string_view());
    if (name.empty()) throw Failure{"output " + std::to_string(index) + " is of a type that cannot be sent"};
    const executorch::aten::Tensor tensor = value.toTensor();
    const size_t width = rt::elementSize(tensor.scalar_type());
    std::vector<uint8_t> bytes(tensor.nbytes());
    uint8_t* to = bytes.data();
    visit_elements(tensor.sizes(), tensor.dim_order(), [&](size_t position) {
      std::memcpy(to, static_cast<const uint8_t*>(tensor.const_data_ptr()) + position * width, width);
      to += width;
    });
    std::string shape;
    for (const auto size : tensor.sizes()) shape += (shape.empty() ? "" : ", ") + std::to_string(size);
    return "{\"dtype\": \"" + name + "\", \"shape\": [" + shape + "], \"order\": \"C\", \"bytes\": \"" +
        encode_base64(bytes) + "\"}";
  }

  std::string method_;
  Options options_;
  std::unique_ptr<Module> module_;
  std::optional<rt::MethodMeta> meta_;
  std::vector<std::vector<uint8_t>> output_bytes_;
  std::vector<std::vector<uint8_t>> input_bytes_;
  std::vector<executorch::extension::TensorPtr> tensors_;
  std::vector<rt::EValue> inputs_;
  std::string loaded_;
  std::optional<int64_t> loaded_bytes_;
  std::optional<int64_t> resident_bytes_;
  std::optional<int64_t> peak_bytes_;
  bool has_run_ = false;
};

}  // namespace etrunner
