// A device of another package: the memory of the host behind PyTorch's PrivateUse1, with an allocator, a guard,
// hooks and copies of its own. Three operators run on it; all others fall back to the CPU.

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <c10/core/Allocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/extension.h>
#include <torch/library.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace {

constexpr c10::DeviceType kNpu = c10::DeviceType::PrivateUse1;
constexpr c10::DeviceIndex kDevices = 2;

thread_local c10::DeviceIndex current_device = 0;
std::vector<std::string> calls;
int64_t live_bytes = 0;

struct Block {
  void* data;
  size_t size;
};

void free_block(void* context) {
  auto* block = static_cast<Block*>(context);
  live_bytes -= static_cast<int64_t>(block->size);
  std::free(block->data);
  delete block;
}

struct NpuAllocator final : c10::Allocator {
  c10::DataPtr allocate(size_t size) override {
    auto* block = new Block{std::malloc(size == 0 ? 1 : size), size};
    live_bytes += static_cast<int64_t>(size);
    return {block->data, block, &free_block, c10::Device(kNpu, current_device)};
  }
  void copy_data(void* target, const void* source, size_t count) const override {
    default_copy_data(target, source, count);
  }
};

NpuAllocator allocator;
REGISTER_ALLOCATOR(kNpu, &allocator);

struct NpuGuard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kNpu; }
  c10::Device exchangeDevice(c10::Device device) const override {
    c10::Device before = getDevice();
    setDevice(device);
    return before;
  }
  c10::Device getDevice() const override { return {kNpu, current_device}; }
  void setDevice(c10::Device device) const override { current_device = device.index(); }
  void uncheckedSetDevice(c10::Device device) const noexcept override { current_device = device.index(); }
  c10::Stream getStream(c10::Device device) const override {
    return c10::Stream(c10::Stream::DEFAULT, device);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override { return getStream(stream.device()); }
  c10::DeviceIndex deviceCount() const noexcept override { return kDevices; }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, NpuGuard);

struct NpuHooks final : at::PrivateUse1HooksInterface {
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  c10::DeviceIndex deviceCount() const override { return kDevices; }
  c10::DeviceIndex getCurrentDevice() const override { return current_device; }
};

c10::DeviceIndex index_of(const std::optional<at::Device>& device) {
  return device.has_value() && device->has_index() ? device->index() : current_device;
}

at::Tensor empty(
    at::IntArrayRef size,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout>,
    std::optional<at::Device> device,
    std::optional<bool>,
    std::optional<at::MemoryFormat> format) {
  c10::DeviceGuard guard(c10::Device(kNpu, index_of(device)));
  return at::detail::empty_generic(
      size, &allocator, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), c10::dtype_or_default(dtype), format);
}

at::Tensor empty_strided(
    at::IntArrayRef size,
    at::IntArrayRef stride,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout>,
    std::optional<at::Device> device,
    std::optional<bool>) {
  c10::DeviceGuard guard(c10::Device(kNpu, index_of(device)));
  return at::detail::empty_strided_generic(
      size, stride, &allocator, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), c10::dtype_or_default(dtype));
}

// A tensor of the CPU over the memory of another.
at::Tensor on_host(const at::Tensor& tensor) {
  return at::from_blob(
      tensor.data_ptr(), tensor.sizes(), tensor.strides(), tensor.options().device(at::kCPU).requires_grad(false));
}

at::Tensor copy_from(const at::Tensor& source, const at::Tensor& target, bool) {
  calls.emplace_back("copy");
  on_host(target).copy_(on_host(source));
  return target;
}

at::Tensor copy_from_and_resize(const at::Tensor& source, const at::Tensor& target) {
  TORCH_CHECK(target.sizes() == source.sizes(), "this device does not resize tensors");
  return copy_from(source, target, false);
}

at::Tensor as_strided(
    const at::Tensor& self, at::IntArrayRef size, at::IntArrayRef stride, std::optional<int64_t> offset) {
  auto result = at::detail::make_tensor<c10::TensorImpl>(
      c10::TensorImpl::VIEW, c10::Storage(self.storage()), self.key_set(), self.dtype());
  result.unsafeGetTensorImpl()->set_storage_offset(offset.value_or(self.storage_offset()));
  result.unsafeGetTensorImpl()->set_sizes_and_strides(size, stride);
  return result;
}

at::Tensor view(const at::Tensor& self, at::IntArrayRef size) {
  return at::native::view(self, size);
}

at::Tensor relu(const at::Tensor& self) {
  calls.emplace_back("relu");
  auto result = at::empty_like(self);
  on_host(result).copy_(at::relu(on_host(self)));
  return result;
}

at::Tensor addmm(
    const at::Tensor& self,
    const at::Tensor& left,
    const at::Tensor& right,
    const at::Scalar& beta,
    const at::Scalar& alpha) {
  calls.emplace_back("addmm");
  auto product = at::addmm(on_host(self), on_host(left), on_host(right), beta, alpha);
  auto result = at::empty(product.sizes(), self.options());
  on_host(result).copy_(product);
  return result;
}

at::Tensor convolution(
    const at::Tensor& input,
    const at::Tensor& weight,
    const std::optional<at::Tensor>& bias,
    at::IntArrayRef stride,
    at::IntArrayRef padding,
    at::IntArrayRef dilation,
    bool is_transposed,
    at::IntArrayRef output_padding,
    int64_t groups) {
  calls.emplace_back("convolution");
  auto on_host_bias = bias.has_value() && bias->defined() ? on_host(*bias) : at::Tensor();
  auto computed = at::convolution(
      on_host(input), on_host(weight), on_host_bias, stride, padding, dilation, is_transposed, output_padding, groups);
  auto result = at::empty(computed.sizes(), input.options());
  on_host(result).copy_(computed);
  return result;
}

void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  calls.emplace_back("cpu:" + op.schema().name());
  at::native::cpu_fallback(op, stack);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &empty);
  m.impl("empty_strided", &empty_strided);
  m.impl("_copy_from", &copy_from);
  m.impl("_copy_from_and_resize", &copy_from_and_resize);
  m.impl("as_strided", &as_strided);
  m.impl("view", &view);
  m.impl("relu", &relu);
  m.impl("addmm", &addmm);
  m.impl("convolution_overrideable", &convolution);
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>());
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  at::RegisterPrivateUse1HooksInterface(new NpuHooks());
  m.def("calls", [] { return calls; });
  m.def("forget_calls", [] { calls.clear(); });
  m.def("live_bytes", [] { return live_bytes; });
  m.def("device_count", [] { return static_cast<int>(kDevices); });
  m.def("current_device", [] { return static_cast<int>(current_device); });
}
