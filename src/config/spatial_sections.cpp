#include "config/spatial_sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "config/file_source.hpp"
#include "core/text.hpp"

namespace gridstride::config {
namespace {

constexpr int most_axes = 3;
constexpr std::int64_t fewest_points = 3;
/// A field of 8-byte values with more would have more than 2^62 bytes.
constexpr std::int64_t most_points = std::int64_t{1} << 59;

/// How many axes the grid has; 0 as long as that is not known.
int axes_of(RunOptions const& run) { return static_cast<int>(run.grid_options.points.size()); }

/// A list with one value for each axis, where each has a default.
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

ListShape per_axis(RunOptions const& run) {
  auto const axes = static_cast<std::size_t>(axes_of(run));
  return axes == 0 ? ListShape{1, most_axes} : ListShape{axes, axes};
}

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

}  // namespace gridstride::config
