#include "xnnpack_payload.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "flat_buffer.h"
#include "program.h"

namespace etconfig {

namespace {

constexpr uint32_t kInvalidId = UINT32_MAX;
constexpr size_t kMaxRank = 6;  // XNN_MAX_TENSOR_DIMS
constexpr uint32_t kExternalInput = 1;
constexpr uint32_t kExternalOutput = 2;
constexpr uint64_t kMostElements = uint64_t{1} << 40;

// Slots of the fields that are used here. Source: backends/xnnpack/serialization/runtime_schema.fbs.
enum Graph : size_t { kNodes = 1, kValues = 2, kNumExterns = 3, kConstantBuffer = 6, kConstantData = 8 };
enum Value : size_t { kDatatype = 0, kDims = 2, kConstant = 3, kExternalId = 4, kFlags = 5, kIdOut = 6, kDynamic = 7 };
enum Quantization : uint8_t { kPerChannel = 1, kPerTensor = 2, kPerToken = 3, kPerChannelGroup = 4 };

// The kinds of nodes whose parameters are read with a size that something else determines.
enum Node : uint8_t {
  kFullyConnected = 2,
  kStaticTranspose = 5,
  kConv2d = 7,
  kConstantPad = 10,
  kDepthwiseConv2d = 13,
  kStaticReshape = 20,
  kPReLU = 31,
  kConcatenate2 = 32,
  kStaticSlice = 35,
  kConvTranspose2d = 39,
  kLastNode = 47,
};

struct Shape {
  std::vector<uint64_t> dims;
  uint64_t elements = 1;
  bool is_constant = false;
  // It has its contents: a constant, an input, or the output of a node before the current one.
  bool is_written = false;
};

// One tensor that the delegate is called with: its position among the arguments, whether it is an input, the number
// of its datatype and its rank.
using External = std::tuple<uint32_t, bool, int, size_t>;

// The text without bytes that no message may contain.
std::string printable(std::string_view text) {
  std::string shown(text.substr(0, 80));
  for (char& each : shown) {
    if (each < ' ' || each > '~') {
      each = '?';
    }
  }
  return shown;
}

size_t bits_of(int datatype) {
  switch (datatype) {
    case 1:   // fp32
    case 5:   // qint32
    case 7:   // qcint32
    case 12:  // int32
    case 13:  // pfp32
      return 32;
    case 2:   // fp16
    case 14:  // bf16
      return 16;
    case 3:   // qint8
    case 4:   // quint8
    case 6:   // qcint8
    case 9:   // qdint8
    case 11:  // qpint8
      return 8;
    case 8:   // qcint4
    case 10:  // qbint4
      return 4;
    default:
      throw DamagedError("a value has the unknown datatype " + std::to_string(datatype));
  }
}

class Payload {
 public:
  // `size_of` returns the size of the program's named data of a key, or nothing if there is none.
  Payload(const uint8_t* data, size_t size, std::function<std::optional<uint64_t>(std::string_view)> size_of)
      : size_of_(std::move(size_of)), graph_data_(graph_part(data, size)) {}

  std::vector<External> verify() {
    const uint8_t* version = graph_data_.need(4, 4);
    if (std::memcmp(version, "XN00", 4) != 0 && std::memcmp(version, "XN01", 4) != 0) {
      return {};  // ExecuTorch refuses any other version, with a code of its own
    }
    const FlatTable graph(graph_data_, graph_data_.follow(0));
    constant_buffer_ = graph.vector(kConstantBuffer, 4);
    constant_data_ = graph.vector(kConstantData, 4);
    const FlatVector values = graph.vector(kValues, 4, "values");
    const FlatVector nodes = graph.vector(kNodes, 4, "nodes");
    const uint32_t externs = graph.number<uint32_t>(kNumExterns);
    for (size_t i = 0; i < values.size(); ++i) {
      verify_value(FlatTable(graph_data_, values.table(i)), externs);
    }
    for (size_t i = 0; i < nodes.size(); ++i) {
      const FlatTable node(graph_data_, nodes.table(i));
      const auto kind = node.number<uint8_t>(0);
      if (kind == 0 || kind > kLastNode) {
        throw DamagedError("a node has the unknown kind " + std::to_string(kind));
      }
      verify_node(kind, node.table(1, "node"));
    }
    return externals_;
  }

 private:
  // The tables: behind a header, or the whole payload of older exporters.
  FlatBuffer graph_part(const uint8_t* data, size_t size) {
    const FlatBuffer whole(data, size);
    if (std::memcmp(whole.need(4, 4), "XH00", 4) != 0) {
      return whole;
    }
    const auto graph_offset = whole.number<uint32_t>(10);
    const auto graph_size = whole.number<uint32_t>(14);
    const auto constants_offset = whole.number<uint32_t>(18);
    has_constants_ = true;
    constants_size_ = whole.number<uint64_t>(22);
    whole.need(constants_offset, constants_size_);
    return FlatBuffer(whole.need(graph_offset, graph_size), graph_size);
  }

  // The bytes of a constant. Index 0 means none.
  uint64_t constant_bytes(uint32_t index) const {
    if (!has_constants_) {
      if (!constant_buffer_ || index >= constant_buffer_->size()) {
        throw DamagedError("there is no constant " + std::to_string(index));
      }
      return FlatTable(graph_data_, constant_buffer_->table(index)).vector(0, 1, "constant").size();
    }
    if (!constant_data_ || index >= constant_data_->size()) {
      throw DamagedError("there is no constant " + std::to_string(index));
    }
    const FlatTable entry(graph_data_, constant_data_->table(index));
    if (entry.has(2)) {
      const std::string_view key = entry.text(2, "key");
      const auto size = size_of_(key);
      if (!size) {
        throw DamagedError("the program has no data named '" + printable(key) + "'");
      }
      return *size;
    }
    const auto offset = entry.number<uint64_t>(0);
    const auto size = entry.number<uint64_t>(1);
    if (offset > constants_size_ || size > constants_size_ - offset) {
      throw DamagedError("constant " + std::to_string(index) + " ends behind the payload");
    }
    // ExecuTorch's older exporters wrote no sizes.
    return entry.has(1) ? size : constants_size_ - offset;
  }

  void need_constant(uint32_t index, uint64_t bytes, const std::string& what) const {
    const uint64_t available = constant_bytes(index);
    if (available < bytes) {
      throw DamagedError(what + " takes " + std::to_string(bytes) + " bytes, and constant " + std::to_string(index) +
                         " has " + std::to_string(available));
    }
  }

  void verify_value(const FlatTable& value, uint32_t externs) {
    const auto kind = value.number<uint8_t>(0);
    const FlatTable inner = value.table(1, "value");
    if (kind == 1) {
      verify_tensor(inner, externs);
    } else if (kind == 2) {
      const FlatTable tensor = inner.table(0, "tensor");
      const Shape& shape = verify_tensor(tensor, externs);
      verify_quantization(inner, shape);
    } else {
      throw DamagedError("a value has the unknown kind " + std::to_string(kind));
    }
  }

  const Shape& verify_tensor(const FlatTable& tensor, uint32_t externs) {
    Shape shape;
    if (const auto dims = tensor.vector(kDims, 4)) {
      for (size_t i = 0; i < dims->size(); ++i) {
        const auto dim = dims->number<uint32_t>(i);
        shape.dims.push_back(dim);
        if (dim != 0 && shape.elements > kMostElements / dim) {
          throw DamagedError("a value has too many elements");
        }
        shape.elements *= dim;
      }
    }
    if (shape.dims.size() > kMaxRank) {
      throw DamagedError("a value has " + std::to_string(shape.dims.size()) + " dimensions, at most 6 are supported");
    }
    const int datatype = tensor.number<int16_t>(kDatatype);
    const auto bits = bits_of(datatype);
    const auto id = tensor.number<uint32_t>(kIdOut);
    if (const auto index = tensor.number<uint32_t>(kConstant)) {
      shape.is_constant = shape.is_written = true;
      // two numbers of 4 bits share a byte, and each row starts with one
      const uint64_t last = shape.dims.empty() ? 1 : shape.dims.back();
      const uint64_t rows = last == 0 ? 0 : shape.elements / last;
      need_constant(index, bits == 4 ? rows * ((last + 1) / 2) : shape.elements * bits / 8,
                    "value " + std::to_string(id));
    }
    verify_external(tensor, shape, externs, datatype);
    shape.is_written = shape.is_written || (tensor.number<uint32_t>(kFlags) & kExternalInput) != 0;
    const auto [place, is_new] = shapes_.emplace(id, std::move(shape));
    if (!is_new || id == kInvalidId) {
      throw DamagedError("two values have the id " + std::to_string(id));
    }
    return place->second;
  }

  void verify_external(const FlatTable& tensor, const Shape& shape, uint32_t externs, int datatype) {
    const auto flags = tensor.number<uint32_t>(kFlags);
    const auto external = tensor.number<uint32_t>(kExternalId);
    if ((flags & ~(kExternalInput | kExternalOutput)) != 0) {
      throw DamagedError("a value has unknown flags");
    }
    if (flags == 0) {
      if (external != kInvalidId && external >= externs) {
        throw DamagedError("external id " + std::to_string(external) + " is not below " + std::to_string(externs));
      }
      return;
    }
    if (external >= externs) {
      throw DamagedError("external id " + std::to_string(external) + " is not below " + std::to_string(externs));
    }
    if (shape.is_constant) {
      throw DamagedError("a constant is an argument, too");
    }
    externals_.emplace_back(external, (flags & kExternalInput) != 0, datatype, shape.dims.size());
  }

  void verify_quantization(const FlatTable& value, const Shape& shape) {
    const auto kind = value.number<uint8_t>(1);
    const FlatTable parameters = value.table(2, "quantization");
    if (kind == kPerChannel) {
      const auto channel = parameters.number<int32_t>(1);
      if (channel < 0 || static_cast<size_t>(channel) >= shape.dims.size()) {
        throw DamagedError("channel_dim " + std::to_string(channel) + " is not a dimension");
      }
      need_scales(parameters, 2, shape.dims[static_cast<size_t>(channel)], 4);
    } else if (kind == kPerChannelGroup) {
      const auto group = parameters.number<int32_t>(2);
      if (shape.dims.size() < 2 || group <= 0) {
        throw DamagedError("groups of " + std::to_string(group) + " in a value of rank " +
                           std::to_string(shape.dims.size()));
      }
      const uint64_t groups = (shape.dims[1] + static_cast<uint64_t>(group) - 1) / static_cast<uint64_t>(group);
      need_scales(parameters, 4, shape.dims[0] * groups, 2);
    } else if (kind == kPerToken) {
      const auto rank = parameters.number<int32_t>(0);
      if (rank < 0 || static_cast<size_t>(rank) > shape.dims.size()) {
        throw DamagedError("num_nonbatch_dims " + std::to_string(rank) + " exceeds the rank");
      }
    } else if (kind != kPerTensor) {
      throw DamagedError("unknown quantization " + std::to_string(kind));
    }
  }

  // Scales are in the tables as float32, or in a constant with items of `item_bytes`.
  void need_scales(const FlatTable& parameters, size_t constant_slot, uint64_t count, uint64_t item_bytes) const {
    const FlatVector inside = parameters.vector(0, 4, "scales");
    if (const auto index = parameters.number<uint32_t>(constant_slot)) {
      need_constant(index, count * item_bytes, "the scales");
    } else if (inside.size() < count) {
      throw DamagedError(std::to_string(count) + " scales are needed, and there are " + std::to_string(inside.size()));
    }
  }

  void verify_node(uint8_t kind, const FlatTable& node) {
    switch (kind) {
      case kFullyConnected:
        return verify_linear(node);
      case kConv2d:
      case kDepthwiseConv2d:
      case kConvTranspose2d:
        return verify_convolution(node);
      case kStaticTranspose:
        need_numbers(node, 1, node.number<uint32_t>(0), "permutation");
        return verify_ids(node, {2}, {3});
      case kStaticReshape:
        need_numbers(node, 1, node.number<uint32_t>(0), "shape");
        return verify_ids(node, {2}, {3});
      case kStaticSlice:
        need_numbers(node, 1, node.number<uint32_t>(0), "offsets");
        need_numbers(node, 2, node.number<uint32_t>(0), "sizes");
        return verify_ids(node, {3}, {4});
      case kConstantPad: {
        const Shape& input = shape(node.number<uint32_t>(3));
        need_numbers(node, 0, input.dims.size(), "padding");
        need_numbers(node, 1, input.dims.size(), "padding");
        return verify_ids(node, {3}, {4});
      }
      default:
        return verify_other(kind, node);
    }
  }

  void verify_other(uint8_t kind, const FlatTable& node) {
    switch (kind) {
      case 1: case 8: case 12: case 15: case 16: case 26: case 31: case 37:  // two inputs
        return verify_ids(node, {0, 1}, {2});
      case 32:
        return verify_ids(node, {1, 2}, {5});
      case 33:
        return verify_ids(node, {1, 2, 3}, {5});
      case 34:
        return verify_ids(node, {1, 2, 3, 4}, {5});
      case 38:
        return verify_ids(node, {1, 2, 3, 4, 7}, {5});
      case 9:  // resize
        return verify_ids(node, {2}, {3});
      case 11: case 14:  // pooling
        return verify_ids(node, {10}, {11});
      case 21:  // arg max
        return verify_ids(node, {6}, {7, 8});
      case 25: case 29:  // with a number before the ids
        return verify_ids(node, {1}, {2});
      case 36:  // attention
        return verify_ids(node, {0, 1, 2, 3, 4}, {5});
      default:
        return verify_ids(node, {0}, {1});
    }
  }

  // Nodes read what constants, inputs and nodes before them wrote, and write each value once: XNNPACK follows values
  // from node to node without a look at circles.
  void verify_ids(const FlatTable& node, std::initializer_list<size_t> inputs, std::initializer_list<size_t> outputs) {
    for (const size_t slot : inputs) {
      const auto id = node.number<uint32_t>(slot);
      if (!shape(id).is_written) {
        throw DamagedError("a node reads value " + std::to_string(id) + " before a node writes it");
      }
    }
    for (const size_t slot : outputs) {
      const auto id = node.number<uint32_t>(slot);
      if (std::exchange(shape(id).is_written, true)) {
        throw DamagedError("a node writes value " + std::to_string(id) + ", which has its contents already");
      }
    }
  }

  Shape& shape(uint32_t id) {
    const auto found = shapes_.find(id);
    if (found == shapes_.end()) {
      throw DamagedError("a node uses value " + std::to_string(id) + ", which there is not");
    }
    return found->second;
  }

  void need_numbers(const FlatTable& node, size_t slot, size_t count, const char* name) const {
    if (count > kMaxRank || node.vector(slot, 4, name).size() < count) {
      throw DamagedError(std::string("a node has no ") + name + " for each of " + std::to_string(count) +
                         " dimensions");
    }
  }

  void verify_linear(const FlatTable& node) {
    const Shape& filter = shape(node.number<uint32_t>(1));
    verify_ids(node, {0, 1}, {3});
    if (filter.dims.size() != 2) {
      throw DamagedError("the weights of a linear layer have " + std::to_string(filter.dims.size()) + " dimensions");
    }
    const bool is_transposed = (node.number<uint32_t>(4) & 1) != 0;
    verify_bias(node.number<uint32_t>(2), filter.dims[is_transposed ? 1 : 0]);
  }

  void verify_bias(uint32_t id, uint64_t channels) {
    if (id == kInvalidId) {
      return;
    }
    if (!shape(id).is_written) {
      throw DamagedError("a node reads value " + std::to_string(id) + " before a node writes it");
    }
    if (shape(id).elements < channels) {
      throw DamagedError("a bias has " + std::to_string(shape(id).elements) + " elements for " +
                         std::to_string(channels) + " channels");
    }
  }

  void verify_convolution(const FlatTable& node) {
    verify_ids(node, {15, 16}, {18});
    uint64_t needed = 1;
    for (const size_t slot : {4, 5, 10, 11, 12}) {  // kernel, channels per group, groups
      const uint64_t factor = node.number<uint32_t>(slot);
      if (factor == 0 || needed > kMostElements / factor) {
        throw DamagedError("a convolution has a kernel of no size, or too large a one");
      }
      needed *= factor;
    }
    const Shape& filter = shape(node.number<uint32_t>(16));
    if (filter.elements < needed) {
      throw DamagedError("a convolution needs " + std::to_string(needed) + " weights, and has " +
                         std::to_string(filter.elements));
    }
    verify_bias(node.number<uint32_t>(17),
                static_cast<uint64_t>(node.number<uint32_t>(11)) * node.number<uint32_t>(12));
  }

  std::function<std::optional<uint64_t>(std::string_view)> size_of_;
  bool has_constants_ = false;
  uint64_t constants_size_ = 0;
  FlatBuffer graph_data_;
  std::optional<FlatVector> constant_buffer_;
  std::optional<FlatVector> constant_data_;
  std::unordered_map<uint32_t, Shape> shapes_;
  std::vector<External> externals_;
};

}  // namespace

void bind_xnnpack_payload(nb::module_& module) {
  nb::exception<DamagedError>(module, "DamagedError", PyExc_ValueError);
  module.def(
      "xnnpack_externals",
      [](nb::handle payload, nb::callable size_of) {
        const Bytes bytes(payload);
        const auto named = [&](std::string_view key) {
          return nb::cast<std::optional<uint64_t>>(size_of(nb::bytes(key.data(), key.size())));
        };
        return Payload(static_cast<const uint8_t*>(bytes.data()), bytes.size(), named).verify();
      },
      nb::arg("payload"), nb::arg("size_of"));
}

}  // namespace etconfig
