#include "core/graph.hpp"

#include <utility>

#include "core/gpu.hpp"

namespace gridstride {

Graph Graph::capture(Stream& stream, std::function<void()> work) {
  Graph graph;
  if (stream.native() == nullptr)
    graph.work_ = std::move(work);
  else
    graph.executable_ = gpu::capture(stream.native(), work);
  return graph;
}

void Graph::launch(Stream& stream) const {
  if (executable_)
    gpu::launch_graph(executable_.get(), stream.native());
  else
    work_();
}

}  // namespace gridstride
