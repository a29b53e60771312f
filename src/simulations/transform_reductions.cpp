#include "simulations/transform_reductions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "simulations/transform_finder.hpp"

namespace gridstride::transform {

// ------------------------------------------------------------------------------ what is looked at

Sought::Sought(Chain& chain, std::vector<ReduceOptions> const& wanted) : reductions(&wanted) {
  expression::Variable const variables[] = {{"array", expression::first_array}};
  for (auto const& reduction : wanted) {
    int place = chain.place_of(reduction.kind == ReduceOptions::dot ? reduction.factors.front()
                                                                    : reduction.of);
    if (reduction.kind == ReduceOptions::norms)
      place = chain.append({"",
                            {place},
                            ByFormula{expression::Expression::parse("abs(array)", {}, variables)},
                            chain.link(place).grid});
    looked_at.push_back(place);
  }
}

std::vector<int> Sought::places(Chain const& chain) const {
  std::vector<int> places = looked_at;
  places.insert(places.end(), finite.begin(), finite.end());
  for (auto const& reduction : *reductions) {
    if (reduction.kind == ReduceOptions::norms) places.push_back(chain.place_of(reduction.of));
    if (reduction.kind == ReduceOptions::dot)
      places.push_back(chain.place_of(reduction.factors[1]));
  }
  return places;
}

std::vector<int> Sought::later_places() const {
  std::vector<int> places;
  for (std::size_t r = 0; r < looked_at.size(); ++r) {
    auto const& reduction = (*reductions)[r];
    if (reduction.kind == ReduceOptions::moments || reduction.kind == ReduceOptions::quantiles ||
        (reduction.kind == ReduceOptions::histogram && reduction.range.empty()))
      places.push_back(looked_at[r]);
  }
  return places;
}

namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

// ------------------------------------------------------------------------------------ the finders

[[noreturn]] void refuse_infinite(std::string const& what) {
  throw NumericalError(fmt::format("{} is infinite or not a number", what));
}

/// The largest magnitude.
template <class T>
double largest_of(MomentsFinder<T> const& moments) {
  auto const& found = moments.found();
  return std::max(std::abs(static_cast<double>(found.minimum)),
                  std::abs(static_cast<double>(found.maximum)));
}

/// Refuses values whose squares lose their digits in float64, of which this is the largest.
void check_squares(double largest, std::string_view reduction) {
  if (largest == 0 || (largest > 1e-140 && largest < 1e140)) return;
  throw NumericalError(fmt::format(
      "squares of values up to {} are beyond what float64 can hold (for {}: other units "
      "may help)",
      largest, reduction));
}

/// The same of two arrays whose products are too small; those that are too large end as infinite.
void check_products(double first, double second) {
  if (first == 0 || second == 0 || first > 1e-280 / second) return;
  throw NumericalError(
      fmt::format("products of values up to {} and {} are beyond what float64 can hold (for dot: "
                  "other units may help)",
                  first, second));
}

/// Least and greatest value, sum and mean, then the variance about the mean.
template <class T>
class VarianceFinder final : public Finder<T> {
 public:
  explicit VarianceFinder(Wanted<T> const& wanted)
      : chain_(&wanted.chain),
        name_(wanted.options.of),
        moments_(wanted.moments.front()),
        mean_(wanted.stream, MemorySpace::device, 1),
        squares_(wanted.stream, wanted.chain, wanted.place,
                 reduce::SquaresOperation<T>{mean_.data()}) {}
  static std::size_t bytes(Chain const& chain, ReduceOptions const&, int place) {
    return sizeof(double) + Reduced<reduce::SquaresOperation<T>>::bytes(chain, place);
  }

  std::vector<int> places() const override {
    if (pass_ == 2) return {};
    return {squares_.place()};
  }
  int passes() const override { return 2 - pass_; }
  void take(Worker<T>& worker, Rows const& chunk) override {
    if (pass_ == 1) squares_.take(worker, chunk);
  }
  void end_pass(Stream& stream) override {
    auto const size = static_cast<double>(chain_->link(squares_.place()).grid.size());
    if (pass_++ == 1) {
      values_[4] = squares_.finish(stream) / size;
      return;
    }
    auto const& found = moments_->found();
    values_ = {static_cast<double>(found.minimum), static_cast<double>(found.maximum), found.sum,
               found.sum / size, unknown};
    check_squares(largest_of(*moments_), "moments");
    copy_async(mean_.span(), std::span<double const>(&values_[3], 1), stream);
    stream.synchronize();
  }
  std::vector<NamedValue> numbers() const override {
    return named(name_, {"minimum", "maximum", "sum", "mean", "variance"}, values_);
  }

 private:
  Chain const* chain_;
  std::string name_;
  MomentsFinder<T> const* moments_;
  Buffer<double> mean_;
  Reduced<reduce::SquaresOperation<T>> squares_;
  int pass_ = 0;
  std::vector<double> values_ = std::vector<double>(5, unknown);
};

/// A finder of one pass.
template <class T>
class OnePass : public Finder<T> {
 public:
  std::vector<int> places() const override { return done_ ? std::vector<int>() : looked_at(); }
  void end_pass(Stream& stream) override {
    done_ = true;
    values_ = find(stream);
    for (NamedValue const& number : this->numbers())
      if (!std::isfinite(number.value)) refuse_infinite(number.name);
  }
  std::vector<NamedValue> numbers() const override { return named(name_, keys_, values_); }

 protected:
  OnePass(std::string name, std::vector<std::string> keys)
      : name_(std::move(name)), keys_(std::move(keys)), values_(keys_.size(), unknown) {}

  virtual std::vector<int> looked_at() const = 0;
  virtual std::vector<double> find(Stream& stream) = 0;

 private:
  std::string name_;
  std::vector<std::string> keys_;
  std::vector<double> values_;
  bool done_ = false;
};

/// Σ |x|, the root of Σ x², and the greatest |x|.
template <class T>
class NormsFinder final : public OnePass<T> {
 public:
  explicit NormsFinder(Wanted<T> const& wanted)
      : OnePass<T>(wanted.options.of, {"l1", "l2", "max_norm"}),
        moments_(wanted.moments.front()),
        sum_(wanted.stream, wanted.chain, wanted.place) {}
  static std::size_t bytes(Chain const& chain, ReduceOptions const&, int place) {
    return Reduced<reduce::SumOperation<T>>::bytes(chain, place);
  }

  void take(Worker<T>& worker, Rows const& chunk) override { sum_.take(worker, chunk); }

 private:
  std::vector<int> looked_at() const override { return {sum_.place()}; }
  std::vector<double> find(Stream& stream) override {
    double const largest = largest_of(*moments_);
    check_squares(largest, "norms");
    return {sum_.finish(stream), std::sqrt(moments_->found().sum_of_squares), largest};
  }

  MomentsFinder<T> const* moments_;
  Reduced<reduce::SumOperation<T>> sum_;
};

/// The first point that has the least or the greatest value.
template <class T, class Operation>
class PlaceFinder final : public OnePass<T> {
 public:
  explicit PlaceFinder(Wanted<T> const& wanted)
      : OnePass<T>(wanted.options.of, keys_of(wanted)),
        grid_(wanted.chain.link(wanted.place).grid),
        extreme_(wanted.stream, wanted.chain, wanted.place) {}
  static std::size_t bytes(Chain const& chain, ReduceOptions const&, int place) {
    return Reduced<Operation>::bytes(chain, place);
  }

  void take(Worker<T>& worker, Rows const& chunk) override { extreme_.take(worker, chunk); }

 private:
  static std::vector<std::string> keys_of(Wanted<T> const& wanted) {
    std::string const what =
        wanted.options.kind == ReduceOptions::where_max ? "where_max" : "where_min";
    std::vector<std::string> keys = {what};
    for (int axis = 0; axis < wanted.chain.grid().dims; ++axis)
      keys.push_back(fmt::format("{}.{}", what, axis_names[static_cast<std::size_t>(axis)]));
    return keys;
  }
  std::vector<int> looked_at() const override { return {extreme_.place()}; }
  std::vector<double> find(Stream& stream) override {
    auto const found = extreme_.finish(stream);
    std::vector<double> values = {static_cast<double>(found.value)};
    auto const at = grid_.indices(found.index);
    for (int axis = 0; axis < grid_.dims; ++axis)
      values.push_back(grid_.coordinate(axis, at[static_cast<std::size_t>(axis)]));
    return values;
  }

  Grid grid_;
  Reduced<Operation> extreme_;
};

template <class T>
class DotFinder final : public OnePass<T> {
 public:
  explicit DotFinder(Wanted<T> const& wanted)
      : OnePass<T>(wanted.options.factors[0], {"dot." + wanted.options.factors[1]}),
        moments_(wanted.moments),
        second_(wanted.chain.place_of(wanted.options.factors[1])),
        products_(wanted.stream, wanted.chain, wanted.place) {}
  static std::size_t bytes(Chain const& chain, ReduceOptions const&, int place) {
    return Reduced<reduce::DotOperation<T>>::bytes(chain, place);
  }

  void take(Worker<T>& worker, Rows const& chunk) override {
    products_.take(worker, chunk, second_);
  }

 private:
  std::vector<int> looked_at() const override { return {products_.place(), second_}; }
  std::vector<double> find(Stream& stream) override {
    check_products(largest_of(*moments_[0]), largest_of(*moments_[1]));
    return {products_.finish(stream)};
  }

  std::vector<MomentsFinder<T> const*> moments_;
  int second_;
  Reduced<reduce::DotOperation<T>> products_;
};

template <class T>
class IntegralFinder final : public OnePass<T> {
 public:
  explicit IntegralFinder(Wanted<T> const& wanted)
      : OnePass<T>(wanted.options.of, {wanted.options.rule}),
        integral_(wanted.stream, wanted.chain, wanted.place,
                  operation_of(wanted.chain.link(wanted.place).grid, wanted.options.rule)) {}
  static std::size_t bytes(Chain const& chain, ReduceOptions const&, int place) {
    return Reduced<reduce::IntegralOperation<T>>::bytes(chain, place);
  }

  void take(Worker<T>& worker, Rows const& chunk) override { integral_.take(worker, chunk); }

 private:
  static reduce::IntegralOperation<T> operation_of(Grid const& grid, std::string_view rule) {
    auto const number = rule == "simpson" ? reduce::Rule::simpson : reduce::Rule::trapezoid;
    return {number, grid.dims, grid.points, grid.spacing};
  }
  std::vector<int> looked_at() const override { return {integral_.place()}; }
  std::vector<double> find(Stream& stream) override { return {integral_.finish(stream)}; }

  Reduced<reduce::IntegralOperation<T>> integral_;
};

}  // namespace

std::vector<NamedValue> named(std::string const& name, std::vector<std::string> const& keys,
                              std::vector<double> const& values) {
  std::vector<NamedValue> all;
  for (std::size_t i = 0; i < keys.size(); ++i)
    all.push_back({.name = fmt::format("{}.{}", name, keys[i]), .value = values[i]});
  return all;
}

template <class T>
void MomentsFinder<T>::end_pass(Stream& stream) {
  auto const found = reduced_.finish(stream);
  auto const& link = chain_->link(place());
  if (found.first_non_finite >= 0)
    throw NumericalError(fmt::format("{} is infinite or not a number at {}", link.name,
                                     format_place(link.grid, found.first_non_finite)));
  found_ = found;
}

namespace {

/// In the order of `ReduceOptions::Kind`.
template <class T>
FinderRow<T> row_of(ReduceOptions const& options) {
  FinderRow<T> const rows[] = {
      finder_row<VarianceFinder<T>, T>(),
      finder_row<NormsFinder<T>, T>(),
      finder_row<PlaceFinder<T, reduce::MaximumPlace<T>>, T>(),
      finder_row<PlaceFinder<T, reduce::MinimumPlace<T>>, T>(),
      finder_row<DotFinder<T>, T>(),
      finder_row<IntegralFinder<T>, T>(),
      histogram_row<T>(),
      quantiles_row<T>(),
  };
  return rows[options.kind];
}

/// The arrays whose moments are found for a reduction: all that it is of, which have to be finite.
std::vector<int> moments_of(Chain const& chain, ReduceOptions const& options, int looked_at) {
  switch (options.kind) {
    case ReduceOptions::norms:
      return {chain.place_of(options.of)};
    case ReduceOptions::dot:
      return {looked_at, chain.place_of(options.factors[1])};
    default:
      return {looked_at};
  }
}

/// All arrays whose moments are found, each once.
std::vector<int> moments_of(Chain const& chain, Sought const& sought) {
  std::vector<int> places = sought.finite;
  for (std::size_t r = 0; r < sought.looked_at.size(); ++r)
    std::ranges::copy(moments_of(chain, (*sought.reductions)[r], sought.looked_at[r]),
                      std::back_inserter(places));
  std::ranges::sort(places);
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

}  // namespace

template <class T>
MomentsFinder<T> const* moments_at(Finders<T> const& finders, int place) {
  auto const found = std::ranges::find(finders.moments, place, &MomentsFinder<T>::place);
  return found == finders.moments.end() ? nullptr : *found;
}

template <class T>
Finders<T> make_finders(Stream const& stream, Chain const& chain, Sought const& sought) {
  Finders<T> finders;
  for (int const place : moments_of(chain, sought)) {
    auto finder = std::make_unique<MomentsFinder<T>>(stream, chain, place);
    finders.moments.push_back(finder.get());
    finders.all.push_back(std::move(finder));
  }
  for (std::size_t r = 0; r < sought.looked_at.size(); ++r) {
    auto const& options = (*sought.reductions)[r];
    std::vector<MomentsFinder<T> const*> moments;
    for (int const place : moments_of(chain, options, sought.looked_at[r]))
      moments.push_back(moments_at(finders, place));
    finders.all.push_back(
        row_of<T>(options).make({stream, chain, options, sought.looked_at[r], moments}));
  }
  return finders;
}

template <class T>
std::size_t finder_bytes(Chain const& chain, Sought const& sought) {
  std::size_t bytes = 0;
  for (int const place : moments_of(chain, sought)) bytes += MomentsFinder<T>::bytes(chain, place);
  for (std::size_t r = 0; r < sought.looked_at.size(); ++r) {
    auto const& options = (*sought.reductions)[r];
    bytes += row_of<T>(options).bytes(chain, options, sought.looked_at[r]);
  }
  return bytes;
}

#define GRIDSTRIDE_INSTANTIATE(T)                                               \
  template MomentsFinder<T> const* moments_at(Finders<T> const&, int);          \
  template class MomentsFinder<T>;                                              \
  template Finders<T> make_finders(Stream const&, Chain const&, Sought const&); \
  template std::size_t finder_bytes<T>(Chain const&, Sought const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)
#undef GRIDSTRIDE_INSTANTIATE

}  // namespace gridstride::transform
