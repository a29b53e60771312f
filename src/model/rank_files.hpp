#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/run_config.hpp"
#include "core/error.hpp"
#include "core/field_sink.hpp"
#include "core/ranks.hpp"
#include "core/stream.hpp"
#include "kernels/reduce/reduce.hpp"
#include "model/rank_arrays.hpp"
#include "model/simulation.hpp"
#include "model/sweep_plan.hpp"

namespace gridstride {

/// A value of a field that is not finite, and where it is.
class NotFinite final : public NumericalError {
 public:
  NotFinite(double found, std::int64_t step, double time, std::string const& of, Grid const& grid,
            std::int64_t at);

  double value;
  std::string field;
  std::int64_t place;
};

/// Whether nothing but files looks at the whole of a run's fields, which ranks share: fields are written
/// at all points, have one number at each and go through time themselves. Their norms are found by parts
/// on the host, nothing else is. With GPUs only where ranks are on several machines: on one, steps go on
/// while the first rank writes what it has gathered.
bool is_written_in_parts(config::RunConfig const& run, Backend backend);

/// The same of one that gives numbers of its own (`Simulation::measure`), which ranks find on the host.
inline bool finds_numbers_in_parts(config::RunConfig const& run, Backend backend) {
  return backend == Backend::cpu && is_written_in_parts(run, backend);
}

/// What a rank takes of its host at most on the way to files, for arrays of so many bytes.
std::size_t file_slabs_bytes(Backend backend, std::size_t array_bytes);

/// Writes arrays of which ranks have parts: each rank slabs of them at their places, where all see the
/// first one's files and these hold all bytes as they are given; else the first one what comes from all,
/// a few slabs at a time. Instantiated for float and double.
template <class T>
class RankFiles {
 public:
  RankFiles(Stream const& stream, SweepPlan const& plan, Ranks& ranks, OwnFiles files);

  /// What messages tell of an array, and of the moment.
  struct Names {
    std::vector<std::string> arrays;
    Clock clock;
  };
  /// All ranks call it, with their planes of the arrays; the first one with the places that they go to.
  /// Where wanted, it returns there what is known of each. Throws `FailedTogether` on all ranks.
  std::vector<FieldMoments> write(std::span<std::span<T const> const> own, Names const& names,
                                  std::vector<Written> targets, bool wants_moments);

  /// Who writes.
  std::string const& way() const { return way_; }

 private:
  using Moments = reduce::Moments<T>;
  using Slab = typename RankArrays<T>::Slab;
  /// A value that is not finite, by its place; none with array −1.
  struct Fault {
    std::int64_t array = -1, place = 0;
    double value = 0;
  };
  /// Of a block of an array.
  struct Block {
    std::uint64_t array, number;
    Moments moments;
  };

  void put(std::span<std::span<T const> const> own, std::vector<Written> const& written,
           typename RankArrays<T>::Owners owners, bool wants_moments);
  void take(Slab const& slab, std::vector<Written> const& written, bool wants_moments);
  void refuse_faults(Names const& names);
  std::vector<FieldMoments> moments_of(std::span<std::span<T const> const> own);
  std::vector<std::vector<Moments>> blocks_of_all(std::size_t arrays);
  void scale(std::span<std::span<T const> const> own, std::vector<FieldMoments>& found);

  Ranks& ranks_;
  RankArrays<T> arrays_;
  Grid grid_;
  OwnFiles files_;
  std::string way_ = "each rank its part";
  std::mutex mutex_;  // of what this rank finds
  Fault fault_;
  std::vector<Block> blocks_;
};

}  // namespace gridstride
