#include "kernels/modes/modes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "bench/workloads.hpp"
#include "kernels/modes/symbols.hpp"

namespace gridstride::bench {

namespace of_modes {

using equations::Beyond;
using equations::BeyondSides;

constexpr std::array<Beyond, 2> around = {Beyond::periodic, Beyond::periodic};
constexpr BeyondSides sides = {around, around, around};

/// A square of points, periodic, of whose modes two thirds along each axis are kept.
Grid grid_of(std::int64_t size) {
  auto const root = std::floor(std::sqrt(static_cast<double>(size)) * (1 + 1e-12));
  Grid grid;
  grid.dims = 2;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    grid.points[axis] = std::max<std::int64_t>(static_cast<std::int64_t>(root), 8);
    grid.spacing[axis] = 0.1;
  }
  return grid;
}
modes::Layout layout_of(std::int64_t size) {
  return modes::layout_of(grid_of(size), sides, {2.0 / 3, 2.0 / 3, 1});
}

enum class Operation { combine, update, tabulate };

/// What a step of etdrk4 has between transforms: the velocities and the gradient of a vorticity (four
/// sums, two of them quotients); the last stage (four tables, five arrays); all six tables.
template <class T, Operation operation>
class Step {
 public:
  Step(Stream& stream, std::int64_t size, int sets)
      : stream_(stream),
        grid_(grid_of(size)),
        layout_(layout_of(size)),
        linear_(list({{{0, {{{2, 0, 0}, -1}, {{4, 0, 0}, -1}, {{0, 2, 0}, -1}}}}})),
        arrays_(list({{{0, {{{0, 1, 0}, -1}}, laplacian()}},
                      {{0, {{{1, 0, 0}, 1}}, laplacian()}},
                      {{0, {{{1, 0, 0}, 1}}}},
                      {{0, {{{0, 1, 0}, 1}}}}})),
        in_(stream, operation == Operation::tabulate ? 1 : kept() * (is_update ? 5 : 1), sets),
        table_values_(stream, is_update ? table_size() * 4 : 1, sets),
        out_(stream,
             operation == Operation::combine  ? 4 * 2 * layout_.full_size()
             : operation == Operation::update ? kept()
                                              : 6 * table_size(),
             sets),
        functions_(stream, MemorySpace::device, 6) {
    std::vector<modes::MatrixFunction> const all = {
        modes::entire(0.5, 1, 0, 0, 0), modes::entire(0.5, 0, 0.5, 0, 0),
        modes::entire(1, 1, 0, 0, 0),   modes::entire(1, 0, 1, -3, 4),
        modes::entire(1, 0, 0, 2, -4),  modes::entire(1, 0, 0, -1, 4)};
    copy_async(functions_.span(), std::span<modes::MatrixFunction const>(all), stream);
    stream.synchronize();
  }

  void prepare(int set) {
    machine::fill_random(stream_, in_(set), static_cast<std::uint64_t>(set));
    machine::fill_random(stream_, table_values_(set), static_cast<std::uint64_t>(set) + 9);
    spoil(stream_, out_(set));
  }
  void run(std::string_view variant, int set) { modes::run<T>(stream_, work(set), variant); }
  Values result(int set) {
    Values values;
    sample(stream_, out_.constant(set), values);
    return values;
  }

 private:
  static constexpr bool is_update = operation == Operation::update;
  static equations::Operator laplacian() { return {{{2, 0, 0}, 1}, {{0, 2, 0}, 1}}; }
  modes::SumList list(std::vector<equations::ModalSum> const& sums) {
    modes::Quantity const unknown{sides};
    return {stream_, grid_, layout_, equations::Symbols::exact, 2, sums, std::span(&unknown, 1),
            {}};
  }
  std::int64_t kept() const { return 2 * layout_.kept_size(); }
  modes::Tables tables() const {
    modes::Tables tables{.points = layout_.kept};
    tables.folds[1] = true;
    tables.points[1] = layout_.below[1];
    return tables;
  }
  std::int64_t table_size() const { return tables().size(); }

  modes::Work<T> work(int set) {
    if constexpr (operation == Operation::combine) {
      modes::Combination<T> combination;
      combination.layout = layout_;
      combination.sums = arrays_.sums();
      combination.count = arrays_.size();
      combination.unknowns = in_(set).data();
      combination.out = out_(set).data();
      combination.is_full = true;
      return combination;
    } else if constexpr (is_update) {
      modes::Update<T> update;
      update.layout = layout_;
      update.tables = tables();
      update.blocks = blocks_;
      update.outputs = 1;
      update.out[0] = out_(set).data();
      for (int term = 0; term < 5; ++term)
        update.terms[term] = {in_(set).data() + term * kept(), T(0.5)};
      int const ends[] = {1, 2, 4, 5};
      for (int group = 0; group < 4; ++group)
        update.group[group] = {
            ends[group], 1, {{table_values_(set).data() + group * table_size(), 0}}};
      update.groups = 4;
      return update;
    } else {
      modes::Tabulation<T> tabulation;
      tabulation.layout = layout_;
      tabulation.tables = tables();
      tabulation.linear = linear_.sums();
      tabulation.blocks = blocks_;
      tabulation.step = 1e-3;
      tabulation.functions = 6;
      tabulation.function = functions_.data();
      for (int f = 0; f < 6; ++f) tabulation.out[f] = out_(set).data() + f * table_size();
      return tabulation;
    }
  }

  Stream& stream_;
  Grid grid_;
  modes::Layout layout_;
  modes::SumList linear_, arrays_;
  std::vector<modes::Block> blocks_ = {{1, {0}, 0, 0}};
  Arrays<T> in_, table_values_, out_;
  Buffer<modes::MatrixFunction> functions_;
};

/// The largest difference from the reference on the host, of the largest value. Exponentials of two
/// libraries differ in their last bits, which quotients and sums of some terms carry on.
template <class T>
Accuracy difference_of_tables(std::int64_t size, Values const& found) {
  Stream host(Device::open(Backend::cpu));
  Step<T, Operation::tabulate> step(host, size, 1);
  step.prepare(0);
  step.run("reference", 0);
  Values const expected = step.result(0);
  long double difference = 0, largest = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    difference = std::max(difference, std::abs(found[i] - expected[i]));
    largest = std::max(largest, std::abs(expected[i]));
    if (std::isnan(found[i])) difference = std::numeric_limits<long double>::infinity();
  }
  double const units = sizeof(T) == 4 ? 1 : 32;
  return {static_cast<double>(difference / largest), units * std::numeric_limits<T>::epsilon()};
}

template <class T, Operation operation>
Problem problem(Stream& stream, std::int64_t size, int sets) {
  auto const step = std::make_shared<Step<T, operation>>(stream, size, sets);
  Problem problem{.prepare = [=](int set) { step->prepare(set); },
                  .run = [=](std::string_view variant, int set) { step->run(variant, set); }};
  if constexpr (operation == Operation::tabulate)
    problem.accuracy = [=](std::string_view) {
      return difference_of_tables<T>(size, step->result(0));
    };
  else
    problem.result = [=](int set) { return step->result(set); };
  return problem;
}

/// Of the modes that there are and those that are kept, and of the tables beside them.
template <class T, Operation operation>
Work work_of(std::int64_t size) {
  auto const layout = layout_of(size);
  double const mode = 2 * sizeof(T), full = static_cast<double>(layout.full_size()) * mode,
               kept = static_cast<double>(layout.kept_size()) * mode, table = kept / 4;
  double const bytes = operation == Operation::combine  ? kept + 4 * full
                       : operation == Operation::update ? 6 * kept + 4 * table
                                                        : 6 * table;
  double const numbers = kept / mode;
  // Two quotients of sums of two monomials; products and sums; exponentials and their series.
  double const flops = numbers * (operation == Operation::combine  ? 40
                                  : operation == Operation::update ? 24
                                                                   : 150);
  bool const is_function = operation == Operation::tabulate;
  return {.bytes = bytes,
          .flops = flops,
          .asks = {{machine::copy_roof, bytes},
                   {is_function ? arithmetic_roof<double>() : arithmetic_roof<T>(), flops}},
          .set_bytes = 2 * bytes,
          .elements = static_cast<double>(size)};
}

template <class T, Operation operation>
Workload workload(Backend backend, std::string_view name) {
  return {.family = "modes",
          .operation = name,
          .type = type_name<T>(),
          .by_default = sizeof(T) == 4,
          .size = backend == Backend::cuda ? std::int64_t{4096} * 4096 : std::int64_t{512} * 512,
          .work = work_of<T, operation>,
          .rows = rows_of(modes::variants<T>(), backend, modes::default_variant(backend)),
          .make = problem<T, operation>,
          .rounded = [](std::int64_t wanted) { return grid_of(wanted).size(); },
          .error = operation == Operation::tabulate
                       ? "the largest difference from the reference, of the largest value"
                       : ""};
}

template <class T>
void append_workloads(Backend backend, std::vector<Workload>& all) {
  all.push_back(workload<T, Operation::combine>(backend, "combine, four sums"));
  all.push_back(workload<T, Operation::update>(backend, "update, five arrays"));
  all.push_back(workload<T, Operation::tabulate>(backend, "tabulate, six functions"));
}

}  // namespace of_modes

std::vector<Workload> modes_workloads(Backend backend) {
  std::vector<Workload> all;
  of_modes::append_workloads<float>(backend, all);
  of_modes::append_workloads<double>(backend, all);
  return all;
}

}  // namespace gridstride::bench
