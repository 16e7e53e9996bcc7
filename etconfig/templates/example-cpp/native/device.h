// The device: here the CPU. Replace this with calls to your driver.
#pragma once

#include <cstddef>
#include <vector>

#include "etconfig/backend.h"
#include "graph.h"

namespace example_cpp {

// A graph with its constants, which it has copied from the payload.
class DeviceProgram {
 public:
  // Throws Failure or std::bad_alloc.
  explicit DeviceProgram(Graph graph);

  const Graph& graph() const { return graph_; }

  // Compute the outputs. They are written last, since they may share memory with inputs. Throws Failure.
  void run(const std::vector<const float*>& inputs, const std::vector<float*>& outputs,
           const EtconfigServices& services, size_t tile_bytes, size_t num_threads) const;

 private:
  Graph graph_;
  std::vector<std::vector<float>> constants_;
};

}  // namespace example_cpp
