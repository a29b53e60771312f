#pragma once

#include <memory>
#include <span>

#include "core/ranks.hpp"
#include "core/stream.hpp"

namespace gridstride {

/// NVIDIA's library for messages between GPUs of any machines (libnccl.so.2, from 2.7 on), loaded
/// when it is first asked for.
class Nccl {
 public:
  /// Throws `Error` where the library is missing or too old. No other rank takes part.
  static void require();

  /// All ranks make one, each with the GPU of its stream, and wait for each other. Throws `Error`
  /// where they cannot: on all ranks where two of them have the same GPU.
  Nccl(Ranks& ranks, Stream const& stream);

  /// Queues on `stream` that all of these go and come at once: pieces of device memory. Those between
  /// two ranks come in the order that they are sent in, whatever their tags.
  void exchange(std::span<RankMessage const> sent, std::span<RankMessage const> received,
                Stream& stream);

 private:
  std::shared_ptr<void> communicator_;
};

}  // namespace gridstride
