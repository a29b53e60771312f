#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "config/run_config.hpp"
#include "core/ranks.hpp"
#include "core/stream.hpp"
#include "simulations/transform_engine.hpp"

/// What several ranks that share a transform do beside the passes over their rows.
namespace gridstride::transform {

/// Throws `ConfigError` on all ranks where one of them sees another file than the first, or none,
/// under a name of the run.
void require_same_files(Ranks& ranks, config::RunConfig const& run);

/// What ranks cannot put into files by themselves (`OwnPlaces`) goes to the first one, which has the
/// files. While a pass goes on in threads of its own, the thread that calls it has what those write
/// sent, or received.
class HandOver {
 public:
  static constexpr std::size_t parcel_bytes = std::size_t{8} << 20;

  /// Of arrays at these places; `targets` are the first rank's.
  HandOver(Ranks& ranks, Device const& device, std::vector<int> places,
           std::vector<Written> targets);
  ~HandOver();

  /// What the pass of this rank writes to, in the order of the places.
  std::vector<Written> written() const;
  /// Does a pass. All ranks call it. Throws what the pass does, or the first rank's files.
  void during(std::function<void()> const& pass);

 private:
  /// Bytes of an array on their way.
  struct Parcel {
    std::int64_t rank = 0;
    std::int64_t place = 0;  ///< negative: there are no more
    std::uint64_t first_byte = 0;
    std::int64_t bytes = 0;
  };
  /// Some that somebody waits with until they are gone.
  struct Waiting {
    int place;
    std::uint64_t first_byte;
    std::span<std::byte const> bytes;
    bool is_gone = false;
  };
  class Sink;

  void hand(int place, std::uint64_t first_byte, std::span<std::byte const> bytes);
  Waiting* take();
  void send_all();
  void send(Waiting const& waiting);
  void receive_all();
  void put(Parcel const& parcel, std::span<std::byte const> bytes);

  Ranks& ranks_;
  Device device_;
  std::vector<Written> targets_;
  std::vector<std::unique_ptr<Sink>> sinks_;  ///< of the other ranks
  std::mutex mutex_;
  std::condition_variable came_, gone_;
  std::deque<Waiting*> waiting_;
  bool is_over_ = false;
  std::exception_ptr failure_;  ///< of the first rank's files
};

/// The rows that each rank has made of an array come to the first one, as a whole. All ranks call it,
/// with their own rows, in device memory; those of the first one are where they belong.
template <class T>
void gather(Stream& stream, Ranks& ranks, RankCuts const& cuts, std::span<T> values);

}  // namespace gridstride::transform
