#include "graph.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "etconfig/backend.h"

namespace example_cpp {

namespace {

constexpr char kMagic[] = "ECPP";
constexpr uint32_t kFormatVersion = 1;
constexpr size_t kHeaderBytes = 12;
constexpr uint32_t kMaxRank = 8;
constexpr size_t kMaxElements = size_t{1} << 38;

[[noreturn]] void refuse(const std::string& text) { throw Failure(ETCONFIG_INVALID_PROGRAM, text); }

uint32_t number_at(const unsigned char* at) {
  return at[0] | uint32_t{at[1]} << 8 | uint32_t{at[2]} << 16 | uint32_t{at[3]} << 24;
}

uint32_t crc32(const unsigned char* data, size_t size) {
  uint32_t crc = 0xFFFFFFFFu;
  for (size_t i = 0; i < size; ++i) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; ++bit) {
      crc = crc >> 1 ^ (0xEDB88320u & (0u - (crc & 1u)));
    }
  }
  return ~crc;
}

// Reads numbers one after another; never beyond the end.
class Reader {
 public:
  Reader(const unsigned char* data, size_t size) : at_(data), left_(size) {}

  uint32_t number() {
    if (left_ < sizeof(uint32_t)) {
      refuse("the payload ends within its graph");
    }
    const uint32_t value = number_at(at_);
    at_ += sizeof(uint32_t);
    left_ -= sizeof(uint32_t);
    return value;
  }

  // A number of things of which each takes at least four bytes, so that a wrong one cannot take all memory.
  uint32_t count() {
    const uint32_t value = number();
    if (value > left_ / sizeof(uint32_t)) {
      refuse("the payload is too short for its " + std::to_string(value) + " entries");
    }
    return value;
  }

  std::vector<uint32_t> numbers(uint32_t count) {
    std::vector<uint32_t> result;
    for (uint32_t i = 0; i < count; ++i) {
      result.push_back(number());
    }
    return result;
  }

  const unsigned char* rest() const { return at_; }
  size_t left() const { return left_; }

 private:
  const unsigned char* at_;
  size_t left_;
};

Shape read_shape(Reader& reader) {
  const uint32_t rank = reader.number();
  if (rank > kMaxRank) {
    refuse("a value has " + std::to_string(rank) + " dimensions, more than " + std::to_string(kMaxRank));
  }
  Shape shape;
  size_t elements = 1;
  for (uint32_t i = 0; i < rank; ++i) {
    const uint32_t size = reader.number();
    if (size == 0 || size > uint32_t{std::numeric_limits<int32_t>::max()} || elements > kMaxElements / size) {
      refuse("a value has a dimension of " + std::to_string(size));
    }
    elements *= size;
    shape.push_back(static_cast<int32_t>(size));
  }
  return shape;
}

Shape broadcast(const Shape& a, const Shape& b) {
  Shape result(std::max(a.size(), b.size()));
  for (size_t i = 0; i < result.size(); ++i) {
    const int32_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int32_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) {
      refuse(to_text(a) + " and " + to_text(b) + " cannot be broadcast");
    }
    result[result.size() - 1 - i] = x == 1 ? y : x;
  }
  return result;
}

Shape linear(const std::vector<Shape>& inputs) {
  const Shape &x = inputs[0], &weight = inputs[1];
  if (x.empty() || weight.size() != 2 || x.back() != weight[1]) {
    refuse("linear cannot multiply " + to_text(x) + " with a weight of " + to_text(weight));
  }
  if (inputs.size() == 3 && inputs[2] != Shape{weight[0]}) {
    refuse("linear with a weight of " + to_text(weight) + " cannot add a bias of " + to_text(inputs[2]));
  }
  Shape result(x);
  result.back() = weight[0];
  return result;
}

Shape shape_of_result(Operation operation, const std::vector<Shape>& inputs) {
  const size_t count = inputs.size();
  switch (operation) {
    case Operation::Add:
    case Operation::Mul:
    case Operation::Sub:
      if (count == 2) return broadcast(inputs[0], inputs[1]);
      break;
    case Operation::Relu:
      if (count == 1) return inputs[0];
      break;
    case Operation::Linear:
      if (count == 2 || count == 3) return linear(inputs);
      break;
    default:
      refuse("there is no operation " + std::to_string(static_cast<uint32_t>(operation)));
  }
  refuse("operation " + std::to_string(static_cast<uint32_t>(operation)) + " does not take " +
         std::to_string(count) + " inputs");
}

// Checks that each value is defined once, before it is used, and has the shape that its operation computes.
class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph), is_defined_(graph.shapes.size()) {}

  void verify() {
    for (const auto value : graph_.inputs) define(value);
    for (const auto value : graph_.constants) define(value);
    for (const auto& step : graph_.steps) {
      std::vector<Shape> inputs;
      for (const auto value : step.inputs) {
        use(value);
        inputs.push_back(graph_.shapes[value]);
      }
      define(step.output);
      const Shape shape = shape_of_result(step.operation, inputs);
      if (shape != graph_.shapes[step.output]) {
        refuse("a step computes " + to_text(shape) + ", not " + to_text(graph_.shapes[step.output]));
      }
    }
    for (const auto value : graph_.outputs) use(value);
  }

 private:
  void define(uint32_t value) {
    if (value >= is_defined_.size() || is_defined_[value]) {
      refuse(std::to_string(value) + " is not a value, or is already defined");
    }
    is_defined_[value] = true;
  }

  void use(uint32_t value) const {
    if (value >= is_defined_.size() || !is_defined_[value]) {
      refuse("value " + std::to_string(value) + " is used before it is computed");
    }
  }

  const Graph& graph_;
  std::vector<bool> is_defined_;
};

void check_header(const unsigned char* data, size_t size) {
  if (size < kHeaderBytes || std::memcmp(data, kMagic, 4) != 0) {
    refuse("a payload of example-cpp begins with ECPP, this one does not");
  }
  const uint32_t version = number_at(data + 4);
  if (version != kFormatVersion) {
    throw Failure(ETCONFIG_DELEGATE_INVALID_COMPATIBILITY,
                  "the payload has format version " + std::to_string(version) + ", this example-cpp reads " +
                      std::to_string(kFormatVersion) +
                      (version > kFormatVersion ? "; update example-cpp" : "; export the program again"));
  }
  if (crc32(data + kHeaderBytes, size - kHeaderBytes) != number_at(data + 8)) {
    refuse("the payload is damaged: its checksum does not match; export it again");
  }
}

Step read_step(Reader& reader) {
  const auto operation = static_cast<Operation>(reader.number());
  const uint32_t count = reader.count();
  auto inputs = reader.numbers(count);
  return {operation, std::move(inputs), reader.number()};
}

void check_constants(const Graph& graph, size_t size) {
  size_t expected = 0;
  for (const auto value : graph.constants) {
    expected += count_of(graph.shapes[value]) * sizeof(float);
  }
  if (expected != size) {
    refuse("the constants take " + std::to_string(expected) + " bytes, the payload has " + std::to_string(size));
  }
}

}  // namespace

size_t count_of(const Shape& shape) {
  size_t count = 1;
  for (const auto size : shape) {
    count *= static_cast<size_t>(size);
  }
  return count;
}

std::string to_text(const Shape& shape) {
  std::string text = "[";
  for (const auto size : shape) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  }
  return text + "]";
}

Graph read_graph(const void* payload, size_t size) {
  const auto* data = static_cast<const unsigned char*>(payload);
  check_header(data, size);
  Reader reader(data + kHeaderBytes, size - kHeaderBytes);
  uint32_t counts[5];
  for (auto& count : counts) {
    count = reader.count();
  }
  Graph graph;
  for (uint32_t i = 0; i < counts[0]; ++i) {
    graph.shapes.push_back(read_shape(reader));
  }
  graph.inputs = reader.numbers(counts[1]);
  graph.constants = reader.numbers(counts[2]);
  for (uint32_t i = 0; i < counts[3]; ++i) {
    graph.steps.push_back(read_step(reader));
  }
  graph.outputs = reader.numbers(counts[4]);
  graph.data = reader.rest();
  Verifier(graph).verify();
  check_constants(graph, reader.left());
  return graph;
}

}  // namespace example_cpp
