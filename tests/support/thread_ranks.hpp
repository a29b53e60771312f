#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <queue>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "core/processors.hpp"
#include "core/ranks.hpp"

/// Ranks that are threads of one process, so that what several do can be tested without MPI.
namespace gridstride::test {

/// What they send each other, by sender, receiver and tag.
class Mailbox {
 public:
  using Key = std::tuple<int, int, int>;

  void put(Key const& key, std::span<std::byte const> bytes) {
    std::scoped_lock const lock(mutex_);
    letters_[key].emplace(bytes.begin(), bytes.end());
    came_.notify_all();
  }
  void take(Key const& key, std::span<std::byte> bytes) {
    std::unique_lock lock(mutex_);
    if (!came_.wait_for(lock, std::chrono::seconds(60), [&] { return !letters_[key].empty(); }))
      throw std::runtime_error("a rank waits for a message that nobody sends");
    auto const letter = std::move(letters_[key].front());
    letters_[key].pop();
    if (letter.size() != bytes.size()) throw std::runtime_error("a message of another size");
    std::ranges::copy(letter, bytes.begin());
  }
  /// Whether every message was received.
  bool is_empty() const {
    return std::ranges::all_of(letters_, [](auto const& entry) { return entry.second.empty(); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::map<Key, std::queue<std::vector<std::byte>>> letters_;
};

class ThreadRank final : public Ranks {
 public:
  ThreadRank(Mailbox& mailbox, int rank, std::vector<int> machines)
      : mailbox_(mailbox), rank_(rank), machines_(std::move(machines)) {}

  int rank() const override { return rank_; }
  int count() const override { return static_cast<int>(machines_.size()); }
  std::span<int const> machines() const override { return machines_; }
  std::string transport() const override { return "threads"; }
  void broadcast(std::span<std::byte> bytes) override {
    constexpr int tag = -1;
    if (rank_ != 0) return mailbox_.take({0, rank_, tag}, bytes);
    for (int other = 1; other < count(); ++other) mailbox_.put({0, other, tag}, bytes);
  }
  void exchange(std::span<RankMessage const> sent, std::span<RankMessage const> received) override {
    for (auto const& message : sent)
      mailbox_.put({rank_, message.rank, message.tag}, message.bytes);
    for (auto const& message : received)
      mailbox_.take({message.rank, rank_, message.tag}, message.bytes);
  }
  [[noreturn]] void abort(int) override { throw std::runtime_error("a rank has ended all"); }
  void finish() override {}

 private:
  Mailbox& mailbox_;
  int rank_;
  std::vector<int> machines_;
};

/// Does `work` on as many ranks at a time as `machines` names one for, each with one thread for the
/// host's loops. Returns whether all that was sent was received.
inline bool on_machines(std::vector<int> const& machines, std::function<void(Ranks&)> const& work) {
  Mailbox mailbox;
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < static_cast<int>(machines.size()); ++rank)
      threads.emplace_back([&, rank] {
        set_host_share({0, 1});
        ThreadRank ranks(mailbox, rank, machines);
        work(ranks);
      });
  }
  return mailbox.is_empty();
}

/// One machine after the other, each with so many of the ranks.
inline std::vector<int> machines_of(int ranks, int each) {
  std::vector<int> machines;
  for (int rank = 0; rank < ranks; ++rank) machines.push_back(rank / each);
  return machines;
}

/// As if they were on one machine, or each on its own, `apart`.
inline bool on_ranks(int count, std::function<void(Ranks&)> const& work, bool apart = false) {
  return on_machines(machines_of(count, apart ? 1 : count), work);
}

}  // namespace gridstride::test
