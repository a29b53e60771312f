#include "core/nccl.hpp"

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "unit/order/queues.hpp"

/// Stands in for NCCL: a group is a piece of work that ends when all that it sends was taken and all
/// that it receives has come, and until then keeps its stream.
namespace gridstride {

namespace {

std::atomic<bool> is_missing = false;
std::atomic<std::uint64_t> last_communicator = 0;

class Communicator {
 public:
  Communicator(std::uint64_t id, int rank) : id_(id), rank_(static_cast<std::uint64_t>(rank)) {}

  struct Message {
    std::span<std::byte const> bytes;
    bool is_taken = false;
  };

  void exchange(std::vector<RankMessage> const& sent, std::vector<RankMessage> const& received) {
    auto& [mutex, changed, waiting] = between();
    std::unique_lock lock(mutex);
    std::vector<std::shared_ptr<Message>> own;
    for (auto const& [rank, tag, bytes] : sent) {
      own.push_back(std::make_shared<Message>(Message{bytes}));
      waiting[{id_, rank_, static_cast<std::uint64_t>(rank)}].push_back(own.back());
    }
    changed.notify_all();
    for (auto const& [rank, tag, bytes] : received) {
      auto& coming = waiting[{id_, static_cast<std::uint64_t>(rank), rank_}];
      changed.wait(lock, [&] { return !coming.empty(); });
      auto const message = coming.front();
      coming.pop_front();
      std::memcpy(bytes.data(), message->bytes.data(), bytes.size());
      message->is_taken = true;
      changed.notify_all();
    }
    for (auto const& message : own) changed.wait(lock, [&] { return message->is_taken; });
  }

 private:
  /// What has been sent, by communicator, sender and receiver.
  struct Between {
    std::mutex mutex;
    std::condition_variable changed;
    std::map<std::array<std::uint64_t, 3>, std::deque<std::shared_ptr<Message>>> waiting;
  };
  static Between& between() {
    static Between all;
    return all;
  }

  std::uint64_t id_;
  std::uint64_t rank_;
};

}  // namespace

void test::set_nccl(bool is_there) { is_missing = !is_there; }

void Nccl::require() {
  if (is_missing) throw Error("libnccl.so.2 is missing");
}

Nccl::Nccl(Ranks& ranks, Stream const&) {
  std::uint64_t id = ranks.is_first() ? ++last_communicator : 0;
  ranks.broadcast(std::as_writable_bytes(std::span(&id, 1)));
  communicator_ = std::make_shared<Communicator>(id, ranks.rank());
}

void Nccl::exchange(std::span<RankMessage const> sent, std::span<RankMessage const> received,
                    Stream& stream) {
  auto const all = std::static_pointer_cast<Communicator>(communicator_);
  test::queue_work(stream.native(), [all, out = std::vector(sent.begin(), sent.end()),
                                     in = std::vector(received.begin(), received.end())] {
    all->exchange(out, in);
  });
}

}  // namespace gridstride
