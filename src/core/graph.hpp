#pragma once

#include <functional>
#include <memory>

#include "core/stream.hpp"

namespace gridstride {

/// Work recorded once and launched many times without the host's cost per kernel.
/// On a GPU `work` is captured as a CUDA graph: it must queue on `stream` alone and not
/// synchronise; device buffers that it makes and drops become part of the graph. On the CPU `work`
/// is kept and called again.
class Graph {
 public:
  Graph() = default;
  static Graph capture(Stream& stream, std::function<void()> work);
  void launch(Stream& stream) const;
  explicit operator bool() const { return static_cast<bool>(work_) || executable_ != nullptr; }

 private:
  std::function<void()> work_;
  std::shared_ptr<void> executable_;
};

}  // namespace gridstride
