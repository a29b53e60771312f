#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/rank_sums.hpp"
#include "grid/grid.hpp"
#include "kernels/scan/running.hpp"
#include "simulations/transform_parameters.hpp"

/// The arrays of a run, how each follows from those before it, and which rows of them are needed
/// for some rows of the results. A row is all that lies at one place of the slowest axis.
namespace gridstride::transform {

/// Rows `first` to before `last`.
struct Rows {
  std::int64_t first = 0;
  std::int64_t last = 0;

  std::int64_t count() const { return last - first; }
  bool empty() const { return last <= first; }
  bool holds(Rows const& other) const { return first <= other.first && other.last <= last; }
  bool operator==(Rows const&) const = default;
};

/// The rows of the data that each rank of a run goes by: from its cut to the next one.
struct Shares {
  RankCuts cuts;
  int rank = 0;  ///< of this process

  /// Equal ones, of which earlier ranks have the larger.
  static Shares of(std::int64_t rows, int ranks, int rank);
  bool several() const { return cuts.size() > 2; }
  Rows rows(std::size_t of) const { return {cuts[of], cuts[of + 1]}; }
  Rows own() const { return rows(static_cast<std::size_t>(rank)); }
};

/// Pieces in rising order that do not touch.
using RowSet = std::vector<Rows>;

void add(RowSet& set, Rows rows);

// What a link makes of those that it is from.
struct FromFile {
  config::FieldSource const* source;
};
struct ByFormula {
  expression::Expression expression;  ///< array i is `from[i]`
};
struct ByFilter {
  int axis;
  convolve::Taps taps;
  convolve::Boundary boundary;
  double value;  ///< beyond the ends where `boundary` is constant
};
struct ByDifference {
  int axis;
  int order;
};

struct ByScan {
  scan::Running what;
};

/// One array.
struct Link {
  std::string name;       ///< empty for what lies between the filters of one step
  std::vector<int> from;  ///< places of others in the chain, all before it
  std::variant<FromFile, ByFormula, ByFilter, ByDifference, ByScan> work;
  Grid grid = {};
};

/// Values that go to a table: those of an array where another one is not 0.
struct Picked {
  std::string name;
  int of, where;
};

/// A field that is made of a whole array once all of it is known: its values in order, or their
/// spectrum.
struct Ending {
  std::string name;
  int of;
  Grid grid;                                  ///< of the field; of a spectrum along the frequency
  std::optional<spectrum::Options> spectrum;  ///< none: in order
};

/// Formulas that are evaluated together, one after the other at each point.
struct Together {
  std::vector<int> members = {};  ///< their places in the chain
  std::vector<int> inputs = {};   ///< other arrays that they are of
};

class Chain {
 public:
  /// Of arrays that are yet to be appended, over data at the points of a grid.
  explicit Chain(Grid const& grid)
      : grid_(grid), shares_(Shares::of(grid.points[slowest()], 1, 0)), evaluate_variant_("auto") {}
  /// Of a run whose files have no problems.
  Chain(config::RunConfig const& run, Inputs const& inputs);

  /// Adds an array; returns its place.
  int append(Link link);
  /// Settles which formulas are evaluated together, of those that the arrays at `places` need: these
  /// are all that any pass looks at.
  void fuse(std::vector<int> const& places);

  Grid const& grid() const { return grid_; }  ///< of the data
  Shares const& shares() const { return shares_; }
  Rows share() const { return shares_.own(); }
  std::string const& evaluate_variant() const { return evaluate_variant_; }
  int slowest() const { return grid_.dims - 1; }
  std::vector<Link> const& links() const { return links_; }
  std::vector<Picked> const& picked() const { return picked_; }
  std::vector<Ending> const& endings() const { return endings_; }
  std::vector<Together> const& together() const { return together_; }
  Link const& link(int place) const { return links_[static_cast<std::size_t>(place)]; }
  /// The place of the array that a name means at the end of the steps.
  int place_of(std::string_view name) const;
  /// Whether it means an array, and neither a table nor an ending.
  bool has(std::string_view name) const;
  /// Whether any array is a scan.
  bool scans() const { return scans_; }

  std::int64_t rows(int place) const { return link(place).grid.points[slowest()]; }
  /// Values in a row.
  std::int64_t width(int place) const { return link(place).grid.face_size(slowest()); }
  /// The part of an array that a chunk of the data's rows is responsible for: these parts of all
  /// chunks are the whole array.
  Rows own(int place, Rows const& chunk) const;
  /// Where the values of an array begin that each rank is responsible for.
  RankCuts cuts(int place) const;
  /// Rows of each array that are needed for what a chunk is responsible for of those at `places`.
  /// Scans go on from the row `scanned[place]`, what is before it they have.
  std::vector<RowSet> needs(std::vector<int> const& places, Rows const& chunk,
                            std::vector<std::int64_t> const& scanned) const;
  /// Which arrays are scans, or follow from one.
  std::vector<bool> scanned() const;
  /// Up to which row each array is made for a chunk; 0 where nothing of it is.
  std::vector<std::int64_t> ends(std::vector<int> const& places, Rows const& chunk) const;

 private:
  void append_step(config::RunConfig const& run, Inputs const& inputs, std::size_t step);
  void append_filters(config::RunConfig const& run, Inputs const& inputs, std::size_t step);
  void append_endings(StepOptions const& options);
  void need_of(Link const& link, Rows const& rows, std::int64_t scanned,
               std::vector<RowSet>& needs) const;
  bool joins(Together const& group, int place, std::vector<bool> const& scanned) const;
  void join(Together& group, int place) const;
  void unite(Together const& group, std::vector<RowSet>& needs) const;

  Grid grid_;
  Shares shares_;
  std::string evaluate_variant_;
  std::vector<Link> links_;
  std::vector<Picked> picked_;
  std::vector<Ending> endings_;
  std::vector<Together> together_;
  bool scans_ = false;
  std::vector<std::pair<std::string, int>> named_;  ///< in the order of `known_before`
};

/// The rows that a filter along the slowest axis works on for some rows of its result.
struct Window {
  Rows rows;      ///< of the signal, where `wraps` also beyond its ends
  bool wraps;     ///< the rows have to be put together from both ends
  RowSet needed;  ///< of the array
};
Window window_of(ByFilter const& filter, Rows const& result, std::int64_t length);

scan::Running running_of(ScanOptions const& options);

/// How many points a run's data have along x, y and z.
std::vector<std::int64_t> points_of(Parameters const& parameters, Inputs const& inputs);

/// The points of a run's data: where those of another run's result lie, as far as `grid` does not
/// tell it.
Grid grid_of(config::RunConfig const& run, Inputs const& inputs);

/// What is wrong with the run's files, with filters for them, and with axes that they do not have.
std::vector<Problem> problems(config::RunConfig const& run, Inputs const& inputs);

}  // namespace gridstride::transform
