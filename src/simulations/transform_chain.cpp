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

std::vector<std::int64_t> points_of(Parameters const& parameters, Inputs const& inputs) {
  if (!parameters.grid.points.empty()) return parameters.grid.points;
  auto const file = std::ranges::find_if(
      parameters.inputs, [](auto const& input) { return !input.second.file.empty(); });
  auto const shape = inputs.shape(file->second);
  return {shape.rbegin(), shape.rend()};
}

namespace {

/// Where the first input that tells it has its points along each axis.
std::array<AxisPlaces, 3> told_places(Parameters const& parameters, Inputs const& inputs) {
  std::array<AxisPlaces, 3> told;
  std::array<bool, 3> is_told = {};
  for (auto const& [name, source] : parameters.inputs) {
    if (source.file.empty()) continue;
    auto const places = inputs.places(source);
    for (std::size_t a = 0; a < std::min(places.size(), told.size()); ++a) {
      if (is_told[a] || !places[a]) continue;
      told[a] = *places[a];
      is_told[a] = true;
    }
  }
  return told;
}

}  // namespace

Grid grid_of(config::RunConfig const& run, Inputs const& inputs) {
  auto const& given = parameters_of(run).grid;
  auto const points = points_of(parameters_of(run), inputs);
  auto const told = told_places(parameters_of(run), inputs);
  Grid grid;
  grid.dims = static_cast<int>(points.size());
  for (std::size_t a = 0; a < points.size(); ++a) {
    grid.points[a] = points[a];
    grid.origin[a] = given.lower.empty() ? told[a].lower : given.lower[a];
    grid.spacing[a] = given.spacing.empty() ? told[a].spacing : given.spacing[a];
    if (!given.upper.empty())
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

scan::Running running_of(ScanOptions const& options) {
  if (options.operation == "sum") return scan::Running::sum;
  return options.operation == "maximum" ? scan::Running::maximum : scan::Running::integral;
}

namespace {

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

}  // namespace gridstride::transform
