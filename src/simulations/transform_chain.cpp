#include "simulations/transform_chain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "core/ranks.hpp"
#include "core/text.hpp"
#include "model/values.hpp"

namespace gridstride::transform {

void add(RowSet& set, Rows rows) {
  if (rows.empty()) return;
  auto const touches = [&](Rows const& other) {
    return other.first <= rows.last && rows.first <= other.last;
  };
  for (auto const& other : set)
    if (touches(other)) rows = {std::min(rows.first, other.first), std::max(rows.last, other.last)};
  std::erase_if(set, touches);
  set.insert(std::ranges::lower_bound(set, rows.first, {}, &Rows::first), rows);
}

// --------------------------------------------------------------------------------------- the grid

namespace {

config::FieldSource const* first_file(Parameters const& parameters) {
  for (auto const& [name, source] : parameters.inputs)
    if (!source.file.empty()) return &source;
  return nullptr;
}

/// Extents along x, y and z.
std::vector<std::int64_t> points_of(Parameters const& parameters, Inputs const& inputs) {
  if (!parameters.grid.points.empty()) return parameters.grid.points;
  auto const shape = inputs.shape(*first_file(parameters));
  return {shape.rbegin(), shape.rend()};
}

}  // namespace

Grid grid_of(config::RunConfig const& run, Inputs const& inputs) {
  auto const& given = parameters_of(run).grid;
  auto const points = points_of(parameters_of(run), inputs);
  Grid grid;
  grid.dims = static_cast<int>(points.size());
  for (std::size_t a = 0; a < points.size(); ++a) {
    grid.points[a] = points[a];
    if (a < given.lower.size()) grid.origin[a] = given.lower[a];
    if (a < given.spacing.size()) grid.spacing[a] = given.spacing[a];
    if (a < given.upper.size())
      grid.spacing[a] = (given.upper[a] - grid.origin[a]) / static_cast<double>(points[a] - 1);
  }
  return grid;
}

// -------------------------------------------------------------------------------------- the links

Shares Shares::of(std::int64_t rows, int ranks, int rank) {
  Shares shares{{0}, rank};
  for (std::int64_t r = 0; r < ranks; ++r)
    shares.cuts.push_back(shares.cuts.back() + rows / ranks + (r < rows % ranks ? 1 : 0));
  return shares;
}

Chain::Chain(config::RunConfig const& run, Inputs const& inputs)
    : grid_(grid_of(run, inputs)),
      shares_(Shares::of(grid_.points[slowest()], run.ranks, ranks().rank())),
      evaluate_variant_(run.kernels.at("evaluate")) {
  auto const& parameters = parameters_of(run);
  for (auto const& [name, source] : parameters.inputs) {
    if (source.file.empty())
      append({name, {}, ByFormula{source.formula.expression}, grid_});
    else
      append({name, {}, FromFile{&source}, grid_});
  }
  for (std::size_t s = 0; s < parameters.steps.size(); ++s) append_step(run, inputs, s);
}

int Chain::append(Link link) {
  scans_ = scans_ || std::holds_alternative<ByScan>(link.work);
  links_.push_back(std::move(link));
  auto const& name = links_.back().name;
  int const place = static_cast<int>(links_.size()) - 1;
  auto const found = std::ranges::find(named_, name, &std::pair<std::string, int>::first);
  if (found != named_.end())
    found->second = place;
  else if (!name.empty())
    named_.emplace_back(name, place);
  return place;
}

int Chain::place_of(std::string_view name) const {
  return std::ranges::find(named_, name, &std::pair<std::string, int>::first)->second;
}

bool Chain::has(std::string_view name) const {
  return std::ranges::find(named_, name, &std::pair<std::string, int>::first)->second >= 0;
}

namespace {

scan::Running running_of(ScanOptions const& options) {
  if (options.operation == "sum") return scan::Running::sum;
  return options.operation == "maximum" ? scan::Running::maximum : scan::Running::integral;
}

/// A formula of the names before it as one of the arrays that it has.
Link by_formula(std::string const& name, expression::Expression const& formula,
                std::vector<std::pair<std::string, int>> const& named, Grid const& grid) {
  Link link{name, {}, {}, grid};
  std::vector<expression::Node> nodes(formula.nodes().begin(), formula.nodes().end());
  for (std::size_t k = 0; k < named.size(); ++k) {
    int const variable = expression::first_array + static_cast<int>(k);
    if (!formula.depends_on(variable)) continue;
    // No smaller number is still in use for another array.
    int const place = expression::first_array + static_cast<int>(link.from.size());
    for (auto& node : nodes)
      if (node.operation == expression::Operation::variable && node.variable == variable)
        node.variable = place;
    link.from.push_back(named[k].second);
  }
  link.work = ByFormula{expression::Expression(std::move(nodes))};
  return link;
}

}  // namespace

void Chain::append_step(config::RunConfig const& run, Inputs const& inputs, std::size_t step) {
  auto const& options = parameters_of(run).steps[step];
  for (auto const& [name, formula] : options.formulas) {
    Link link = by_formula(name, formula.expression, named_, grid_);
    if (!link.from.empty()) link.grid = this->link(link.from.front()).grid;
    append(std::move(link));
  }
  append_filters(run, inputs, step);
  for (auto const& [name, difference] : options.differences) {
    int const from = place_of(difference.of);
    auto const axis = axis_of(difference.axis);
    Grid grid = link(from).grid;
    grid.points[axis] -= difference.order;
    grid.origin[axis] += 0.5 * static_cast<double>(difference.order) * grid.spacing[axis];
    append({name,
            {from},
            ByDifference{static_cast<int>(axis), static_cast<int>(difference.order)},
            grid});
  }
  for (auto const& [name, scan] : options.scans) {
    int const from = place_of(scan.of);
    append({name, {from}, ByScan{running_of(scan)}, link(from).grid});
  }
  for (auto const& [name, selection] : options.selections) {
    int const from = place_of(selection.of);
    Link where = by_formula("", selection.where.expression, named_, link(from).grid);
    picked_.push_back({name, from, append(std::move(where))});
    named_.emplace_back(name, -1);  // no array, but it has its place among the names
  }
  append_endings(options);
}

void Chain::append_endings(StepOptions const& options) {
  auto const append_ending = [&](Ending ending) {
    named_.emplace_back(ending.name, -1);
    endings_.push_back(std::move(ending));
  };
  for (auto const& [name, sort] : options.sorts) {
    int const from = place_of(sort.of);
    Grid const& grid = link(from).grid;
    append_ending({name, from, grid.dims == 1 ? grid : Grid{.points = {grid.size(), 1, 1}}, {}});
  }
  for (auto const& [name, density] : options.spectra) {
    int const from = place_of(density.of);
    auto const of_samples = density.of_samples(link(from).grid.spacing[0]);
    Grid const grid{
        .points = {of_samples.bins(), 1, 1},
        .spacing = {of_samples.sampling_rate / static_cast<double>(of_samples.segment), 1, 1}};
    append_ending({name, from, grid, of_samples});
  }
}

void Chain::append_filters(config::RunConfig const& run, Inputs const& inputs, std::size_t step) {
  auto const& options = parameters_of(run).steps[step];
  for (auto const& [name, filters] : options.filters) {
    auto const passes = convolution::passes_of(filters, inputs);
    auto const place = run.location(fmt::format("steps.{}.filter.{}", step, name));
    int from = place_of(name);
    for (std::size_t p = 0; p < passes.size(); ++p) {
      int const axis = passes[p].axis;
      auto taps = convolution::taps_of(run, inputs, passes[p], grid_.spacing[axis], place);
      append({p + 1 < passes.size() ? "" : name,
              {from},
              ByFilter{axis, std::move(taps), options.modes[static_cast<std::size_t>(axis)],
                       options.value},
              link(from).grid});
      from = static_cast<int>(links_.size()) - 1;
    }
  }
}

// --------------------------------------------------------------------------------------- the rows

Rows Chain::own(int place, Rows const& chunk) const {
  std::int64_t const end = rows(place);
  return {std::min(chunk.first, end),
          chunk.last == grid_.points[slowest()] ? end : std::min(chunk.last, end)};
}

RankCuts Chain::cuts(int place) const {
  RankCuts cuts;
  for (std::size_t rank = 0; rank + 1 < shares_.cuts.size(); ++rank)
    cuts.push_back(own(place, shares_.rows(rank)).first * width(place));
  cuts.push_back(link(place).grid.size());
  return cuts;
}

std::vector<RowSet> Chain::needs(std::vector<int> const& places, Rows const& chunk,
                                 std::vector<std::int64_t> const& scanned) const {
  std::vector<RowSet> needs(links_.size());
  for (int const place : places) add(needs[static_cast<std::size_t>(place)], own(place, chunk));
  for (std::size_t l = links_.size(); l-- > 0;) {
    for (auto const& group : together_)
      if (group.members.back() == static_cast<int>(l)) unite(group, needs);
    for (Rows const& rows : RowSet(needs[l])) need_of(links_[l], rows, scanned[l], needs);
  }
  return needs;
}

std::vector<std::int64_t> Chain::ends(std::vector<int> const& places, Rows const& chunk) const {
  std::vector<std::int64_t> ends(links_.size());
  if (chunk.empty()) return ends;
  auto const all = needs(places, chunk, ends);
  for (std::size_t l = 0; l < ends.size(); ++l)
    if (!all[l].empty()) ends[l] = all[l].back().last;
  return ends;
}

void Chain::need_of(Link const& link, Rows const& rows, std::int64_t scanned,
                    std::vector<RowSet>& needs) const {
  RowSet wanted = {rows};
  if (auto const* filter = std::get_if<ByFilter>(&link.work); filter && filter->axis == slowest())
    wanted = window_of(*filter, rows, link.grid.points[slowest()]).needed;
  if (auto const* taken = std::get_if<ByDifference>(&link.work); taken && taken->axis == slowest())
    wanted = {{rows.first, rows.last + taken->order}};
  if (std::holds_alternative<ByScan>(link.work))
    wanted = {{std::max(rows.first, scanned), rows.last}};
  for (int const from : link.from)
    for (Rows const& part : wanted) add(needs[static_cast<std::size_t>(from)], part);
}

Window window_of(ByFilter const& filter, Rows const& result, std::int64_t length) {
  std::int64_t const above = filter.taps.center;
  std::int64_t const below = std::ssize(filter.taps.values) - 1 - above;
  Rows rows{result.first - below, result.last + above};
  bool const over_lower = rows.first<0, over_upper = rows.last> length;
  if (filter.boundary == convolve::Boundary::wrap && (over_lower || over_upper)) {
    RowSet needed;
    add(needed, {std::max<std::int64_t>(rows.first, 0), std::min(rows.last, length)});
    if (over_lower) add(needed, {rows.first + length, length});
    if (over_upper) add(needed, {0, rows.last - length});
    return {rows, true, needed};
  }
  // What is beyond an end is one of as many rows before it.
  if (over_lower) rows = {0, std::max(rows.last, below + 1)};
  if (over_upper) rows = {std::min(rows.first, length - above - 1), length};
  rows = {std::max<std::int64_t>(rows.first, 0), std::min(rows.last, length)};
  return {rows, false, {rows}};
}

// ------------------------------------------------------------------------------------- the checks

namespace {

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
  void steps(std::span<std::int64_t const> points);
  void wrapped_scans();
  void ranks();
  void shares(std::span<std::int64_t const> points);
  std::vector<Problem> take() { return std::move(found_); }
  bool empty() const { return found_.empty(); }

 private:
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
  for (std::size_t s = 0; s < parameters.steps.size(); ++s) {
    auto const& step = parameters.steps[s];
    for (auto const& [name, formula] : step.formulas)
      for (std::size_t a = points.size(); a < axis_names.size(); ++a)
        if (formula.expression.depends_on(static_cast<int>(a)))
          note(formula.location,
               fmt::format("depends on '{}', but the data have {} ax{}s", axis_names[a],
                           points.size(), points.size() == 1 ? "i" : "e"));
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
  for (auto const& [name, formula] : run_.verify.exact)
    if (auto const found = std::ranges::find(known, name, &Known::name);
        found != known.end() && found->result == is_table)
      note(formula.location,
           fmt::format("'{}' is {} (which is compared by verify.reference)", name, found->result));
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
  if (examination.empty()) examination.steps(points_of(parameters_of(run), inputs));
  if (examination.empty()) examination.wrapped_scans();
  return examination.take();
}

}  // namespace gridstride::transform
