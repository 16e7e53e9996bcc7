// The functions that etconfig calls. Everything else is ordinary C++, with exceptions: `guarded` stops them here.
#include "etconfig/backend.h"

#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "device.h"

namespace example_cpp {

namespace {

// The lowest minor version of the interface that this library needs.
constexpr uint32_t kMinor = 0;

void write(EtconfigMessage* message, const std::string& text) {
  if (message->capacity > 0) {
    const size_t size = text.size() < message->capacity ? text.size() : message->capacity - 1;
    std::memcpy(message->text, text.data(), size);
    message->text[size] = '\0';
  }
}

template <typename Function>
EtconfigStatus guarded(EtconfigMessage* error, Function function) noexcept {
  try {
    function();
    return ETCONFIG_OK;
  } catch (const Failure& failure) {
    write(error, failure.what());
    return failure.status;
  } catch (const std::bad_alloc&) {
    return ETCONFIG_MEMORY_ALLOCATION_FAILED;
  } catch (const std::exception& exception) {
    write(error, exception.what());
    return ETCONFIG_INTERNAL;
  } catch (...) {
    write(error, "an exception of an unknown type");
    return ETCONFIG_INTERNAL;
  }
}

// The options of src/example_cpp/options.py, which etconfig has validated.
struct Options {
  size_t tile_bytes = 0;
  size_t num_threads = 0;
};

Options read_options(const EtconfigOption* options, size_t count) {
  Options result;
  for (size_t i = 0; i < count; ++i) {
    const std::string name = options[i].name;
    const auto value = static_cast<size_t>(options[i].value.as.integer);
    if (name == "tile_bytes") {
      result.tile_bytes = value;
    } else if (name == "num_threads") {
      result.num_threads = value;
    }
  }
  return result;
}

// One loaded delegate. All of its state is here: the library has no variables.
struct Handle {
  DeviceProgram program;
  Options options;
};

float* tensor_data(const EtconfigRun& run, size_t index, const Shape& shape) {
  const EtconfigValue& value = run.values[index];
  if (value.kind == ETCONFIG_KIND_TENSOR && value.as.tensor->dtype == ETCONFIG_FLOAT) {
    const EtconfigTensor& tensor = *value.as.tensor;
    if (Shape(tensor.sizes, tensor.sizes + tensor.rank) == shape) {
      return static_cast<float*>(tensor.data);
    }
  }
  throw Failure(ETCONFIG_INVALID_ARGUMENT,
                "argument " + std::to_string(index) + " is not the float32 " + to_text(shape) + " of the payload");
}

EtconfigStatus availability(EtconfigMessage* reason, EtconfigMessage* fix) {
  // With a real device, report what is missing and what to do about it:
  // write(reason, "there is no /dev/example-cpp"); write(fix, "load the driver example_cpp"); return ETCONFIG_NOT_FOUND;
  (void)reason;
  (void)fix;
  return ETCONFIG_OK;
}

EtconfigStatus init(const EtconfigInit* request, void** resource_handle, EtconfigMessage* error) {
  return guarded(error, [&] {
    if (request->compile_spec_count > 0) {
      throw Failure(ETCONFIG_INVALID_PROGRAM, std::string("unknown compile spec '") +
                                                  request->compile_specs[0].key + "'; the backend has none");
    }
    DeviceProgram program(read_graph(request->payload, request->payload_size));
    request->services->release_payload(request->services->context);
    *resource_handle = new Handle{std::move(program), read_options(request->options, request->option_count)};
  });
}

EtconfigStatus run(void* resource_handle, const EtconfigRun* call, EtconfigMessage* error) {
  return guarded(error, [&] {
    const auto& handle = *static_cast<const Handle*>(resource_handle);
    const Graph& graph = handle.program.graph();
    const size_t expected = graph.inputs.size() + graph.outputs.size();
    if (call->value_count != expected) {
      throw Failure(ETCONFIG_INVALID_ARGUMENT, "the payload takes " + std::to_string(expected) +
                                                   " arguments, given " + std::to_string(call->value_count));
    }
    std::vector<const float*> inputs;
    std::vector<float*> outputs;
    size_t index = 0;
    for (const auto value : graph.inputs) inputs.push_back(tensor_data(*call, index++, graph.shapes[value]));
    for (const auto value : graph.outputs) outputs.push_back(tensor_data(*call, index++, graph.shapes[value]));
    const Options options = read_options(call->options, call->option_count);
    handle.program.run(inputs, outputs, *call->services, options.tile_bytes, options.num_threads);
  });
}

EtconfigStatus update(void* resource_handle, const EtconfigOption* options, size_t count, EtconfigMessage* error) {
  return guarded(error, [&] { static_cast<Handle*>(resource_handle)->options = read_options(options, count); });
}

void set_integer(EtconfigOption& option, size_t value) {
  option.value.kind = ETCONFIG_KIND_INTEGER;
  option.value.as.integer = static_cast<int64_t>(value);
}

// An option that is not reported keeps the kind NONE.
EtconfigStatus effective_options(void* resource_handle, EtconfigOption* options, size_t count,
                                 EtconfigMessage* error) {
  return guarded(error, [&] {
    const Options& used = static_cast<const Handle*>(resource_handle)->options;
    for (size_t i = 0; i < count; ++i) {
      const std::string name = options[i].name;
      if (name == "tile_bytes") {
        set_integer(options[i], used.tile_bytes);
      } else if (name == "num_threads") {
        set_integer(options[i], used.num_threads);
      }
    }
  });
}

void destroy(void* resource_handle) { delete static_cast<Handle*>(resource_handle); }

const EtconfigBackend kBackend = {
    sizeof(EtconfigBackend), ETCONFIG_ABI_MAJOR, kMinor, &availability, &init, &run, &update, &effective_options,
    &destroy,
};

}  // namespace

}  // namespace example_cpp

const EtconfigBackend* etconfig_backend(const EtconfigHost* host, const char* backend_id, EtconfigMessage* error) {
  if (!etconfig_accepts_host(host, example_cpp::kMinor)) {
    example_cpp::write(error, "it needs version " + std::to_string(ETCONFIG_ABI_MAJOR) + "." +
                                  std::to_string(example_cpp::kMinor) + " of the interface; update etconfig");
    return nullptr;
  }
  if (std::strcmp(backend_id, "ExampleCppBackend") != 0) {
    example_cpp::write(error, "it has no backend of this id, only ExampleCppBackend");
    return nullptr;
  }
  return &example_cpp::kBackend;
}
