// A graph, read from a payload and verified.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace example_cpp {

// An error of ExecuTorch, with a text for the user.
class Failure : public std::runtime_error {
 public:
  Failure(int32_t status, const std::string& text) : std::runtime_error(text), status(status) {}

  int32_t status;
};

using Shape = std::vector<int32_t>;

// The number of elements.
size_t count_of(const Shape& shape);

// As in an error text: [2, 3].
std::string to_text(const Shape& shape);

enum class Operation : uint32_t { Add = 0, Linear = 1, Mul = 2, Relu = 3, Sub = 4 };

struct Step {
  Operation operation;
  std::vector<uint32_t> inputs;
  uint32_t output;
};

// The computation of one delegate. A value is an index into `shapes`.
struct Graph {
  std::vector<Shape> shapes;
  std::vector<uint32_t> inputs;
  std::vector<uint32_t> constants;
  std::vector<Step> steps;
  std::vector<uint32_t> outputs;
  const unsigned char* data;  // the constants, one after another; in the payload, and not aligned
};

// Read a payload; src/example_cpp/payload.py describes the format. Throws Failure if it cannot be used.
Graph read_graph(const void* payload, size_t size);

}  // namespace example_cpp
