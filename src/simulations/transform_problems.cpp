// What only the files show of a chain: shapes, places, axes that there are not.

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "core/nearly_equal.hpp"
#include "core/text.hpp"
#include "model/values.hpp"
#include "simulations/transform_chain.hpp"

namespace gridstride::transform {

namespace {

std::string axes_text(std::size_t count) {
  return fmt::format("{} ax{}s", count, count == 1 ? "i" : "e");
}

/// Problems at their places.
class Examination {
 public:
  Examination(config::RunConfig const& run, Inputs const& inputs) : run_(run), inputs_(inputs) {}

  void note(config::Location const& place, std::string const& problem) {
    if (!problem.empty()) found_.push_back(run_.problem(place, problem));
  }
  /// Notes what `find` says, or throws.
  template <class Find>
  void examine(config::Location const& place, Find const& find) {
    try {
      note(place, find());
    } catch (ConfigError const& error) {
      found_.insert(found_.end(), error.problems().begin(), error.problems().end());
    }
  }
  void shapes();
  void grid(std::span<std::int64_t const> points);
  void places();
  void steps(std::span<std::int64_t const> points);
  void wrapped_scans();
  void ranks();
  void shares(std::span<std::int64_t const> points);
  std::vector<Problem> take() { return std::move(found_); }
  bool empty() const { return found_.empty(); }

 private:
  void axes(config::Formula const& formula, std::size_t count);
  void modes(std::size_t step, std::size_t count);
  void filters(std::size_t step, std::span<std::int64_t const> points);
  void scans(std::span<std::int64_t const> points);
  void spectra(std::size_t step, std::span<std::int64_t const> points);

  config::RunConfig const& run_;
  Inputs const& inputs_;
  std::vector<Problem> found_;
};

void Examination::shapes() {
  auto const& parameters = parameters_of(run_);
  std::string first;
  std::vector<std::int64_t> wanted(parameters.grid.points.rbegin(), parameters.grid.points.rend());
  if (!wanted.empty()) first = "grid.points";
  for (auto const& [name, source] : parameters.inputs) {
    if (source.file.empty()) continue;
    examine(source.location, [&, &name = name, &source = source]() -> std::string {
      auto const shape = inputs_.shape(source);
      if (shape.empty() || shape.size() > 3 || std::ranges::find(shape, 0) != shape.end())
        return fmt::format("{} is {} (1 to 3 axes with a value at least are needed)",
                           describe(source), format_shape(shape));
      if (first.empty()) {
        first = name;
        wanted = shape;
      }
      if (shape == wanted) return {};
      return fmt::format(
          "{} is {}, {} is {} (all data have the same shape; the slowest axis is "
          "first)",
          describe(source), format_shape(shape), first, format_shape(wanted));
    });
  }
}

/// What `grid` says without `points`, of which the reader knows how many axes there are.
void Examination::grid(std::span<std::int64_t const> points) {
  auto const& given = parameters_of(run_).grid;
  using Key = std::pair<std::string_view, std::vector<double> const*>;
  for (auto const& [name, numbers] : {Key{"lower", &given.lower}, Key{"spacing", &given.spacing}})
    if (!numbers->empty() && numbers->size() != points.size())
      note(run_.location(fmt::format("grid.{}", name)),
           fmt::format("{} value{} expected, here {} {} (the data have {})", points.size(),
                       points.size() == 1 ? "" : "s", numbers->size() == 1 ? "is" : "are",
                       numbers->size(), axes_text(points.size())));
}

/// Points of other runs' results, which lie where those of the run do.
void Examination::places() {
  auto const& parameters = parameters_of(run_);
  Grid const grid = grid_of(run_, inputs_);
  bool const is_given = !parameters.grid.lower.empty() || !parameters.grid.upper.empty() ||
                        !parameters.grid.spacing.empty();
  for (auto const& [name, source] : parameters.inputs) {
    if (source.file.empty()) continue;
    examine(source.location, [&, &source = source]() -> std::string {
      auto const told = inputs_.places(source);
      for (std::size_t a = 0; a < told.size(); ++a) {
        if (!told[a] || (nearly_equal(told[a]->lower, grid.origin[a]) &&
                         nearly_equal(told[a]->spacing, grid.spacing[a])))
          continue;
        return fmt::format(
            "{} has its points along {} elsewhere (from {} with spacing {}, {} from {} with "
            "spacing {}{})",
            describe(source), axis_names[a], format_exact(told[a]->lower),
            format_exact(told[a]->spacing), is_given ? "here" : "those before it",
            format_exact(grid.origin[a]), format_exact(grid.spacing[a]),
            is_given ? "; without lower, upper and spacing, grid takes those of the file" : "");
      }
      return {};
    });
  }
}

void Examination::axes(config::Formula const& formula, std::size_t count) {
  for (std::size_t a = count; a < axis_names.size(); ++a)
    if (formula.expression.depends_on(static_cast<int>(a)))
      note(formula.location,
           fmt::format("depends on '{}', but the data have {}", axis_names[a], axes_text(count)));
}

/// A mode that each axis has of its own; what is left out is as the default.
void Examination::modes(std::size_t step, std::size_t count) {
  auto const& modes = parameters_of(run_).steps[step].modes;
  if (std::ranges::all_of(modes, [&](auto mode) { return mode == modes[0]; })) return;
  for (std::size_t a = count; a < modes.size(); ++a)
    if (modes[a] != StepOptions{}.modes[a])
      note(run_.location(fmt::format("steps.{}.mode.{}", step, axis_names[a])),
           fmt::format("there is no axis {} (the data have {})", axis_names[a], count));
}

void Examination::filters(std::size_t step, std::span<std::int64_t const> points) {
  auto const known = known_before(parameters_of(run_), step);
  for (auto const& [name, filters] : parameters_of(run_).steps[step].filters) {
    std::vector<std::int64_t> own(points.begin(), points.end());
    auto const& fewer = std::ranges::find(known, name, &Known::name)->fewer;
    for (std::size_t a = 0; a < own.size(); ++a) own[a] -= fewer[a];
    for (std::size_t f = 0; f < filters.size(); ++f) {
      auto const path = fmt::format("steps.{}.filter.{}", step, name);
      auto const& filter = filters[f];
      auto const place = filter.kind == convolution::FilterOptions::taps_from
                             ? filter.source.location
                             : run_.location(path);
      examine(place, [&] { return convolution::fault_of(filter, own, inputs_); });
    }
  }
}

/// What one process alone can make.
void Examination::ranks() {
  if (run_.ranks == 1) return;
  auto const refuse = [&](std::size_t step, std::string_view kind, std::string_view name,
                          std::string_view why) {
    note(run_.location(fmt::format("steps.{}.{}.{}", step, kind, name)),
         fmt::format("{}, which one process does (there are {}; the other steps and all "
                     "reductions are shared by ranks)",
                     why, run_.ranks));
  };
  auto const& steps = parameters_of(run_).steps;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    for (auto const& [name, scan] : steps[s].scans)
      refuse(s, "scan", name, "goes on from the first value to the last");
    for (auto const& [name, sort] : steps[s].sorts) refuse(s, "sort", name, "orders all values");
    for (auto const& [name, spectrum] : steps[s].spectra)
      refuse(s, "spectrum", name, "goes from segment to segment");
  }
}

void Examination::shares(std::span<std::int64_t const> points) {
  if (run_.ranks > points.back())
    note(run_.location("input"),
         fmt::format("{} ranks are too many for {} points along {}: up to {} can share them",
                     run_.ranks, points.back(), axis_names[points.size() - 1], points.back()));
}

void Examination::scans(std::span<std::int64_t const> points) {
  auto const& steps = parameters_of(run_).steps;
  for (std::size_t s = 0; s < steps.size(); ++s)
    for (auto const& [name, scan] : steps[s].scans)
      if (points.size() > 1 && running_of(scan) == scan::Running::integral)
        note(run_.location(fmt::format("steps.{}.scan.{}", s, name)),
             fmt::format("integrals go along one axis (the data have {})", points.size()));
}

void Examination::spectra(std::size_t step, std::span<std::int64_t const> points) {
  auto const known = known_before(parameters_of(run_), step);
  for (auto const& [name, options] : parameters_of(run_).steps[step].spectra) {
    auto const place = run_.location(fmt::format("steps.{}.spectrum.{}", step, name));
    if (points.size() > 1) {
      note(place,
           fmt::format("spectra are of data along one axis (the data have {})", points.size()));
      continue;
    }
    auto const of = std::ranges::find(known, options.of, &Known::name);
    if (std::int64_t const samples = points[0] - of->fewer[0]; samples < options.segment)
      note(place, fmt::format("a segment has {} samples, which are more than the {} of '{}'",
                              options.segment, samples, options.of));
  }
}

/// What a running sum has at its end is not known at its beginning.
void Examination::wrapped_scans() {
  Chain const chain(run_, inputs_);
  auto const scanned = chain.scanned();
  for (std::size_t l = 0; l < scanned.size(); ++l) {
    auto const* filter = std::get_if<ByFilter>(&chain.links()[l].work);
    if (scanned[l] && filter != nullptr && filter->axis == chain.slowest() &&
        filter->boundary == convolve::Boundary::wrap)
      return note(run_.location("steps"),
                  fmt::format("a filter along {} whose mode is 'wrap' cannot come after a scan, "
                              "whose end is not known at its beginning",
                              axis_names[static_cast<std::size_t>(filter->axis)]));
  }
}

void Examination::steps(std::span<std::int64_t const> points) {
  auto const& parameters = parameters_of(run_);
  for (auto const& [name, source] : parameters.inputs)
    if (source.file.empty()) axes(source.formula, points.size());
  for (std::size_t s = 0; s < parameters.steps.size(); ++s) {
    auto const& step = parameters.steps[s];
    for (auto const& [name, formula] : step.formulas) axes(formula, points.size());
    for (auto const& [name, selection] : step.selections) axes(selection.where, points.size());
    modes(s, points.size());
    filters(s, points);
    spectra(s, points);
    for (auto const& [name, difference] : step.differences) {
      auto const place = run_.location(fmt::format("steps.{}.difference.{}", s, name));
      auto const axis = axis_of(difference.axis);
      if (points.size() > 1 && difference.axis.empty())
        note(place, fmt::format("an axis is missing (the data have {})", points.size()));
      else if (axis >= points.size())
        note(place,
             fmt::format("there is no axis {} (the data have {})", difference.axis, points.size()));
    }
  }
  scans(points);
  ranks();
  shares(points);
  auto const known = known_before(parameters, parameters.steps.size());
  for (auto const& [name, formula] : run_.verify.exact) {
    axes(formula, points.size());
    if (auto const found = std::ranges::find(known, name, &Known::name);
        found != known.end() && found->result == is_table)
      note(formula.location,
           fmt::format("'{}' is {} (which is compared by verify.reference)", name, found->result));
  }
  for (Known const& array : known)
    for (std::size_t a = 0; a < points.size(); ++a)
      if (array.fewer[a] >= points[a])
        return note(run_.location("steps"),
                    fmt::format("nothing is left of '{}' (differences take {} of its {} points "
                                "along {})",
                                array.name, array.fewer[a], points[a], axis_names[a]));
}

}  // namespace

std::vector<Problem> problems(config::RunConfig const& run, Inputs const& inputs) {
  Examination examination(run, inputs);
  examination.shapes();
  if (examination.empty()) {
    auto const points = points_of(parameters_of(run), inputs);
    examination.grid(points);
    examination.steps(points);
  }
  if (examination.empty()) examination.places();
  if (examination.empty()) examination.wrapped_scans();
  return examination.take();
}

}  // namespace gridstride::transform
