#include "kernels/modes/joined.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "core/precision.hpp"
#include "equations/source.hpp"
#include "kernels/fft/block_plan.hpp"
#include "kernels/fft/cuda_lines.hpp"
#include "kernels/modes/joined/works.hpp"
#include "kernels/system/rows.hpp"

namespace gridstride::modes {

namespace {

/// Waves that lie together (joined/places.cuh): as many as fill a sector of memory.
template <class T>
constexpr std::int64_t group = 32 / static_cast<std::int64_t>(2 * sizeof(T));

/// All waves, and those that fill the last group.
template <class T>
std::int64_t grouped(std::int64_t waves) {
  return (waves + group<T> - 1) / group<T> * group<T>;
}

/// The same with twice the threads, half as many numbers each, in radices of up to 8.
fft::BlockPlan widened(fft::BlockPlan plan, std::size_t number_bytes) {
  constexpr int radix = 8;
  plan.radices.clear();
  for (std::int64_t rest = plan.points; rest > 1; rest /= plan.radices.back())
    plan.radices.push_back(static_cast<int>(std::min<std::int64_t>(rest, radix)));
  plan.line_threads = static_cast<int>(plan.points / radix);
  plan.block_lines = 1;
  plan.padding = radix;
  plan.shared_bytes =
      static_cast<std::size_t>(plan.points + plan.points / radix + 1) * number_bytes;
  return plan;
}

/// What worker.cuh and places.cuh ask for.
template <class T>
std::string plan_text(fft::BlockPlan const& plan, bool neighbours, std::int64_t kept_x,
                      std::int64_t points_y) {
  return fmt::format(
      "#include \"kernels/fft/lines.hpp\"\n"
      "#include \"kernels/modes/sums.hpp\"\n"
      "using Real = {};\n"
      "namespace gridstride::fft {{\n"
      "constexpr int points = {}, passes = {}, line_threads = {}, block_lines = {};\n"
      "constexpr int short_points = points, padding = {}, radices[] = {{{}}};\n"
      "constexpr bool neighbours = {}, convolves = false, reorders = false;\n}}\n"
      "namespace gridstride::modes {{\n"
      "constexpr int kept_x = {}, points_y = {}, group = {};\n}}\n",
      sizeof(T) == 4 ? "float" : "double", plan.points, plan.radices.size(), plan.line_threads,
      plan.block_lines, plan.padding, fmt::join(plan.radices, ", "), neighbours, kept_x, points_y,
      group<T>);
}

/// Product number s as sum number s.
std::string text_of_products(int products) {
  std::string monomials, parts, ends = "0";
  for (int s = 0; s < products; ++s) {
    monomials += "{1, {0, 0, 0}, 0}, ";
    parts += fmt::format("{{{0}, 1, {{{0}, {1}}}, {{{1}, {1}}}, {{}}, {{}}}}, ", s, s + 1);
    ends += fmt::format(", {}", s + 1);
  }
  return fmt::format(
      "constexpr Monomial monomials[] = {{{}}};\n"
      "constexpr Part parts[] = {{{}}};\n"
      "constexpr int ends[] = {{{}}};\n",
      monomials, parts, ends);
}

RuntimeSource columns_source(std::string text) {
  return {.name = "columns of modes",
          .text = std::move(text),
          .options = {"-default-device", "--fmad=false"}};
}
RuntimeSource rows_source(std::string text) {
  return {.name = "rows of points between modes",
          .text = std::move(text),
          .options = {"-default-device", "--fmad=false"}};
}

/// Compiles beside what else there is to do.
auto compiled(Device const& device, RuntimeSource what) {
  return std::async(std::launch::async,
                    [device, what = std::move(what)] { return compile(device, what); })
      .share();
}

}  // namespace

template <class T>
struct Joined<T>::Plans {
  fft::BlockPlan columns, rows;
  std::size_t row_bytes;  ///< of shared memory

  static std::optional<Plans> of(std::size_t shared, Parts const& parts) {
    auto const columns = fft::block_plan({.points = parts.grid.points[1],
                                          .neighbours = true,
                                          .element_bytes = 2 * sizeof(T),
                                          .number_bytes = 2 * sizeof(T),
                                          .shared_bytes = shared});
    auto const rows = fft::block_plan({.points = parts.grid.points[0] / 2,
                                       .neighbours = false,
                                       .element_bytes = sizeof(T),
                                       .number_bytes = 2 * sizeof(T),
                                       .shared_bytes = shared});
    if (!columns || !rows || columns->convolves || rows->convolves) return std::nullopt;
    auto const arrays = static_cast<std::size_t>(std::max(parts.arrays, parts.products()));
    Plans plans{*columns, *rows, rows->shared_bytes * arrays};
    // Symbols take registers: a thread has as few numbers as it can.
    auto const threads = static_cast<int>(columns->points / std::ranges::max(columns->radices));
    if (threads > columns->line_threads && threads * columns->block_lines <= 1024)
      plans.columns.line_threads = threads;
    // Rows of many arrays leave room for few blocks: these then have the more threads.
    constexpr std::size_t few_blocks = 5;
    bool const is_power = (rows->points & (rows->points - 1)) == 0;
    if (is_power && rows->points >= 1024 && rows->points <= 8192 &&
        few_blocks * plans.row_bytes > shared) {
      plans.rows = widened(*rows, 2 * sizeof(T));
      plans.row_bytes = plans.rows.shared_bytes * arrays;
    }
    while (plans.row_bytes > shared && plans.rows.block_lines > 1) {
      plans.rows.block_lines /= 2;
      plans.row_bytes /= 2;
    }
    if (plans.row_bytes > shared) return std::nullopt;
    return plans;
  }

  std::string columns_text(Parts const& parts, bool is_back, int arrays,
                           std::string const& sums) const {
    auto const& layout = parts.layout;
    return plan_text<T>(columns, true, layout.kept[0], parts.grid.points[1]) +
           fmt::format(
               "namespace gridstride::modes {{\n"
               "constexpr bool is_back = {};\n"
               "constexpr int arrays = {}, kept_y = {}, below_y = {};\n"
               "{}}}\n"
               "#include \"kernels/modes/joined/columns.cuh\"\n",
               is_back, arrays, layout.kept[1], layout.below[1], sums);
  }
  std::string rows_text(Parts const& parts) const {
    constexpr Precision precision = precision_of<T>();
    return plan_text<T>(rows, false, parts.layout.kept[0], parts.grid.points[1]) +
           system::program_text(*parts.program, {true, true, true}, parts.arrays, precision,
                                equations::to_cuda(*parts.program, precision)) +
           fmt::format(
               "namespace gridstride::modes {{\n"
               "constexpr int arrays = {}, products = {};\n}}\n"
               "#include \"kernels/modes/joined/rows.cuh\"\n",
               parts.arrays, parts.products());
  }
};

/// Roots of one in device memory.
template <class T>
struct Joined<T>::Roots {
  fft::Number<T> const *of_columns, *of_rows, *halving;

  static Roots of([[maybe_unused]] Stream& stream, [[maybe_unused]] Plans const& plans,
                  [[maybe_unused]] std::int64_t points) {
    fft::LineWork<T> columns{}, rows{};
#ifdef GRIDSTRIDE_WITH_CUDA
    fft::set_roots(stream, plans.columns.radices, columns);
    fft::set_roots(stream, plans.rows.radices, rows);
    fft::set_tables(stream, fft::LineKind::periodic, points, 0, rows);
#endif
    return {columns.roots, rows.roots, rows.halving};
  }
};

template <class T>
bool Joined<T>::takes(Device const& device, Parts const& parts) {
  return device.backend() == Backend::cuda && has_runtime_compiler() &&
         takes(device.capabilities().shared_bytes, parts);
}

template <class T>
bool Joined<T>::takes(std::size_t shared_bytes, Parts const& parts) {
  auto const& program = *parts.program;
  bool const is_local = std::ranges::all_of(program.reach, [](int reach) { return reach == 0; });
  return parts.grid.dims == 2 && parts.sides[0][0] == equations::Beyond::periodic &&
         parts.sides[1][0] == equations::Beyond::periodic && parts.grid.points[0] % 2 == 0 &&
         parts.arrays > 0 && parts.products() > 0 && is_local && program.found == 0 &&
         Plans::of(shared_bytes, parts).has_value();
}

template <class T>
std::size_t Joined<T>::bytes(Parts const& parts) {
  return static_cast<std::size_t>(std::max(parts.arrays, parts.products()) * 2 *
                                  grouped<T>(parts.layout.kept[0]) * parts.grid.points[1]) *
         sizeof(T);
}

template <class T>
std::vector<RuntimeSource> Joined<T>::sources(std::size_t shared_bytes, Parts const& parts,
                                              SumList const& arrays) {
  auto const plans = Plans::of(shared_bytes, parts);
  if (!plans) throw std::invalid_argument("modes: this cannot be joined");
  int const products = parts.products();
  return {columns_source(plans->columns_text(parts, true, parts.arrays, arrays.text())),
          rows_source(plans->rows_text(parts)),
          columns_source(plans->columns_text(parts, false, products, text_of_products(products)))};
}

template <class T>
Joined<T>::Joined(Stream const& stream, Parts const& parts, SumList const& arrays)
    : stream_(stream),
      parts_(parts),
      arrays_(arrays.sums()),
      columns_(stream_, MemorySpace::device, bytes(parts) / sizeof(T)) {
  Device const device = stream_.device();
  if (!takes(device, parts)) throw std::invalid_argument("modes: this cannot be joined");
  plans_ = std::make_shared<Plans const>(*Plans::of(device.capabilities().shared_bytes, parts));
  back_ = compiled(device,
                   columns_source(plans_->columns_text(parts, true, parts.arrays, arrays.text())));
  rows_ = compiled(device, rows_source(plans_->rows_text(parts)));
  roots_ = std::make_shared<Roots const>(Roots::of(stream_, *plans_, parts.grid.points[0]));
}

template <class T>
typename Joined<T>::Module const& Joined<T>::forward(std::string const& sums) {
  auto const known = forward_.find(sums);
  if (known != forward_.end()) return known->second;
  auto const text = plans_->columns_text(parts_, false, parts_.products(), sums);
  return forward_.emplace(sums, compiled(stream_.device(), columns_source(text))).first->second;
}

template <class T>
void Joined<T>::prepare(SumList const& sums) {
  forward(sums.text());
}

template <class T>
void Joined<T>::wait() const {
  back_.wait();
  rows_.wait();
  for (auto const& [sums, module] : forward_) module.wait();
}

template <class T>
void Joined<T>::make_products(T const* unknowns, evaluate::DeviceClock const* clock,
                              double fraction, T* out) {
  make(forward(text_of_products(parts_.products())), {}, unknowns, clock, fraction, out);
}

template <class T>
void Joined<T>::make_sums(SumList const& sums, T const* unknowns,
                          evaluate::DeviceClock const* clock, double fraction, T* out) {
  make(forward(sums.text()), sums.sums(), unknowns, clock, fraction, out);
}

template <class T>
void Joined<T>::make(Module const& forward, Sums const& sums, T const* unknowns,
                     evaluate::DeviceClock const* clock, double fraction, T* out) {
  using Number = fft::Number<T>;
  auto const& grid = parts_.grid;
  auto* const columns = reinterpret_cast<Number*>(columns_.data());
  std::int64_t const size = grouped<T>(parts_.layout.kept[0]) * grid.points[1];
  auto const run_columns = [&](Module const& kernel, int arrays, Sums const& of) {
    auto const& plan = plans_->columns;
    std::int64_t const groups = (parts_.layout.kept[0] + plan.block_lines - 1) / plan.block_lines;
    kernel.get()->launch(stream_, "columns",
                         {.grid = static_cast<unsigned>(groups * arrays),
                          .block = static_cast<unsigned>(plan.threads()),
                          .shared_bytes = plan.shared_bytes},
                         ColumnsWork<T>{reinterpret_cast<Number const*>(unknowns),
                                        columns,
                                        reinterpret_cast<Number*>(out),
                                        roots_->of_columns,
                                        {of.along[0], of.along[1], of.along[2]},
                                        parts_.layout.kept_size(),
                                        size});
  };
  run_columns(back_, parts_.arrays, arrays_);
  rows_.get()->launch(
      stream_, "rows",
      {.grid = static_cast<unsigned>((grid.points[1] + plans_->rows.block_lines - 1) /
                                     plans_->rows.block_lines),
       .block = static_cast<unsigned>(plans_->rows.threads()),
       .shared_bytes = plans_->row_bytes},
      RowsWork<T>{columns, size, roots_->of_rows, roots_->halving,
                  system::place_of(grid, clock, nullptr), fraction});
  run_columns(forward, parts_.products(), sums);
}

template class Joined<float>;
template class Joined<double>;

}  // namespace gridstride::modes
