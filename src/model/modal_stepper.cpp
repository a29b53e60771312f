#include "model/modal_stepper.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace gridstride {

namespace {

using equations::ModalSum;
using equations::ModalSystem;

/// Fields that L couples, put together.
std::vector<std::vector<int>> coupled(ModalSystem const& system) {
  std::vector<int> of(system.linear.size());
  std::iota(of.begin(), of.end(), 0);
  for (std::size_t field = 0; field < of.size(); ++field)
    for (auto const& part : system.linear[field]) {
      int const a = of[field], b = of.at(static_cast<std::size_t>(part.quantity));
      std::ranges::replace(of, std::max(a, b), std::min(a, b));
    }
  std::vector<std::vector<int>> blocks;
  for (int first = 0; first < std::ssize(of); ++first) {
    std::vector<int> fields;
    for (int field = 0; field < std::ssize(of); ++field)
      if (of[static_cast<std::size_t>(field)] == first) fields.push_back(field);
    if (!fields.empty()) blocks.push_back(std::move(fields));
  }
  return blocks;
}

std::vector<ModalSum> identity(std::size_t count) {
  std::vector<ModalSum> sums;
  for (std::size_t field = 0; field < count; ++field)
    sums.push_back({{.quantity = static_cast<int>(field), .numerator = {{{0, 0, 0}, 1}}}});
  return sums;
}

std::vector<ModalSum> joined(std::vector<ModalSum> sums, std::vector<ModalSum> const& others) {
  for (std::size_t i = 0; i < sums.size(); ++i)
    sums[i].insert(sums[i].end(), others[i].begin(), others[i].end());
  return sums;
}

/// Numbers of T that the tables of a function take.
std::int64_t table_numbers(std::span<modes::Block const> blocks, modes::Tables const& tables) {
  std::int64_t numbers = 0;
  for (auto const& block : blocks)
    numbers += block.size * block.size * tables.size() * (block.is_complex != 0 ? 2 : 1);
  return numbers;
}

/// Whether some derivative in a sum, above or below, is such a one.
template <class Is>
bool any_monomial(ModalSum const& sum, Is const& is) {
  return std::ranges::any_of(sum, [&](equations::ModalPart const& part) {
    return std::ranges::any_of(part.numerator, is) || std::ranges::any_of(part.denominator, is);
  });
}

/// The same before there is a device: as the tables of `make_blocks` and their blocks are.
std::int64_t table_numbers(Grid const& grid, modes::Layout const& layout,
                           ModalSystem const& system) {
  auto const& sides = system.unknown_sides.front();
  auto const is_odd = [&](auto const& monomial, std::size_t axis) {
    return sides[axis][0] == equations::Beyond::periodic && monomial.first[axis] % 2 != 0;
  };
  std::int64_t points = 1;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(grid.dims); ++axis) {
    bool const is_even = std::ranges::none_of(system.linear, [&](ModalSum const& sum) {
      return any_monomial(sum, [&](auto const& one) { return is_odd(one, axis); });
    });
    bool const folds = sides[axis][0] == equations::Beyond::periodic &&
                       static_cast<int>(axis) != modes::halved_axis(grid, sides) && is_even;
    points *= folds ? layout.below[axis] : layout.kept[axis];
  }
  std::int64_t numbers = 0;
  for (auto const& fields : coupled(system)) {
    bool const is_complex = std::ranges::any_of(fields, [&](int field) {
      return any_monomial(system.linear[static_cast<std::size_t>(field)], [&](auto const& one) {
        return (is_odd(one, 0) != is_odd(one, 1)) != is_odd(one, 2);
      });
    });
    auto const size = static_cast<std::int64_t>(fields.size());
    numbers += size * size * points * (is_complex ? 2 : 1);
  }
  return numbers;
}

bool keeps_steps(std::string_view scheme) { return scheme == "imex_bdf2"; }

}  // namespace

template <class T>
std::string ModalStepper<T>::refusal(Grid const& grid, ModalSystem const& system,
                                     std::string_view scheme) {
  auto const& first = system.unknown_sides.front();
  auto const modes_along = [&](equations::BeyondSides const& sides, std::size_t axis) {
    return modes::extent_of(modes::kinds_of(grid, sides)[axis], grid.points[axis]).modes;
  };
  auto const check = [&](equations::BeyondSides const& sides) -> std::string {
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(grid.dims); ++axis) {
      bool const wraps = sides[axis][0] == equations::Beyond::periodic,
                 first_wraps = first[axis][0] == equations::Beyond::periodic;
      if (wraps != first_wraps || modes_along(sides, axis) != modes_along(first, axis))
        return fmt::format(
            "fields have modes of several kinds along {}: where one has a Dirichlet and a Neumann "
            "side, all have",
            axis_names[axis]);
      auto const extent = modes::extent_of(modes::kinds_of(grid, sides)[axis], grid.points[axis]);
      bool const both_even = !wraps && extent.modes == grid.points[axis];
      if (extent.points < 1 || (both_even && grid.points[axis] < 3))
        return fmt::format("axis {} has {} points, too few for modes between its sides",
                           axis_names[axis], grid.points[axis]);
    }
    return {};
  };
  for (auto const& sides : system.unknown_sides)
    if (auto why = check(sides); !why.empty()) return why;
  for (auto const& level : system.levels)
    for (auto const* const all : {&level.array_sides, &level.product_sides})
      for (auto const& sides : *all)
        if (auto why = check(sides); !why.empty()) return why;
  if (is_implicit_in_modes(scheme))
    for (auto const& fields : coupled(system))
      if (fields.size() > modes::max_block)
        return fmt::format(
            "{} takes up to {} fields that linear terms couple to each other, here "
            "are {}",
            scheme, modes::max_block, fields.size());
  return {};
}

template <class T>
ModalStepper<T>::ModalStepper(Stream const& stream, Grid const& grid, ModalSystem const& system,
                              std::string_view scheme, ModalVariants variants)
    : stream_(stream),
      grid_(grid),
      system_(refusal(grid, system, scheme).empty()
                  ? system
                  : throw std::invalid_argument("modes: " + refusal(grid, system, scheme))),
      scheme_name_(scheme),
      variants_(variants),
      layout_(modes::layout_of(grid, system_.unknown_sides.front(), system_.dealias)),
      products_(stream, grid, layout_, system_, variants_),
      linear_(sums_of(system_.linear)),
      rest_(sums_of(system_.rest)),
      whole_(sums_of(joined(system_.linear, system_.rest))),
      unknown_(sums_of(identity(system_.linear.size()))),
      held_(sums_of(system_.held)),
      scheme_(modal_scheme(scheme, keeps_steps(scheme) ? 0 : 1)),
      array_size_(static_cast<std::size_t>(layout_.kept_size() * layout_.numbers()) *
                  system_.linear.size()) {
  int const count = components();
  for (auto const& sides : system_.unknown_sides) {
    ModalSum const given = {{.quantity = count, .numerator = {{{0, 0, 0}, 1}}}};
    modes::Quantity const quantity{sides, products_.transform().factor(sides)};
    given_.emplace_back(stream_, grid_, layout_, system_.symbols, system_.order,
                        std::span(&given, 1), products_.unknowns(), std::span(&quantity, 1));
  }
  arrays_ = Buffer<T>(stream_, MemorySpace::device,
                      array_size_ * static_cast<std::size_t>(scheme_.arrays));
  zero_async(arrays_.span(), stream_);
  for (ModalStage const& stage : scheme_.stages)
    if (products_.makes(rates_of(stage.rate))) products_.prepare(rates_of(stage.rate));
  make_blocks();
}

template <class T>
modes::SumList ModalStepper<T>::sums_of(std::vector<ModalSum> const& sums) {
  return modes::SumList(stream_, grid_, layout_, system_.symbols, system_.order, sums,
                        products_.unknowns(), products_.products());
}

template <class T>
void ModalStepper<T>::make_blocks() {
  auto const& sides = system_.unknown_sides.front();
  int const halved = modes::halved_axis(grid_, sides);
  tables_.points = layout_.kept;
  for (int axis = 0; axis < grid_.dims; ++axis) {
    auto const a = static_cast<std::size_t>(axis);
    tables_.folds[a] =
        sides[a][0] == equations::Beyond::periodic && axis != halved && linear_.is_even(axis);
    if (tables_.folds[a]) tables_.points[a] = layout_.below[a];
  }
  for (auto const& fields : coupled(system_)) {
    // Without matrices each field is updated by itself.
    std::size_t const together = scheme_.functions.empty() ? 1 : fields.size();
    for (std::size_t first = 0; first < fields.size(); first += together) {
      modes::Block block{static_cast<int>(together), {}, 0, 0};
      for (std::size_t i = 0; i < together; ++i) {
        block.fields[i] = fields[first + i];
        block.is_complex = block.is_complex != 0 || linear_.is_complex(block.fields[i]) ? 1 : 0;
      }
      blocks_.push_back(block);
    }
  }
  // Complex numbers begin at even places.
  std::ranges::stable_partition(blocks_, [](auto const& block) { return block.is_complex != 0; });
  for (std::size_t b = 0; b < blocks_.size(); ++b)
    blocks_[b].table = table_numbers(std::span(blocks_).first(b), tables_);
  constexpr std::int64_t together = 32;
  table_size_ = static_cast<std::size_t>((table_numbers(blocks_, tables_) + together - 1) /
                                         together * together);
  table_values_ = Buffer<T>(stream_, MemorySpace::device, table_size_ * scheme_.functions.size());
  functions_ =
      Buffer<modes::MatrixFunction>(stream_, MemorySpace::device, scheme_.functions.size());
}

// ------------------------------------------------------------------------------------ fields

template <class T>
void ModalStepper<T>::combine(modes::SumList const& sums, int first, int count, T const* unknowns,
                              T const* products, T* out, bool is_full) {
  modes::Combination<T> work{.layout = layout_, .sums = sums.sums()};
  work.first = first;
  work.count = count;
  work.unknowns = unknowns;
  work.products = products;
  work.has_kept_products = products == products_.spectra() && products_.are_kept();
  work.out = out;
  work.is_full = is_full;
  modes::run<T>(stream_, work, variants_.modes);
}

template <class T>
void ModalStepper<T>::to_modes(int component, std::span<T const> values) {
  auto const c = static_cast<std::size_t>(component);
  T* const spectrum = products_.scratch();
  products_.transform().to_modes(system_.unknown_sides.at(c), 1, values.data(), spectrum);
  std::size_t const size = array_size_ / system_.linear.size();
  combine(given_[c], 0, 1, nullptr, spectrum, state().data() + c * size, false);
  step_before_ = 0;
}

template <class T>
void ModalStepper<T>::to_points(int component, std::span<T> values) {
  T* const spectrum = products_.scratch();
  combine(unknown_, component, 1, state().data(), nullptr, spectrum, true);
  zero_async(values, stream_);
  products_.transform().to_points(system_.unknown_sides.at(static_cast<std::size_t>(component)), 1,
                                  spectrum, values.data());
}

template <class T>
void ModalStepper<T>::held_to_points(int number, evaluate::DeviceClock const* clock,
                                     std::span<T> values) {
  auto const n = static_cast<std::size_t>(number);
  bool const has_products = std::ranges::any_of(
      system_.held.at(n), [this](auto const& part) { return part.quantity >= components(); });
  if (has_products) products_.evaluate(state().data(), clock, 0);
  T* const spectrum = products_.scratch();
  combine(held_, number, 1, state().data(), products_.spectra(), spectrum, true);
  zero_async(values, stream_);
  products_.transform().to_points(system_.held_sides.at(n), 1, spectrum, values.data());
}

// ------------------------------------------------------------------------------------- steps

template <class T>
typename ModalStepper<T>::Key ModalStepper<T>::key_of(double step) const {
  if (!keeps_steps(scheme_name_)) return {step, 1};
  return {step, step_before_ == 0 ? 0 : step / step_before_};
}

template <class T>
bool ModalStepper<T>::is_steady(double step) const {
  return key_ == Key{step, 1} && key_of(step) == Key{step, 1};
}

template <class T>
void ModalStepper<T>::prepare(double step) {
  Key const key = key_of(step);
  if (key_ == key) return;
  scheme_ = modal_scheme(scheme_name_, key.second);
  key_ = key;
  if (scheme_.functions.empty()) return;
  copy_async(functions_.span(), std::span<modes::MatrixFunction const>(scheme_.functions), stream_);
  modes::Tabulation<T> work{.layout = layout_,
                            .tables = tables_,
                            .linear = linear_.sums(),
                            .blocks = blocks_,
                            .step = step,
                            .functions = static_cast<int>(scheme_.functions.size()),
                            .function = functions_.data(),
                            .out = {}};
  for (int f = 0; f < work.functions; ++f) work.out[f] = table(f);
  modes::run<T>(stream_, work, variants_.modes);
}

template <class T>
void ModalStepper<T>::step(double step, evaluate::DeviceClock const* clock) {
  prepare(step);
  queue(scheme_.start, step);
  for (ModalStage const& stage : scheme_.stages) {
    queue(stage.rate, clock);
    queue(stage.update, step);
  }
  pair();
  step_before_ = step;
}

template <class T>
void ModalStepper<T>::pair() {
  if (!layout_.is_complex) return;
  auto const& sides = system_.unknown_sides.front();
  modes::Pairing<T> work;
  work.layout = layout_;
  work.axis = modes::halved_axis(grid_, sides);
  auto const halved = static_cast<std::size_t>(work.axis);
  work.has_last = grid_.points[halved] % 2 == 0 && layout_.kept[halved] == layout_.full[halved] &&
                  layout_.kept[halved] > 1;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(grid_.dims); ++axis)
    work.waves[axis] = axis != halved && sides[axis][0] == equations::Beyond::periodic;
  work.fields = components();
  work.values = state().data();
  modes::run<T>(stream_, work, variants_.modes);
}

template <class T>
void ModalStepper<T>::queue(ModalRate const& rate, evaluate::DeviceClock const* clock) {
  T const* const unknowns = array(rate.in).data();
  auto const& sums = rates_of(rate);
  if (products_.makes(sums))
    return products_.make(sums, unknowns, clock, rate.time, array(rate.out).data());
  products_.evaluate(unknowns, clock, rate.time);
  combine(sums, 0, components(), unknowns, products_.spectra(), array(rate.out).data(), false);
}

template <class T>
void ModalStepper<T>::queue(ModalUpdate const& update, double step) {
  if (update.groups.empty()) return;
  modes::Update<T> work{.layout = layout_, .tables = tables_, .blocks = blocks_};
  auto const out_of = [&](T* values) {
    auto* const end = work.out + work.outputs;
    auto* const known = std::find(work.out, end, values);
    if (known == end) work.out[work.outputs++] = values;
    return static_cast<int>(known - work.out);
  };
  int terms = 0;
  for (auto const& group : update.groups) {
    auto& made = work.group[work.groups++];
    for (auto const& [number, weight, times_step] : group.terms)
      work.terms[terms++] = {array(number).data(),
                             static_cast<T>(weight * (times_step ? step : 1))};
    made.end = terms;
    for (auto const& [function, out] : group.targets)
      made.target[made.targets++] = {function < 0 ? nullptr : table(function),
                                     out_of(array(out).data())};
  }
  modes::run<T>(stream_, work, variants_.modes);
}

// ------------------------------------------------------------------------------- checkpoints

template <class T>
void ModalStepper<T>::save(CheckpointSink& sink) const {
  sink.put_array("modes/state", array(0), stream_);
  if (!keeps_steps(scheme_name_)) return;
  sink.put_real("modes/step_before", step_before_);
  sink.put_array("modes/state_before", array(2), stream_);
  sink.put_array("modes/rate_before", array(3), stream_);
}

template <class T>
void ModalStepper<T>::load(CheckpointSource const& source) {
  source.get_array("modes/state", array(0), stream_);
  key_.reset();
  if (!keeps_steps(scheme_name_)) return;
  step_before_ = source.get_real("modes/step_before");
  source.get_array("modes/state_before", array(2), stream_);
  source.get_array("modes/rate_before", array(3), stream_);
}

template <class T>
std::size_t ModalStepper<T>::bytes(Backend backend, Grid const& grid, ModalSystem const& system,
                                   std::string_view scheme, ModalVariants const& variants) {
  auto const layout = modes::layout_of(grid, system.unknown_sides.front(), system.dealias);
  auto const numbers = static_cast<std::size_t>(layout.kept_size() * layout.numbers());
  auto const made = modal_scheme(scheme, keeps_steps(scheme) ? 0 : 1);
  auto const of_tables =
      made.functions.empty() ? 0 : static_cast<std::size_t>(table_numbers(grid, layout, system));
  return ModalProducts<T>::bytes(backend, grid, system, variants) +
         (numbers * system.linear.size() * static_cast<std::size_t>(made.arrays) +
          of_tables * made.functions.size()) *
             sizeof(T);
}

template <class T>
std::size_t ModalStepper<T>::saved_bytes(Grid const& grid, ModalSystem const& system,
                                         std::string_view scheme) {
  auto const layout = modes::layout_of(grid, system.unknown_sides.front(), system.dealias);
  auto const numbers = static_cast<std::size_t>(layout.kept_size() * layout.numbers());
  return numbers * system.linear.size() * (keeps_steps(scheme) ? 3 : 1) * sizeof(T);
}

template class ModalStepper<float>;
template class ModalStepper<double>;

}  // namespace gridstride
