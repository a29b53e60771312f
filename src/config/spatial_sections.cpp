#include "config/spatial_sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "config/file_source.hpp"
#include "config/histogram_edges.hpp"
#include "core/text.hpp"

namespace gridstride::config {
namespace {

constexpr int most_axes = 3;
constexpr std::int64_t fewest_points = 3;
/// A field of 8-byte values with more would have more than 2^62 bytes.
constexpr std::int64_t most_points = std::int64_t{1} << 59;
/// What the kernels for histograms take.
constexpr int most_bins = 8192;
constexpr std::size_t most_quantiles = 100;

/// How many axes the grid has; 0 as long as that is not known.
int axes_of(RunOptions const& run) { return static_cast<int>(run.grid_options.points.size()); }

/// A list with one value for each axis.
ListShape per_axis(RunOptions const& run) {
  auto const axes = static_cast<std::size_t>(axes_of(run));
  return axes == 0 ? ListShape{1, most_axes} : ListShape{axes, axes};
}

/// The same, where each value has a default.
ListShape per_axis_filled(RunOptions const& run, double fill) {
  ListShape shape = per_axis(run);
  shape.fill = fill;
  return shape;
}

bool is_periodic(RunOptions const& run, int axis) {
  return run.boundary[axis][0].kind == SideKind::periodic;
}

/// Whether the number of points is one that a field may have.
bool fits(std::vector<std::int64_t> const& points) {
  std::int64_t product = 1;
  for (std::int64_t const n : points) {
    if (n > most_points / product) return false;
    product *= n;
  }
  return true;
}

void check_bounds(Visitor& v, GridOptions const& grid) {
  for (std::size_t a = 0; a < grid.points.size(); ++a) {
    double const extent = grid.upper[a] - grid.lower[a];
    double const spacing = extent / static_cast<double>(grid.points[a]);
    std::string const key = grid.points.size() == 1 ? "upper" : fmt::format("upper.{}", a);
    if (!(extent > 0)) {
      v.fault(key, fmt::format("must be larger than the lower end (here {} and {})",
                               format_exact(grid.upper[a]), format_exact(grid.lower[a])));
    } else if (!std::isfinite(extent) || !(grid.lower[a] + spacing > grid.lower[a]) ||
               !(grid.upper[a] - spacing < grid.upper[a])) {
      v.fault(key, fmt::format("{} points between {} and {} cannot be told apart", grid.points[a],
                               format_exact(grid.lower[a]), format_exact(grid.upper[a])));
    }
  }
}

/// `run.grid` from what the file says; an axis that is periodic leaves out the last point.
void complete_grid(RunOptions& run) {
  GridOptions const& options = run.grid_options;
  if (options.lower.size() != options.points.size() ||
      options.upper.size() != options.points.size())
    return;  // reported
  run.grid = Grid{};
  run.grid.dims = std::max(axes_of(run), 1);
  for (int a = 0; a < axes_of(run); ++a) {
    auto const n = options.points[static_cast<std::size_t>(a)];
    double const lower = options.lower[static_cast<std::size_t>(a)];
    double const upper = options.upper[static_cast<std::size_t>(a)];
    run.grid.points[a] = n;
    run.grid.origin[a] = lower;
    run.grid.spacing[a] = (upper - lower) / static_cast<double>(is_periodic(run, a) ? n : n - 1);
  }
}

/// The units of a value and of its derivative along an axis.
struct SideUnits {
  std::string value = "1";
  std::string derivative = "1/m";
};

SideUnits side_units(SimulationInfo const& simulation) {
  if (simulation.fields.empty()) return {};
  std::string const unit(simulation.fields.front().unit);
  return {unit, unit + "/m"};
}

/// How a file names a kind of side.
struct SideWord {
  SideKind kind;
  std::string_view word;
  bool has_value;
  std::string_view documentation;
};

constexpr SideWord side_words[] = {
    {SideKind::periodic, "periodic", false, "What leaves one side enters the other."},
    {SideKind::dirichlet, "dirichlet", true, "The value on the side."},
    {SideKind::neumann, "neumann", true, "The derivative along the outward normal on the side."},
    {SideKind::fixed, "fixed", false, "Held at zero."},
    {SideKind::free, "free", false, "Without a derivative along the normal."},
    {SideKind::absorbing, "absorbing", false, "Waves leave and do not come back."},
    {SideKind::outflow, "outflow", false, "What flows out leaves; nothing flows in."},
};

/// Those of one side that a simulation takes. `periodic` is of an axis as a whole.
std::vector<SideWord> words_of_side(SimulationInfo const& simulation) {
  std::vector<SideWord> words;
  for (auto const& one : side_words)
    if (one.kind != SideKind::periodic && std::ranges::count(simulation.sides, one.kind) > 0)
      words.push_back(one);
  return words;
}

/// A form for each word; a value that is read comes into the value of the same place.
std::vector<Form> forms_of(std::vector<SideWord> const& words, SimulationInfo const& simulation,
                           std::vector<Formula>& values) {
  SideUnits const units = side_units(simulation);
  std::vector<Form> forms;
  for (std::size_t i = 0; i < words.size(); ++i) {
    SideWord const one = words[i];
    if (!one.has_value) {
      forms.push_back({.word = one.word, .documentation = one.documentation});
      continue;
    }
    std::string const unit = one.kind == SideKind::neumann ? units.derivative : units.value;
    forms.push_back({.kind = Form::Kind::mapping, .body = [&values, i, one, unit](Visitor& v) {
                       v.visit({.name = one.word,
                                .unit = unit,
                                .documentation = one.documentation,
                                .variables = "xyzt"},
                               values[i]);
                     }});
  }
  return forms;
}

/// The place of a side's kind among the words, -1 for none.
int place_of(std::vector<SideWord> const& words, SideKind kind) {
  auto const place = std::ranges::find(words, kind, &SideWord::kind);
  return place == words.end() ? -1 : static_cast<int>(place - words.begin());
}

/// A value for each word; that of the present kind is the present one.
std::vector<Formula> values_of(std::vector<SideWord> const& words, SideCondition const& side) {
  std::vector<Formula> values(words.size());
  if (int const place = place_of(words, side.kind); place >= 0)
    values[static_cast<std::size_t>(place)] = side.value;
  return values;
}

/// `given` says whether `side` is what the file (and not a default) says.
void declare_side(Visitor& visitor, Spec const& spec, SimulationInfo const& simulation, bool given,
                  SideCondition& side) {
  auto const words = words_of_side(simulation);
  auto values = values_of(words, side);
  auto forms = forms_of(words, simulation, values);
  if (std::ranges::count(simulation.sides, SideKind::periodic) > 0)
    forms.push_back({.kind = Form::Kind::refused,
                     .word = "periodic",
                     .documentation = "an axis is periodic as a whole"});
  int chosen = given ? place_of(words, side.kind) : -1;
  visitor.forms(spec, Presence::required, forms, chosen);
  if (chosen < 0) return;
  auto const place = static_cast<std::size_t>(chosen);
  side = {words[place].kind, values[place]};
}

void declare_axis(Visitor& visitor, Spec const& spec, SimulationInfo const& simulation,
                  std::array<SideCondition, 2>& sides) {
  auto words = words_of_side(simulation);
  if (std::ranges::count(simulation.sides, SideKind::periodic) > 0)
    words.insert(words.begin(), side_words[0]);
  bool const same = sides[0].kind == sides[1].kind && sides[0].value.text == sides[1].value.text;
  auto values = values_of(words, sides[0]);
  std::array<SideCondition, 2> each = sides;
  auto forms = forms_of(words, simulation, values);
  int const separate = static_cast<int>(forms.size());
  forms.push_back({.kind = Form::Kind::mapping, .body = [&](Visitor& v) {
                     constexpr std::string_view names[] = {"lower", "upper"};
                     for (std::size_t side = 0; side < 2; ++side)
                       declare_side(v,
                                    {.name = names[side], .documentation = "The side at this end."},
                                    simulation, !same, each[side]);
                   }});
  int chosen = same ? place_of(words, sides[0].kind) : separate;
  visitor.forms(spec, Presence::optional, forms, chosen);
  if (chosen == separate) {
    sides = each;
  } else {
    auto const place = static_cast<std::size_t>(chosen);
    sides.fill({words[place].kind, values[place]});
  }
}

/// The path of an element of a list with `size` of them, which stands alone when it is the only
/// one.
std::string element_key(std::string_view list, std::size_t i, std::size_t size) {
  return size == 1 ? std::string(list) : fmt::format("{}.{}", list, i);
}

/// One entry of `diagnostics`; which members count depends on the kind.
struct Diagnostic {
  enum Kind { none = -1, norms, probe, histogram, quantiles };
  int kind = none;
  std::string field = {};
  std::vector<double> at = {};  ///< a probe's coordinates, or fractions of the points
  std::int64_t bins = HistogramOptions{}.bins;
  std::vector<double> range = {};  ///< of the bins; empty: from the field
};

void check_inside(Visitor& v, GridOptions const& grid, std::vector<double> const& at) {
  if (grid.lower.size() != at.size() || grid.upper.size() != at.size()) return;
  for (std::size_t a = 0; a < at.size(); ++a)
    if (!(at[a] >= grid.lower[a] && at[a] <= grid.upper[a]))
      v.fault(element_key("at", a, at.size()),
              fmt::format("{} is outside of the grid ({} goes from {} to {})", format_exact(at[a]),
                          axis_names[a], format_exact(grid.lower[a]), format_exact(grid.upper[a])));
}

std::string_view unit_of(RunOptions const& run, std::string_view field) {
  auto const& fields = run.simulation->fields;
  auto const found = std::ranges::find(fields, field, &SimulationInfo::FieldInfo::name);
  return found == fields.end() ? "1" : found->unit;
}

void declare_field(Visitor& v, RunOptions const& run, Diagnostic& diagnostic) {
  std::vector<Choice> fields;
  for (auto const& field : run.simulation->fields) fields.push_back({field.name});
  if (diagnostic.field.empty() && fields.size() == 1) diagnostic.field = fields.front().name;
  v.choice({.name = "field", .documentation = "The field that is looked at."}, fields,
           diagnostic.field);
}

void declare_probe(Visitor& visitor, RunOptions const& run, Diagnostic& diagnostic) {
  visitor.section(
      {.name = "probe", .documentation = "A field's value at a point, interpolated linearly."},
      [&](Visitor& v) {
        bool const read =
            v.list({.name = "at", .unit = "m", .documentation = "The point's coordinates."},
                   per_axis(run), diagnostic.at);
        if (read) check_inside(v, run.grid_options, diagnostic.at);
        declare_field(v, run, diagnostic);
      });
}

void check_range(Visitor& v, RunOptions const& run, std::vector<double> const& range,
                 std::int64_t bins) {
  if (!(range[0] < range[1]))
    return v.fault("range", fmt::format("the upper end must be larger than the lower one (here {} "
                                        "and {})",
                                        format_exact(range[1]), format_exact(range[0])));
  bool const divisible = run.precision == Precision::float32
                             ? rise(histogram_edges<float>(range[0], range[1], bins))
                             : rise(histogram_edges<double>(range[0], range[1], bins));
  if (!divisible)
    v.fault("range",
            fmt::format("{} to {} cannot be divided into {} bins of {}", format_exact(range[0]),
                        format_exact(range[1]), bins, name_of(run.precision)));
}

void declare_histogram(Visitor& visitor, RunOptions const& run, Diagnostic& diagnostic) {
  visitor.section(
      {.name = "histogram",
       .documentation = "How many points of a field have values in each of some even bins."},
      [&](Visitor& v) {
        declare_field(v, run, diagnostic);
        v.visit({.name = "bins",
                 .documentation = "The number of bins.",
                 .minimum = 1,
                 .maximum = most_bins},
                diagnostic.bins);
        bool const read =
            v.list({.name = "range",
                    .unit = unit_of(run, diagnostic.field),
                    .documentation = "Lower end of the first bin and upper end of the last; values "
                                     "outside are not counted. When left out, the field's least "
                                     "and greatest value at each output."},
                   {.minimum = 2, .maximum = 2, .presence = Presence::optional}, diagnostic.range);
        if (read) check_range(v, run, diagnostic.range, diagnostic.bins);
      });
}

void declare_quantiles(Visitor& visitor, RunOptions const& run, Diagnostic& diagnostic) {
  visitor.section(
      {.name = "quantiles",
       .documentation = "Values that given fractions of a field's points do not exceed."},
      [&](Visitor& v) {
        declare_field(v, run, diagnostic);
        auto& at = diagnostic.at;
        bool const read = v.list({.name = "at",
                                  .documentation = "The fractions: 0.5 for the median.",
                                  .minimum = 0,
                                  .maximum = 1},
                                 {1, most_quantiles}, at);
        for (std::size_t i = 0; read && i < at.size(); ++i)
          if (std::ranges::count(std::span(at).first(i), at[i]) > 0)
            v.fault(element_key("at", i, at.size()),
                    fmt::format("{} is given twice", format_exact(at[i])));
      });
}

void declare_diagnostic(Visitor& visitor, Spec const& spec, RunOptions const& run,
                        Diagnostic& diagnostic) {
  auto const form = [&](auto declare) {
    return Form{.kind = Form::Kind::mapping,
                .body = [&run, &diagnostic, declare](Visitor& v) { declare(v, run, diagnostic); }};
  };
  std::string const no_grid = fmt::format("{} has no grid", run.simulation->name);
  Form const no_probe{.kind = Form::Kind::refused, .word = "probe", .documentation = no_grid};
  Form const forms[] = {
      {.kind = Form::Kind::word,
       .word = "norms",
       .documentation = "Minimum, maximum, mean and root mean square of each field."},
      run.simulation->has_grid ? form(declare_probe) : no_probe,
      form(declare_histogram),
      form(declare_quantiles)};
  visitor.forms(spec, Presence::required, forms, diagnostic.kind);
}

/// Whether both give the same, or a value under one name.
bool clash(Diagnostic const& a, Diagnostic const& b) {
  if (a.kind != b.kind || a.field != b.field) return false;
  if (a.kind == Diagnostic::norms) return true;
  if (a.kind == Diagnostic::probe) return a.at == b.at && !a.at.empty();
  if (a.kind == Diagnostic::quantiles) return std::ranges::find_first_of(a.at, b.at) != a.at.end();
  return a.kind == Diagnostic::histogram && !a.field.empty() && a.bins == b.bins &&
         a.range == b.range;
}

void check_names(Visitor& v, std::vector<Diagnostic> const& list) {
  for (std::size_t i = 0; i < list.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (clash(list[i], list[j]))
        v.fault(fmt::format("diagnostics.{}", i),
                fmt::format("repeats what diagnostics.{} gives (each can be given once)", j));
}

std::vector<Diagnostic> list_of(DiagnosticsOptions const& options, std::size_t axes) {
  std::vector<Diagnostic> list;
  if (options.norms) list.push_back({.kind = Diagnostic::norms});
  for (Probe const& probe : options.probes)
    list.push_back({.kind = Diagnostic::probe,
                    .field = probe.field,
                    .at = {probe.at.begin(), probe.at.begin() + axes}});
  for (HistogramOptions const& histogram : options.histograms) {
    list.push_back(
        {.kind = Diagnostic::histogram, .field = histogram.field, .bins = histogram.bins});
    if (histogram.range) list.back().range.assign(histogram.range->begin(), histogram.range->end());
  }
  for (QuantileOptions const& quantiles : options.quantiles)
    list.push_back({.kind = Diagnostic::quantiles, .field = quantiles.field, .at = quantiles.at});
  return list;
}

DiagnosticsOptions options_of(std::vector<Diagnostic> const& list) {
  DiagnosticsOptions options{.norms = false};
  for (Diagnostic const& diagnostic : list) {
    auto const& [kind, field, at, bins, range] = diagnostic;
    if (kind == Diagnostic::norms) options.norms = true;
    if (kind == Diagnostic::probe) {
      Probe& probe = options.probes.emplace_back(Probe{field, {}});
      std::ranges::copy(at, probe.at.begin());
    }
    if (kind == Diagnostic::histogram) {
      auto& histogram = options.histograms.emplace_back(HistogramOptions{field, bins, {}});
      if (!range.empty()) histogram.range = {range[0], range[1]};
    }
    if (kind == Diagnostic::quantiles) options.quantiles.push_back({field, at});
  }
  return options;
}

void declare_source(Visitor& visitor, SimulationInfo::FieldInfo const& field,
                    std::filesystem::path const& folder, FieldSource& source) {
  auto const formula = [&](Visitor& v) {
    v.visit({.name = field.name,
             .unit = field.unit,
             .documentation = "A formula of space.",
             .variables = "xyz"},
            source.formula);
  };
  auto const dataset = [&](Visitor& v) {
    declare_field(v, folder, {.name = field.name, .unit = field.unit}, source);
  };
  Form const forms[] = {{.kind = Form::Kind::scalar, .body = formula},
                        {.kind = Form::Kind::mapping, .body = dataset}};
  int chosen = !source.file.empty() ? 1 : !source.formula.text.empty() ? 0 : -1;
  visitor.forms({.name = field.name, .unit = field.unit, .documentation = field.documentation},
                Presence::required, forms, chosen);
  source.location = visitor.locate(field.name);
}

}  // namespace

void declare_grid(Visitor& visitor, RunOptions& run) {
  GridOptions& grid = run.grid_options;
  visitor.section(
      {.name = "grid", .documentation = "A uniform grid of 1 to 3 dimensions."}, [&](Visitor& v) {
        bool const sized =
            v.list({.name = "points",
                    .documentation =
                        "Points along x, y and z; how many numbers there are gives the "
                        "dimensions. Both ends count, but a periodic axis leaves out the last.",
                    .minimum = fewest_points},
                   {1, most_axes}, grid.points);
        if (sized && !fits(grid.points))
          v.fault("points", "the grid is too large (a field would have more than 2^62 bytes)");
        bool const below = v.list({.name = "lower",
                                   .unit = "m",
                                   .documentation = "Coordinates of the lower end of each axis."},
                                  per_axis_filled(run, 0), grid.lower);
        bool const above = v.list({.name = "upper",
                                   .unit = "m",
                                   .documentation = "Coordinates of the upper end of each axis."},
                                  per_axis_filled(run, 1), grid.upper);
        if (sized && fits(grid.points) && below && above) check_bounds(v, grid);
      });
  if (axes_of(run) > 0) visitor.axes(axes_of(run));
}

void declare_boundary(Visitor& visitor, RunOptions& run) {
  if (run.simulation->sides.empty()) {
    visitor.refuse("boundary", fmt::format("{} has no conditions on the sides of its grid",
                                           run.simulation->name));
    return complete_grid(run);
  }
  int const axes = axes_of(run) == 0 ? most_axes : axes_of(run);
  visitor.section({.name = "boundary",
                   .documentation = "What holds on the two sides of each axis, for the first field "
                                    "of the simulation."},
                  [&](Visitor& v) {
                    for (int a = 0; a < axes; ++a)
                      declare_axis(
                          v, {.name = axis_names[a], .documentation = "The sides of this axis."},
                          *run.simulation, run.boundary[a]);
                    for (int a = axes; a < most_axes; ++a)
                      v.refuse(axis_names[a],
                               fmt::format("the grid has no axis {} (grid.points has {} {})",
                                           axis_names[a], axes, axes == 1 ? "entry" : "entries"));
                  });
  complete_grid(run);
}

void declare_initial(Visitor& visitor, RunOptions& run) {
  visitor.section({.name = "initial", .documentation = "The fields at time 0."}, [&](Visitor& v) {
    run.initial_location = v.locate("");
    for (auto const& field : run.simulation->fields)
      declare_source(v, field, run.file.parent_path(), run.initial[std::string(field.name)]);
  });
}

void declare_diagnostics(Visitor& visitor, RunOptions& run) {
  std::vector<Diagnostic> list = list_of(run.diagnostics, run.grid_options.points.size());
  visitor.items<Diagnostic>(
      {.name = "diagnostics", .documentation = "Numbers that are computed with each output."}, list,
      [&](Spec const& spec, Diagnostic& diagnostic) {
        declare_diagnostic(visitor, spec, run, diagnostic);
      });
  check_names(visitor, list);
  run.diagnostics = options_of(list);
}

}  // namespace gridstride::config
