#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "config/run_fields.hpp"
#include "config/spatial_sections.hpp"
#include "config/visitor.hpp"
#include "core/buffer.hpp"
#include "core/text.hpp"
#include "driver/diagnostics/kind.hpp"
#include "driver/diagnostics/numbers.hpp"
#include "driver/diagnostics/pieces.hpp"
#include "kernels/elementwise/elementwise.hpp"

namespace gridstride {
namespace {

using config::Visitor;

std::string name_of(std::string_view field, std::vector<double> const& at) {
  return fmt::format("{}({})", field, fmt::join(at, ", "));
}

bool is_antiperiodic(config::Sides const& sides, std::size_t axis) {
  return sides[axis][0].kind == SideKind::antiperiodic;
}

/// What a field's values beyond the end of an axis without ends are times those at its beginning: 1, or -1
/// around an antiperiodic one; 0 where nobody knows.
int sign_around(config::RunOptions const& run, std::string_view number, std::size_t axis) {
  if (std::ranges::none_of(run.boundary,
                           [&](auto const& sides) { return is_antiperiodic(sides, axis); }))
    return 1;
  auto const field = std::ranges::find_if(run.fields, [&](config::FieldInfo const& info) {
    auto const numbers = diagnosed_numbers(std::span(&info, 1));
    return std::ranges::find(numbers, number, &config::FieldInfo::name) != numbers.end();
  });
  if (field == run.fields.end() || field->derived) return 0;
  bool const turns = is_antiperiodic(run.sides_of(field->name), axis);
  return turns && number != config::magnitude_name(*field) ? -1 : 1;
}

class Probe final : public config::Diagnostic {
 public:
  std::string field;
  std::vector<double> at;  ///< a coordinate for each axis

  void declare(Visitor& visitor, config::Spec const& self, config::RunOptions const& run) override {
    visitor.section(self, [&](Visitor& v) {
      bool const read =
          v.list({.name = "at", .unit = "m", .documentation = "The point's coordinates."},
                 config::per_axis(run), at);
      if (read) check_inside(v, run.grid_options);
      declare_field(v, run, field);
      if (has_own_grid(run, field))
        v.fault("field", fmt::format("'{}' lies on a grid of its own (a probe is at a point of the "
                                     "grid that the file describes)",
                                     field));
      else if (read && !field.empty())
        check_known(v, run);
    });
  }
  std::vector<std::string> gives() const override {
    if (at.empty()) return {};
    return {name_of(field, at)};
  }
  bool is_found_by_parts(config::RunOptions const&, Backend) const override { return true; }

 private:
  void check_inside(Visitor& v, config::GridOptions const& grid) const {
    if (grid.lower.size() != at.size() || grid.upper.size() != at.size()) return;
    for (std::size_t a = 0; a < at.size(); ++a)
      if (!(at[a] >= grid.lower[a] && at[a] <= grid.upper[a]))
        v.fault(
            element_key("at", a, at.size()),
            fmt::format("{} is outside of the grid ({} goes from {} to {})", format_exact(at[a]),
                        axis_names[a], format_exact(grid.lower[a]), format_exact(grid.upper[a])));
  }

  /// Nobody knows whether what follows from fields changes its sign with them.
  void check_known(Visitor& v, config::RunOptions const& run) const {
    auto const& grid = run.grid_options;
    if (grid.lower.size() != at.size() || grid.upper.size() != at.size() ||
        grid.points.size() != at.size())
      return;
    for (std::size_t a = 0; a < at.size(); ++a) {
      auto const points = static_cast<double>(grid.points[a]);
      double const last = grid.upper[a] - (grid.upper[a] - grid.lower[a]) / points;
      if (at[a] > last && sign_around(run, field, a) == 0)
        v.fault(element_key("at", a, at.size()),
                fmt::format("{} is beyond the last point of the antiperiodic axis {} ({}), where "
                            "the sign of '{}', which is derived, is not known",
                            format_exact(at[a]), axis_names[a], format_exact(last), field));
    }
  }
};

std::vector<std::string> probe_names(config::RunOptions const& run, Field const& field) {
  std::vector<std::string> all;
  for (Probe const* probe : asked_for<Probe>(run, field))
    all.push_back(name_of(field.name, probe->at));
  return all;
}

/// The points around a probe, and what each counts.
struct Corners {
  std::vector<std::int64_t> places;
  std::vector<double> weights;
};

/// Multilinear interpolation. A point beyond the last grid point of an axis (the gap that closes a
/// periodic axis) interpolates towards the first, with the sign that it has there.
void append_corners(config::RunOptions const& run, Field const& field,
                    std::vector<double> const& at, Corners& corners) {
  Grid const& grid = field.grid;
  std::array<std::array<std::int64_t, 2>, 3> place{};
  std::array<std::array<double, 2>, 3> share{};
  for (int axis = 0; axis < grid.dims; ++axis) {
    auto const a = static_cast<std::size_t>(axis);
    std::int64_t const points = grid.points[axis];
    bool const closes = is_periodic(run, axis);
    double const position = (at[a] - grid.origin[axis]) / grid.spacing[axis];
    // Rounding may put an end beyond itself.
    auto const lower =
        std::clamp<std::int64_t>(static_cast<std::int64_t>(position), 0,
                                 closes ? points - 1 : std::max<std::int64_t>(points - 2, 0));
    double const upper_share = std::clamp(position - static_cast<double>(lower), 0.0, 1.0);
    int const sign = lower + 1 == points ? sign_around(run, field.name, a) : 1;
    place[a] = {lower, (lower + 1) % points};
    share[a] = {1 - upper_share, sign * upper_share};
  }
  for (int corner = 0; corner < 1 << grid.dims; ++corner) {
    std::array<std::int64_t, 3> index{};
    double weight = 1;
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(grid.dims); ++axis) {
      std::size_t const upper = static_cast<std::size_t>(corner) >> axis & 1U;
      index[axis] = place[axis][upper];
      weight *= share[axis][upper];
    }
    corners.places.push_back(index[0] + grid.points[0] * (index[1] + grid.points[1] * index[2]));
    corners.weights.push_back(weight);
  }
}

/// Those of all probes of a field.
Corners corners_of(config::RunOptions const& run, Field const& field) {
  Corners corners;
  for (Probe const* probe : asked_for<Probe>(run, field))
    append_corners(run, field, probe->at, corners);
  return corners;
}

/// The values at probes, each from those at so many corners.
template <class T>
std::vector<double> interpolated(std::span<double const> weights, std::span<T const> corners,
                                 std::size_t per_probe) {
  std::vector<double> values;
  for (std::size_t first = 0; first < corners.size(); first += per_probe) {
    double value = 0;
    for (std::size_t i = first; i < first + per_probe; ++i)
      if (weights[i] != 0) value += weights[i] * static_cast<double>(corners[i]);
    values.push_back(value);
  }
  return values;
}

std::vector<double> probes_of_parts(config::RunOptions const& run, Field const& field,
                                    FieldMoments const& known) {
  return interpolated<double>(corners_of(run, field).weights, known.at,
                              std::size_t{1} << field.grid.dims);
}

std::vector<std::int64_t> probe_places(config::RunOptions const& run, Field const& field) {
  return corners_of(run, field).places;
}

/// One gather of the 2^dims values around each probe.
template <class T>
class ProbeFinder final : public FieldFinder<T> {
 public:
  ProbeFinder(config::RunOptions const& run, Field const& field, Stream& stream)
      : corners_per_probe_(std::size_t{1} << field.grid.dims) {
    if (field.grid != run.grid)
      throw std::invalid_argument("diagnostics: a probe of a field on another grid than the run's");
    Corners corners = corners_of(run, field);
    weights_ = std::move(corners.weights);
    corners_ = {stream, MemorySpace::pinned, corners.places.size()};
    places_ = {stream, MemorySpace::device, corners.places.size()};
    copy_async(places_.span(), corners.places, stream);
    stream.synchronize();
  }

  void queue(FieldLook<T> const& look) override {
    Buffer<T> corners(look.stream, MemorySpace::device, places_.size());
    elementwise::gather<T>(look.stream, look.values, places_.span(), corners.span());
    copy_async(corners_.span(), corners.span(), look.stream);
  }

  void collect(FieldLook<T> const&, std::vector<double>& values, std::vector<Histogram>&) override {
    auto const found = interpolated(std::span<double const>(weights_),
                                    std::as_const(corners_).span(), corners_per_probe_);
    values.insert(values.end(), found.begin(), found.end());
  }

 private:
  std::size_t corners_per_probe_;
  std::vector<double> weights_;  ///< of the corners of all probes
  Buffer<std::int64_t> places_;  ///< of the corners, in device memory once and for all
  Buffer<T> corners_;            ///< in pinned memory, what the device found
};

}  // namespace

DiagnosticRow probe_row() {
  return {.kind = {.name = "probe",
                   .documentation = "A field's value at a point, interpolated linearly.",
                   .needs_grid = true,
                   .make = []() -> std::unique_ptr<config::Diagnostic> {
                     return std::make_unique<Probe>();
                   }},
          .names = probe_names,
          .float32 = make_finder<FieldFinder<float>, ProbeFinder<float>>,
          .float64 = make_finder<FieldFinder<double>, ProbeFinder<double>>,
          .of_parts = probes_of_parts,
          .places = probe_places};
}

}  // namespace gridstride
