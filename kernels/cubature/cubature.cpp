#include "kernels/cubature/cubature.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "kernels/cubature/list.hpp"

namespace gridstride::quadrature {

template <class T>
std::span<Variant<CubatureFunction> const> cubature_variants() {
  static Variant<CubatureFunction> const rows[] = {
      {"reference", Backend::cpu, make_reference_boxes, "one sample of one box after the other"},
      {"threads", Backend::cpu, make_host_boxes,
       "threads share the boxes of a generation; formulas are evaluated in chunks of samples"},
      {"breadth_first", Backend::cuda, GRIDSTRIDE_CUDA_ROW(make_device_boxes<T>),
       "all boxes of a generation at once, some threads for each; the list stays on the device"},
  };
  return rows;
}

std::string_view default_cubature(Backend backend) {
  return backend == Backend::cpu ? "threads" : "breadth_first";
}

namespace {

void check_arguments(Integrand const& integrand, std::span<Interval const> box,
                     std::span<double const> parameters, CubatureOptions const& options) {
  check(integrand);
  int const d = integrand.dimensions;
  if (d < genz_malik::min_dimensions || d > genz_malik::max_dimensions)
    throw std::invalid_argument(fmt::format("cubature: {} dimensions (it takes {} to {})", d,
                                            genz_malik::min_dimensions,
                                            genz_malik::max_dimensions));
  if (static_cast<int>(box.size()) != d)
    throw std::invalid_argument(
        fmt::format("cubature: {} intervals for {} dimensions", box.size(), d));
  if (static_cast<int>(parameters.size()) != integrand.parameters)
    throw std::invalid_argument(
        fmt::format("cubature: {} parameters are given, the integrand has {}", parameters.size(),
                    integrand.parameters));
  for (auto const& [lower, upper] : box)
    if (!(lower < upper) || !std::isfinite(upper - lower))
      throw std::invalid_argument(fmt::format(
          "cubature: the interval from {} to {} (it must be finite and not empty)", lower, upper));
  auto const [relative, absolute, roundings] = options.goal;
  if (!(relative >= 0 && absolute >= 0 && roundings >= 0 && relative + absolute > 0))
    throw std::invalid_argument(
        fmt::format("cubature: a relative tolerance of {} and an absolute one of {} (one must be "
                    "positive, none negative)",
                    relative, absolute));
  if (options.max_evaluations < genz_malik::points(d))
    throw std::invalid_argument(fmt::format("cubature: at most {} evaluations ({} are needed)",
                                            options.max_evaluations, genz_malik::points(d)));
}

/// Equal boxes to begin with, a power of two of them: as many as have about 65,536 samples, which
/// keep many processors busy and see features that one box could miss.
std::vector<double> first_boxes(std::span<Interval const> domain, std::int64_t max_evaluations) {
  int const d = static_cast<int>(domain.size());
  std::int64_t const samples = std::min<std::int64_t>(65'536, max_evaluations);
  int halvings = 0;
  while ((std::int64_t{2} << halvings) * genz_malik::points(d) <= samples) ++halvings;
  std::vector<double> boxes;
  for (std::int64_t number = 0; number < std::int64_t{1} << halvings; ++number) {
    std::int64_t rest = number;
    std::vector<double> half_widths;
    for (int k = 0; k < d; ++k) {
      std::int64_t const parts = std::int64_t{1} << (halvings / d + (k < halvings % d ? 1 : 0));
      double const half_width =
          (domain[k].upper - domain[k].lower) / static_cast<double>(2 * parts);
      boxes.push_back(domain[k].lower + static_cast<double>(2 * (rest % parts) + 1) * half_width);
      half_widths.push_back(half_width);
      rest /= parts;
    }
    boxes.insert(boxes.end(), half_widths.begin(), half_widths.end());
  }
  return boxes;
}

/// The highest bin so that the boxes below it have errors of at most `budget` together.
int bin_above(ErrorCounts const& counts, double budget) {
  double sum = 0;
  for (int bin = 0; bin < error_bins; ++bin) {
    if (counts[bin] == 0) continue;
    sum += counts[bin] * upper_error(bin);
    if (!(sum <= budget)) return bin;
  }
  return error_bins;
}

std::int64_t count_from(ErrorCounts const& counts, int bin) {
  std::int64_t count = 0;
  for (int b = bin; b < error_bins; ++b) count += counts[b];
  return count;
}

/// The highest bin with at least `count` boxes in it and above.
int bin_of_worst(ErrorCounts const& counts, std::int64_t count) {
  int bin = error_bins;
  for (std::int64_t sum = 0; sum < count && bin > 0;) sum += counts[--bin];
  return bin;
}

/// One integral while it is refined.
class Refiner {
 public:
  Refiner(BoxList& list, int dimensions, CubatureOptions const& options, std::int64_t max_boxes)
      : list_(list),
        samples_(genz_malik::points(dimensions)),
        options_(options),
        max_boxes_(max_boxes) {}

  CubatureResult run(std::span<double const> boxes) {
    list_.begin(boxes);
    evaluations_ = list_.size() * samples_;
    do ++generations_;
    while (refine());
    CubatureResult result;
    BoxTotals const all = totals();
    result.estimate = {all.integral.result(), all.error.result(), evaluations_, outcome_,
                       all.rounding};
    result.boxes = retired_boxes_ + list_.size();
    result.generations = generations_;
    if (outcome_ == Outcome::non_finite) result.non_finite_at = list_.non_finite_sample();
    return result;
  }

 private:
  BoxTotals totals() const {
    BoxTotals all = retired_;
    all.add(live_);
    return all;
  }

  bool end(Outcome outcome) {
    outcome_ = outcome;
    return false;
  }

  /// Looks at all errors and cuts what has too large ones; false when that is over.
  bool refine() {
    live_ = list_.survey(error_bins, counts_);
    BoxTotals const all = totals();
    if (all.non_finite > 0 || !is_finite(all.integral.result())) return end(Outcome::non_finite);
    double const error = all.error.result();
    double const tolerance = options_.goal.tolerance(all.integral.result(), all.rounding);
    if (error <= tolerance) return end(Outcome::reached);

    // Errors that no cut makes smaller. Where they use up the tolerance, the others are refined
    // nevertheless, for the best value.
    double const fixed = retired_.error.result() + live_.final_error;
    double const left = fixed < tolerance ? tolerance - fixed : tolerance;
    if (error - fixed <= left) return end(Outcome::not_reached);

    int bin = bin_above(counts_, left / 2);
    std::int64_t const wanted = count_from(counts_, bin), room = max_boxes_ - list_.size();
    if (wanted > room) {
      if (retire(bin_above(counts_, left / 4))) return true;
      // Without room the better half has to go, whatever its errors.
      if (room == 0 && retire(bin_of_worst(counts_, list_.size() / 2))) return true;
    }
    std::int64_t const count =
        std::min({wanted, room, (options_.max_evaluations - evaluations_) / (2 * samples_)});
    if (count <= 0) return end(Outcome::not_reached);
    if (count < wanted) bin = bin_of_worst(counts_, count);
    list_.cut(bin, count);
    evaluations_ += 2 * samples_ * count;
    return true;
  }

  /// Takes the boxes below the bin, and those that cannot be cut, out of the list, as long as they
  /// are worth it.
  bool retire(int bin) {
    std::int64_t const kept = count_from(counts_, bin), leaving = list_.size() - kept;
    if (leaving < std::max<std::int64_t>(1, list_.size() / 8)) return false;
    retired_.add(list_.survey(bin, counts_));
    retired_boxes_ += leaving;
    list_.keep(bin, kept);
    return true;
  }

  BoxList& list_;
  std::int64_t samples_;
  CubatureOptions options_;
  std::int64_t max_boxes_;
  ErrorCounts counts_ = {};
  BoxTotals live_, retired_;
  std::int64_t retired_boxes_ = 0, evaluations_ = 0;
  int generations_ = 0;
  Outcome outcome_ = Outcome::reached;
};

}  // namespace

template <class T>
CubatureResult cubature(Stream& stream, Integrand const& integrand, std::span<Interval const> box,
                        std::span<double const> parameters, CubatureOptions const& options,
                        std::string_view variant) {
  check_arguments(integrand, box, parameters, options);
  if (variant == "auto") variant = default_cubature(stream.backend());
  auto const& row = find_variant("cubature", cubature_variants<T>(), stream.device(), variant);
  CubatureProblem problem{integrand, {}, parameters};
  for (std::size_t k = 0; k < box.size(); ++k) problem.extents.of[k] = box[k].upper - box[k].lower;

  auto const first = first_boxes(box, options.max_evaluations);
  auto const first_count = static_cast<std::int64_t>(first.size()) / (2 * integrand.dimensions);
  std::size_t const memory =
      options.memory_bytes > 0 ? options.memory_bytes : stream.device().free_memory() / 2;
  std::int64_t const max_boxes =
      std::clamp(static_cast<std::int64_t>(memory / bytes_of_box(integrand.dimensions)),
                 first_count, std::int64_t{1} << 30);
  auto const list = row.run(stream, problem, max_boxes);
  return Refiner(*list, integrand.dimensions, options, max_boxes).run(first);
}

#define GRIDSTRIDE_INSTANTIATE(T)                                                           \
  template std::span<Variant<CubatureFunction> const> cubature_variants<T>();               \
  template CubatureResult cubature<T>(Stream&, Integrand const&, std::span<Interval const>, \
                                      std::span<double const>, CubatureOptions const&,      \
                                      std::string_view);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::quadrature
