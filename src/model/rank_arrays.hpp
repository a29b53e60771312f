#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "core/field_sink.hpp"
#include "core/ranks.hpp"
#include "core/stream.hpp"
#include "kernels/reduce/reduce.hpp"
#include "model/sweep_plan.hpp"
#include "model/value_boxes.hpp"

namespace gridstride {

/// Arrays of which ranks have parts, as files have them: their values in the order of memory, in slabs
/// (`slab_of_files`), each of which one rank has for a while as a whole, in its host's memory. What lies
/// in one rank's part alone, that rank has; of all else ranks send each other what they have of it, so
/// that each has about as many. Nobody has the whole. Instantiated for float and double.
template <class T>
class RankArrays {
 public:
  RankArrays(Stream const& stream, SweepPlan const& plan, Ranks& ranks);

  /// Slabs that a rank has of what is exchanged at a time, and of its own ones on their way.
  static constexpr int slabs_at_once = 4, most_lanes = 8;
  static constexpr auto slab_values = static_cast<std::int64_t>(slab_of_files / sizeof(T));
  /// Points of a slab where so many arrays are looked at together: whole blocks of `reduce`.
  static constexpr std::int64_t slab_points(std::size_t together) {
    auto const blocks = slab_values / static_cast<std::int64_t>(together) / reduce::host_block;
    return std::max<std::int64_t>(blocks, 1) * reduce::host_block;
  }

  /// Arrays that are looked at together, such as the components of a vector.
  using Together = std::vector<std::span<T const>>;
  /// A slab of one of these, by its first point: the values of each array.
  struct Slab {
    std::size_t number;
    std::int64_t first;
    Together values;
  };
  /// Who has slabs: all ranks, or the first one alone.
  enum class Owners { all, first };
  using Use = std::function<void(Slab const&)>;
  /// All ranks call it, with their planes of as many arrays. Calls `use` of each rank for all slabs that
  /// it has, from several threads at a time. Waits for the stream, and until all is done. What `use`
  /// throws comes once all ranks are done with their exchanges. Of numbers that a rank `skips`, it does not look at slabs
  /// that it alone has values of.
  using Skips = std::function<bool(std::size_t number)>;
  void look(std::span<Together const> own, Owners owners, Use const& use, Skips const& skips = {}) {
    look_at({own.size(), own, nullptr, {}, skips}, owners, use);
  }
  /// Whether a slab has values of one rank alone, and the points of all such slabs of this one's, which follow one
  /// another.
  bool is_of_one(Slab const& slab) const {
    return is_of_one(slab.first, slab.first + std::ssize(slab.values.front()));
  }
  struct Points {
    std::int64_t first, last;
  };
  Points alone(std::size_t together) const;
  /// Or where these lie between neighbouring ones of `cuts`.
  std::vector<Points> alone(std::span<std::int64_t const> cuts) const;
  /// The rank's values at points of its own planes, which are whole.
  std::span<T const> own_values(std::span<T const> own, Points const& points) const;
  /// The same of arrays that are not there but made, some points of a rank's own at a time, in the host's
  /// memory, or in pinned memory by what is queued on the stream. Slabs of one rank's values come one after
  /// the other. Where `cuts` are given, slabs lie between neighbouring ones of these, `slab_points(1)` at most.
  using Make = std::function<void(std::size_t array, PointBox const& points, T* values)>;
  void look_at_made(std::size_t arrays, Make const& make, Owners owners, Use const& use,
                    std::span<std::int64_t const> cuts = {}, Skips const& skips = {}) {
    look_at({arrays, {}, &make, cuts, skips}, owners, use);
  }
  /// Has the values of some arrays at this rank's own points used, some after the other, by this rank alone: where they
  /// lie, of strips in pinned memory.
  void look_at_own(Together const& own, std::function<void(Together const&)> const& use);

  /// The other way round: `get`, of the first rank alone, has slabs of arrays filled one after the
  /// other, and ranks get what is theirs. All call it. What `get` throws comes on the first one at once.
  using Slabs = std::span<std::span<T> const>;
  using Get = std::function<void(std::int64_t first, Slabs values)>;
  void hand_out(Slabs own, Get const& get);

  /// Values of an array.
  std::int64_t size() const { return whole_.size(); }

 private:
  /// What a rank has: planes of arrays, some together, or what makes those of single ones.
  struct Source {
    std::size_t count;
    std::span<Together const> own;
    Make const* make;
    std::span<std::int64_t const> cuts = {};
    Skips skips = {};

    std::size_t together(std::size_t number) const {
      return make != nullptr ? 1 : own[number].size();
    }
  };
  /// A slab that several ranks have parts of, or that goes to another one.
  struct Mixed {
    std::size_t number, together;
    std::int64_t first, last;
    std::vector<int> parts;  // of these ranks
    int owner;

    /// Of so many points of it.
    std::int64_t values(std::int64_t points) const {
      return points * static_cast<std::int64_t>(together);
    }
  };

  std::vector<std::int64_t> cuts_of(Source const& source, std::size_t together) const;
  std::vector<int> parts_of(std::int64_t first, std::int64_t last) const;
  bool is_of_one(std::int64_t first, std::int64_t last) const {
    return !plan_.has_strips() && parts_of(first, last).size() == 1;
  }
  std::vector<PointBox> boxes_of_rank(Mixed const& slab, int rank) const;
  std::int64_t values_of_rank(Mixed const& slab, int rank) const;
  void look_at(Source const& source, Owners owners, Use const& use);
  void look_at_alone(Source const& source, std::span<Mixed const> slabs, Use const& use);
  std::vector<std::vector<Mixed>> in_rounds(std::vector<Mixed> const& all, Owners owners) const;
  void look_at_mixed(Source const& source, std::span<Mixed const> round, Use const& use);
  void make(Source const& source, Mixed const& slab, T* packed);
  T* move_own(T* own, std::vector<PointBox> const& boxes, T* packed, bool back);
  void move_slabs(Slabs slabs, std::int64_t first, std::vector<PointBox> const& boxes, T* packed,
                  bool back);
  std::span<T> room(Buffer<T>& buffer, std::int64_t values);

  Stream stream_, host_;
  SweepPlan plan_;
  Ranks& ranks_;
  Grid whole_;
  Buffer<T> sent_, came_, slabs_;  // of a round
};

}  // namespace gridstride
