#include "device.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace example_cpp {

namespace {

constexpr size_t kAlignment = 64;

float* allocate(const EtconfigServices& services, size_t count) {
  void* memory = services.allocate(services.context, count * sizeof(float), kAlignment);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return static_cast<float*>(memory);
}

// How far to move in an operand for one step in each dimension of the result; 0 where it is broadcast.
std::vector<size_t> steps_of(const Shape& operand, const Shape& result) {
  std::vector<size_t> steps(result.size(), 0);
  size_t step = 1;
  for (size_t i = 0; i < operand.size(); ++i) {
    const size_t in_operand = operand.size() - 1 - i, in_result = result.size() - 1 - i;
    steps[in_result] = operand[in_operand] == 1 ? 0 : step;
    step *= static_cast<size_t>(operand[in_operand]);
  }
  return steps;
}

template <typename Function>
void elementwise(const float* a, const Shape& a_shape, const float* b, const Shape& b_shape, float* result,
                 const Shape& shape, Function function) {
  const auto a_steps = steps_of(a_shape, shape), b_steps = steps_of(b_shape, shape);
  std::vector<int32_t> at(shape.size(), 0);
  const size_t count = count_of(shape);
  for (size_t i = 0, x = 0, y = 0; i < count; ++i) {
    result[i] = function(a[x], b[y]);
    for (size_t d = shape.size(); d-- > 0;) {
      x += a_steps[d];
      y += b_steps[d];
      if (++at[d] < shape[d]) {
        break;
      }
      at[d] = 0;
      x -= a_steps[d] * static_cast<size_t>(shape[d]);
      y -= b_steps[d] * static_cast<size_t>(shape[d]);
    }
  }
}

// A linear layer, which several threads compute by tiles of its rows.
struct Linear {
  const float* x;
  const float* weight;
  const float* bias;
  float* result;
  size_t rows, columns, depth, tile_rows;

  static EtconfigStatus run_tile(void* argument, size_t index) {
    const auto& self = *static_cast<const Linear*>(argument);
    const size_t end = std::min(self.rows, (index + 1) * self.tile_rows);
    for (size_t row = index * self.tile_rows; row < end; ++row) {
      self.run_row(self.x + row * self.depth, self.result + row * self.columns);
    }
    return ETCONFIG_OK;
  }

  void run_row(const float* input, float* output) const {
    for (size_t column = 0; column < columns; ++column) {
      float sum = 0;
      for (size_t i = 0; i < depth; ++i) {
        sum += input[i] * weight[column * depth + i];
      }
      output[column] = bias == nullptr ? sum : sum + bias[column];
    }
  }
};

}  // namespace

DeviceProgram::DeviceProgram(Graph graph) : graph_(std::move(graph)) {
  const unsigned char* data = graph_.data;
  for (const auto value : graph_.constants) {
    std::vector<float> constant(count_of(graph_.shapes[value]));
    std::memcpy(constant.data(), data, constant.size() * sizeof(float));
    data += constant.size() * sizeof(float);
    constants_.push_back(std::move(constant));
  }
  graph_.data = nullptr;  // the payload may go
}

void DeviceProgram::run(const std::vector<const float*>& inputs, const std::vector<float*>& outputs,
                        const EtconfigServices& services, size_t tile_bytes, size_t num_threads) const {
  std::vector<const float*> values(graph_.shapes.size());
  for (size_t i = 0; i < inputs.size(); ++i) values[graph_.inputs[i]] = inputs[i];
  for (size_t i = 0; i < constants_.size(); ++i) values[graph_.constants[i]] = constants_[i].data();
  for (const auto& step : graph_.steps) {
    const Shape& shape = graph_.shapes[step.output];
    float* result = allocate(services, count_of(shape));
    const uint32_t first = step.inputs[0], second = step.inputs.size() > 1 ? step.inputs[1] : first;
    const float *a = values[first], *b = values[second];
    const Shape &a_shape = graph_.shapes[first], &b_shape = graph_.shapes[second];
    const auto compute = [&](auto function) { elementwise(a, a_shape, b, b_shape, result, shape, function); };
    switch (step.operation) {
      case Operation::Add:
        compute([](float x, float y) { return x + y; });
        break;
      case Operation::Mul:
        compute([](float x, float y) { return x * y; });
        break;
      case Operation::Sub:
        compute([](float x, float y) { return x - y; });
        break;
      case Operation::Relu:
        compute([](float x, float) { return x < 0 ? 0 : x; });  // NaN stays NaN
        break;
      case Operation::Linear: {
        const size_t depth = static_cast<size_t>(b_shape[1]), rows = count_of(a_shape) / depth;
        Linear linear{a, b, step.inputs.size() == 3 ? values[step.inputs[2]] : nullptr, result, rows,
                      static_cast<size_t>(b_shape[0]), depth, std::max<size_t>(1, tile_bytes / (depth * sizeof(float)))};
        const size_t tiles = (rows + linear.tile_rows - 1) / linear.tile_rows;
        const EtconfigStatus status =
            services.parallel_for(services.context, tiles, num_threads, &Linear::run_tile, &linear);
        if (status != ETCONFIG_OK) {
          throw Failure(status, "a tile of a linear layer failed");
        }
        break;
      }
    }
    values[step.output] = result;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::memmove(outputs[i], values[graph_.outputs[i]], count_of(graph_.shapes[graph_.outputs[i]]) * sizeof(float));
  }
}

}  // namespace example_cpp
