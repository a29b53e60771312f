#pragma once

#include <algorithm>
#include <array>
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
#include "model/own_parts.hpp"
#include "model/rank_arrays.hpp"
#include "model/simulation.hpp"
#include "model/sweep_plan.hpp"

namespace gridstride {

OwnField own_field(config::FieldInfo const& field);

/// A value of a field that is not finite, and where it is, with the components of vectors side by side. Of the
/// length of a vector `field` is that.
class NotFinite final : public NumericalError {
 public:
  struct Found {
    double value;
    std::string number, field;
    std::int64_t point, place;
  };
  NotFinite(Found const& found, std::int64_t step, double time, Grid const& grid);

  double value;
  std::string field;
  std::int64_t place;
};

/// Whether nothing but files looks at the whole of a run's fields, which ranks share: these go through time themselves or
/// follow from those that do, and diagnostics are of kinds that are found by parts on such devices. With GPUs only where
/// ranks are on several machines: on one, steps go on while the first rank writes what it has gathered.
bool is_written_in_parts(config::RunConfig const& run, Backend backend);

/// What a rank takes of its host at most on the way to files, for fields of so many bytes.
std::size_t file_slabs_bytes(Backend backend, std::size_t field_bytes);

/// Writes arrays of which ranks have parts: each rank slabs of them at their places, where all see the
/// first one's files and these hold all bytes as they are given; else the first one what comes from all,
/// a few slabs at a time. Instantiated for float and double.
template <class T>
class RankFiles {
 public:
  RankFiles(Stream const& stream, SweepPlan const& plan, Ranks& ranks, OwnFiles files);

  /// What there is, when, and which points along each axis are written.
  struct Names {
    std::vector<OwnField> fields;
    Clock clock;
    std::array<std::int64_t, 3> every = {1, 1, 1};
  };
  /// All ranks call it, with their planes of all arrays; the first one with the places that fields go to,
  /// by number. Where they are `measured`, it returns there what is found; the moments of lengths where these
  /// are asked for. Throws `FailedTogether` on all ranks.
  FoundByParts write(std::span<std::span<T const> const> own, Names const& names,
                     std::vector<Written> targets, bool measured);
  /// All ranks call it likewise: the finder looks at what there is.
  void compare(std::span<std::span<T const> const> own, Names const& names, PartsFinder& finder);

  /// Who writes.
  std::string const& way() const { return way_; }

 private:
  using Moments = reduce::Moments<T>;
  using Together = typename RankArrays<T>::Together;
  using Slab = typename RankArrays<T>::Slab;
  /// A value that is not finite, by its place; none with field −1. Lengths come after all components.
  struct Fault {
    std::int64_t field = -1;
    bool is_length = false;
    std::int64_t point = 0, component = 0;
    double value = 0;

    bool is_before(Fault const& other) const;
  };
  /// Of a block of what has one number at each point.
  struct Block {
    std::uint64_t number, place;
    Moments moments;
  };
  /// A value that was asked for: which one of a number's.
  struct ValueAt {
    std::uint64_t number, which;
    double value;
  };

  void take_names(std::span<std::span<T const> const> own, Names const& names);
  OwnParts<T> parts(std::span<typename OwnParts<T>::Extremes const> extremes);
  void put(std::vector<Written> const& written, typename RankArrays<T>::Owners owners,
           bool wants_moments);
  void take(Slab const& slab, std::vector<Written> const& written, bool wants_moments);
  /// Whether what a slab tells has not been found where its values lie.
  bool has_to_sum(Slab const& slab) const {
    return stream_.backend() == Backend::cpu || !arrays_.is_of_one(slab);
  }
  bool has_fault(Slab const& slab);
  void take_vectors(Slab const& slab, std::vector<Written> const& written, bool wants_moments);
  bool has_length(std::size_t field) const { return !names_.fields[field].magnitude.empty(); }
  bool is_length_asked_for(std::size_t field) const {
    std::size_t const number = first_number(field) + own_[field].size();
    return has_length(field) && number < files_.looks.size() && files_.looks[number].is_asked_for;
  }
  void put_points(FieldSink& sink, std::int64_t first, std::span<T const> values,
                  std::size_t components) const;
  std::size_t first_number(std::size_t field) const;
  std::size_t numbers() const { return first_number(seen().size()); }
  /// What is looked through.
  std::span<Together const> seen() const {
    auto const end = std::ranges::find(names_.fields, false, &OwnField::is_seen);
    return std::span(own_).first(static_cast<std::size_t>(end - names_.fields.begin()));
  }
  void note(Fault const& fault);
  void note_lengths(std::size_t field, std::int64_t first, std::span<T const> lengths, bool sums);
  void note(std::size_t number, std::int64_t first, std::span<T const> values);
  void note_places(std::size_t number, std::int64_t first, std::span<T const> values);
  /// Of a field's values, or of lengths after the last component, so many arrays from a point on.
  struct Seen {
    std::size_t field, component;
    std::int64_t first;
    Together values;
    Buffer<Moments> found;
  };
  void look_where_they_lie(typename RankArrays<T>::Skips const& skips, bool wants_moments);
  void note_seen(Seen const& seen, bool wants_moments, bool wants_places);
  std::vector<T> values_at(Seen const& seen, std::span<std::int64_t const> points);
  void refuse_faults();
  std::vector<FieldMoments> moments_of();
  std::vector<std::vector<Moments>> blocks_of_all();
  void find(FoundByParts& found);
  void for_own(std::size_t number, typename OwnParts<T>::Use const& use);
  void scale(std::vector<FieldMoments>& found);

  Ranks& ranks_;
  Stream stream_;
  SweepPlan plan_;
  RankArrays<T> arrays_;
  Grid grid_;
  OwnFiles files_;
  std::string way_ = "each rank its part";
  Names names_;                // of what is written now
  std::vector<Together> own_;  // by field
  std::mutex mutex_;           // of what this rank finds
  Fault fault_;
  std::vector<Block> blocks_;
  std::vector<ValueAt> values_;
};

}  // namespace gridstride
