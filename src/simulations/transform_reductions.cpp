#include "simulations/transform_reductions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "simulations/transform_finder.hpp"

namespace gridstride::transform {

// ------------------------------------------------------------------------------ what is looked at

std::vector<int> append_reduced(Chain& chain, std::vector<ReduceOptions> const& reductions) {
  expression::Variable const variables[] = {{"array", expression::first_array}};
  std::vector<int> places;
  for (auto const& reduction : reductions) {
    int place = chain.place_of(reduction.kind == ReduceOptions::dot ? reduction.factors.front()
                                                                    : reduction.of);
    if (reduction.kind == ReduceOptions::norms)
      place = chain.append({"",
                            {place},
                            ByFormula{expression::Expression::parse("abs(array)", {}, variables)},
                            chain.link(place).grid});
    places.push_back(place);
  }
  return places;
}

std::vector<int> places_of(Chain const& chain, std::vector<ReduceOptions> const& reductions,
                           std::vector<int> const& looked_at) {
  std::vector<int> places = looked_at;
  for (auto const& reduction : reductions) {
    if (reduction.kind == ReduceOptions::norms) places.push_back(chain.place_of(reduction.of));
    if (reduction.kind == ReduceOptions::dot)
      places.push_back(chain.place_of(reduction.factors[1]));
  }
  return places;
}

namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// Whether squares of values up to this one keep their digits in float64.
bool squares_fit(double largest) { return largest == 0 || (largest > 1e-140 && largest < 1e140); }

// ------------------------------------------------------------------------------------ the finders

[[noreturn]] void refuse_infinite(std::string const& what) {
  throw NumericalError(fmt::format("{} is infinite or not a number", what));
}

/// Least and greatest value, sum and mean, then the variance about the mean.
template <class T>
class MomentsFinder final : public Finder<T> {
 public:
  MomentsFinder(Stream const& stream, Chain const& chain, std::string const& name, int place)
      : chain_(&chain),
        name_(name),
        moments_(stream, chain, place),
        mean_(stream, MemorySpace::device, 1) {}

  std::vector<int> places() const override {
    if (pass_ == 2) return {};
    return {moments_.place()};
  }
  void take(Worker<T>& worker, Rows const& chunk) override {
    if (pass_ == 0)
      moments_.take(worker, chunk);
    else
      squares_->take(worker, chunk);
  }
  void end_pass(Stream& stream) override {
    auto const size = static_cast<double>(chain_->link(moments_.place()).grid.size());
    if (pass_++ == 1) {
      if (squares_fit(std::max(std::abs(values_[0]), std::abs(values_[1]))))
        values_[4] = squares_->finish(stream) / size;
      return;
    }
    auto const found = finite_moments(moments_, *chain_, name_, stream);
    values_ = {static_cast<double>(found.minimum), static_cast<double>(found.maximum), found.sum,
               found.sum / size, unknown};
    copy_async(mean_.span(), std::span<double const>(&values_[3], 1), stream);
    stream.synchronize();
    squares_.emplace(stream, *chain_, moments_.place(), reduce::SquaresOperation<T>{mean_.data()});
  }
  std::vector<NamedValue> numbers() const override {
    return named(name_, {"minimum", "maximum", "sum", "mean", "variance"}, values_);
  }

 private:
  Chain const* chain_;
  std::string name_;
  Reduced<reduce::MomentsOperation<T>> moments_;
  Buffer<double> mean_;
  std::optional<Reduced<reduce::SquaresOperation<T>>> squares_;
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

template <class T>
class FiniteFinder final : public Finder<T> {
 public:
  FiniteFinder(Stream const& stream, Chain const& chain, std::string const& name, int place)
      : chain_(&chain), name_(name), moments_(stream, chain, place) {}

  std::vector<int> places() const override {
    if (done_) return {};
    return {moments_.place()};
  }
  void take(Worker<T>& worker, Rows const& chunk) override { moments_.take(worker, chunk); }
  void end_pass(Stream& stream) override {
    finite_moments(moments_, *chain_, name_, stream);
    done_ = true;
  }

 private:
  Chain const* chain_;
  std::string name_;
  Reduced<reduce::MomentsOperation<T>> moments_;
  bool done_ = false;
};

/// Σ |x|, the root of Σ x², and the greatest |x|.
template <class T>
class NormsFinder final : public OnePass<T> {
 public:
  NormsFinder(Stream const& stream, Chain const& chain, std::string const& name, int magnitudes)
      : OnePass<T>(name, {"l1", "l2", "max_norm"}),
        chain_(&chain),
        name_(name),
        sum_(stream, chain, magnitudes),
        moments_(stream, chain, chain.place_of(name)) {}

  void take(Worker<T>& worker, Rows const& chunk) override {
    sum_.take(worker, chunk);
    moments_.take(worker, chunk);
  }

 private:
  std::vector<int> looked_at() const override { return {sum_.place(), moments_.place()}; }
  std::vector<double> find(Stream& stream) override {
    auto const found = finite_moments(moments_, *chain_, name_, stream);
    double const largest = std::max(std::abs(static_cast<double>(found.minimum)),
                                    std::abs(static_cast<double>(found.maximum)));
    if (!squares_fit(largest))
      throw NumericalError(fmt::format(
          "the squares of values as large as {} are beyond what float64 can hold (for norms: other "
          "units may help)",
          largest));
    return {sum_.finish(stream), std::sqrt(found.sum_of_squares), largest};
  }

  Chain const* chain_;
  std::string name_;
  Reduced<reduce::SumOperation<T>> sum_;
  Reduced<reduce::MomentsOperation<T>> moments_;
};

/// The first point that has the least or the greatest value.
template <class T, class Operation>
class PlaceFinder final : public OnePass<T> {
 public:
  PlaceFinder(Stream const& stream, Chain const& chain, std::string const& name,
              std::string const& what, int place)
      : OnePass<T>(name, keys_of(chain, what)),
        grid_(chain.link(place).grid),
        extreme_(stream, chain, place) {}

  void take(Worker<T>& worker, Rows const& chunk) override { extreme_.take(worker, chunk); }

 private:
  static std::vector<std::string> keys_of(Chain const& chain, std::string const& what) {
    std::vector<std::string> keys = {what};
    for (int axis = 0; axis < chain.grid().dims; ++axis)
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
  DotFinder(Stream const& stream, Chain const& chain, std::vector<std::string> const& factors)
      : OnePass<T>(factors[0], {"dot." + factors[1]}),
        second_(chain.place_of(factors[1])),
        products_(stream, chain, chain.place_of(factors[0])) {}

  void take(Worker<T>& worker, Rows const& chunk) override {
    products_.take(worker, chunk, second_);
  }

 private:
  std::vector<int> looked_at() const override { return {products_.place(), second_}; }
  std::vector<double> find(Stream& stream) override { return {products_.finish(stream)}; }

  int second_;
  Reduced<reduce::DotOperation<T>> products_;
};

template <class T>
class IntegralFinder final : public OnePass<T> {
 public:
  IntegralFinder(Stream const& stream, Chain const& chain, ReduceOptions const& options, int place)
      : OnePass<T>(options.of, {options.rule}),
        integral_(stream, chain, place, operation_of(chain.link(place).grid, options.rule)) {}

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
reduce::Moments<T> finite_moments(Reduced<reduce::MomentsOperation<T>>& reduced, Chain const& chain,
                                  std::string const& name, Stream& stream) {
  auto const found = reduced.finish(stream);
  if (found.first_non_finite >= 0)
    throw NumericalError(
        fmt::format("{} is infinite or not a number at {}", name,
                    format_place(chain.link(reduced.place()).grid, found.first_non_finite)));
  return found;
}

template reduce::Moments<float> finite_moments(Reduced<reduce::MomentsOperation<float>>&,
                                               Chain const&, std::string const&, Stream&);
template reduce::Moments<double> finite_moments(Reduced<reduce::MomentsOperation<double>>&,
                                                Chain const&, std::string const&, Stream&);

template <class T>
std::unique_ptr<Finder<T>> make_finite(Stream const& stream, Chain const& chain,
                                       std::string const& name, int place) {
  return std::make_unique<FiniteFinder<T>>(stream, chain, name, place);
}

template std::unique_ptr<Finder<float>> make_finite(Stream const&, Chain const&, std::string const&,
                                                    int);
template std::unique_ptr<Finder<double>> make_finite(Stream const&, Chain const&,
                                                     std::string const&, int);

template <class T>
std::unique_ptr<Finder<T>> make_finder(Stream const& stream, Chain const& chain,
                                       ReduceOptions const& options, int looked_at) {
  auto const& of = options.of;
  switch (options.kind) {
    case ReduceOptions::moments:
      return std::make_unique<MomentsFinder<T>>(stream, chain, of, looked_at);
    case ReduceOptions::norms:
      return std::make_unique<NormsFinder<T>>(stream, chain, of, looked_at);
    case ReduceOptions::where_max:
      return std::make_unique<PlaceFinder<T, reduce::MaximumPlace<T>>>(stream, chain, of,
                                                                       "where_max", looked_at);
    case ReduceOptions::where_min:
      return std::make_unique<PlaceFinder<T, reduce::MinimumPlace<T>>>(stream, chain, of,
                                                                       "where_min", looked_at);
    case ReduceOptions::dot:
      return std::make_unique<DotFinder<T>>(stream, chain, options.factors);
    case ReduceOptions::integral:
      return std::make_unique<IntegralFinder<T>>(stream, chain, options, looked_at);
    case ReduceOptions::histogram:
      return make_histogram<T>(stream, chain, options, looked_at);
    default:
      return make_quantiles<T>(stream, chain, options, looked_at);
  }
}

template std::unique_ptr<Finder<float>> make_finder(Stream const&, Chain const&,
                                                    ReduceOptions const&, int);
template std::unique_ptr<Finder<double>> make_finder(Stream const&, Chain const&,
                                                     ReduceOptions const&, int);

}  // namespace gridstride::transform
