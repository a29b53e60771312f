#include "config/spatial_sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "config/file_source.hpp"
#include "config/run_fields.hpp"
#include "core/text.hpp"

namespace gridstride::config {
namespace {

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

void declare_source(Visitor& visitor, FieldInfo const& field, std::filesystem::path const& folder,
                    Presence presence, bool is_foreign, FieldSource& source) {
  std::string_view const documentation =
      is_foreign ? "A formula of space, or what an equation may say of other fields at time 0, of "
                   "names under `let` and of random numbers."
                 : "A formula of space.";
  Spec const spec{.name = field.name,
                  .unit = field.unit,
                  .documentation = field.documentation,
                  .any_name = field.any_name};
  auto const visit = [&](Visitor& v, std::string_view name, Formula& value) {
    v.visit({.name = name,
             .unit = field.unit,
             .documentation = documentation,
             .variables = "xyz",
             .is_foreign = is_foreign},
            value);
  };
  auto const formula = [&](Visitor& v) { visit(v, field.name, source.formula); };
  auto const formulas = [&](Visitor& v) {
    source.components.resize(field.components.size());
    for (std::size_t i = 0; i < field.components.size(); ++i)
      visit(v, field.components[i], source.components[i]);
  };
  auto const listed = [&](Visitor& v) {
    Spec list = spec;
    list.length = field.components.size();
    v.items<Formula>(list, source.components,
                     [&](Spec const& item, Formula& value) { visit(v, item.name, value); });
  };
  auto const dataset = [&](Visitor& v) { declare_field(v, folder, spec, source); };
  auto const any_components = [&](Visitor& v) {
    for (std::string_view const axis : axis_names) {
      Formula component;
      v.optional_formula({.name = axis, .documentation = documentation, .variables = "xyz"},
                         component);
    }
  };
  bool const is_vector = !field.components.empty();
  std::vector<Form> forms = {is_vector ? Form{.kind = Form::Kind::mapping, .body = formulas}
                                       : Form{.kind = Form::Kind::scalar, .body = formula},
                             {.kind = Form::Kind::mapping, .body = dataset}};
  if (field.any_name)
    forms.push_back({.kind = Form::Kind::mapping,
                     .documentation = "Of a vector, by component.",
                     .body = any_components});
  if (is_vector || field.any_name) forms.push_back({.kind = Form::Kind::items, .body = listed});
  bool const given = is_vector ? !source.components.empty() : !source.formula.text.empty();
  int chosen = !source.file.empty() ? 1 : given ? 0 : -1;
  visitor.forms(spec, presence, forms, chosen);
  source.location = visitor.locate(field.name);
  source.numbers = std::max(1, static_cast<int>(field.components.size()));
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

void declare_initial(Visitor& visitor, RunOptions& run, ParameterSet& parameters) {
  bool const is_solved = run.language != nullptr && visitor.given("verify.manufactured");
  Presence const presence = is_solved ? Presence::optional : Presence::required;
  visitor.section({.name = "initial", .documentation = "The fields at time 0."}, [&](Visitor& v) {
    run.initial_location = v.locate("");
    for (FieldInfo const& field : run.fields)
      if (!field.own_grid && !field.derived)
        declare_source(v, field, run.file.parent_path(), presence, parameters.reads_initial(),
                       run.initial[field.name]);
  });
  parameters.check_initial(visitor, run);
}

}  // namespace gridstride::config
