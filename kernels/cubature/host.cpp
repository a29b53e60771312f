// Adaptive cubature on the host: the boxes of a generation are shared among the threads, in batches
// of a few. A batch goes through the samples in chunks: the places of a chunk's samples relative to
// a box are found once, then each box turns them into coordinates and evaluates the formula at all
// of them at once. All loops are over samples, so that they become vectors. A box's sums are those
// of one thread, in the order of the samples, so that the bits do not depend on the threads.

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "kernels/cubature/list.hpp"
#include "kernels/support/parallel_for.hpp"
#include "kernels/support/vector_widths.hpp"

namespace gridstride::quadrature {

namespace {

constexpr int chunk = 1024;             // samples
constexpr std::int64_t box_batch = 16;  // boxes cut by one piece of work
constexpr double rounding = rounding_of<double>();

/// What a box's samples add up to.
struct BoxSamples {
  std::array<double, genz_malik::orbits> sums = {};
  std::array<double, genz_malik::axis_points(genz_malik::max_dimensions)> on_axes;
};

/// Steps in half widths of samples `first`, …, axis by axis.
struct Places {
  std::vector<double> steps;
  std::array<int, chunk> orbit;
  int first, count;

  Places(int dimensions, int first_sample)
      : steps(static_cast<std::size_t>(dimensions) * chunk),
        first(first_sample),
        count(std::min(chunk, genz_malik::points(dimensions) - first_sample)) {
    for (int i = 0; i < count; ++i) {
      auto const point = genz_malik::point(dimensions, first + i, rounding);
      orbit[i] = point.orbit;
      for (int k = 0; k < dimensions; ++k)
        steps[k * chunk + i] = genz_malik::coordinate(point, k, 0.0, 1.0);
    }
  }
};

GRIDSTRIDE_VECTOR_WIDTHS void place_samples(double const* steps, double center, double half_width,
                                            int count, double* coordinates) {
  for (int i = 0; i < count; ++i) coordinates[i] = center + steps[i] * half_width;
}

/// Evaluates boxes, 2·d numbers each. For one thread at a time.
class BoxEvaluator {
 public:
  BoxEvaluator(HostIntegrand const& integrand, std::span<double const> parameters)
      : integrand_(integrand),
        dimensions_(integrand.dimensions()),
        variables_(static_cast<std::size_t>(dimensions_) + parameters.size()),
        memory_(variables_.size() * chunk) {
    for (std::size_t k = 0; k < variables_.size(); ++k) variables_[k] = &memory_[k * chunk];
    for (std::size_t k = 0; k < parameters.size(); ++k)
      std::fill_n(&memory_[(dimensions_ + k) * chunk], chunk, parameters[k]);
  }

  std::vector<BoxSamples> evaluate(std::span<double const> boxes) {
    std::size_t const stride = 2 * static_cast<std::size_t>(dimensions_);
    std::vector<BoxSamples> samples(boxes.size() / stride);
    for (int first = 0; first < genz_malik::points(dimensions_); first += chunk) {
      Places const places(dimensions_, first);
      for (std::size_t b = 0; b < samples.size(); ++b)
        evaluate(places, &boxes[b * stride], samples[b]);
    }
    return samples;
  }

  /// The first of these samples of the box that is not finite; empty where there is none.
  std::vector<double> non_finite_sample(Places const& places, double const* box) {
    BoxSamples samples;
    evaluate(places, box, samples);
    auto const bad = std::find_if_not(values_.begin(), values_.begin() + places.count, is_finite);
    std::vector<double> coordinates;
    if (bad == values_.begin() + places.count) return coordinates;
    for (int k = 0; k < dimensions_; ++k)
      coordinates.push_back(variables_[k][bad - values_.begin()]);
    return coordinates;
  }

 private:
  void evaluate(Places const& places, double const* box, BoxSamples& samples) {
    for (int k = 0; k < dimensions_; ++k)
      place_samples(&places.steps[static_cast<std::size_t>(k) * chunk], box[k],
                    box[dimensions_ + k], places.count,
                    &memory_[static_cast<std::size_t>(k) * chunk]);
    integrand_.evaluate(variables_, places.count, values_.data());
    std::array<double, genz_malik::orbits + 1> sums = {};
    for (int i = 0; i < places.count; ++i) sums[places.orbit[i]] += values_[i];
    for (int k = 0; k < genz_malik::orbits; ++k) samples.sums[k] += sums[k];
    for (int i = 0; i < places.count && places.first + i < genz_malik::axis_points(dimensions_);
         ++i)
      samples.on_axes[places.first + i] = values_[i];
  }

  HostIntegrand const& integrand_;
  int dimensions_;
  std::vector<double const*> variables_;
  std::vector<double> memory_;
  std::array<double, chunk> values_;
};

/// What the samples of boxes add up to, 2·d numbers each.
using SumSamples = std::vector<BoxSamples>(HostIntegrand const& integrand,
                                           std::span<double const> parameters,
                                           std::span<double const> boxes);

std::vector<BoxSamples> sum_in_chunks(HostIntegrand const& integrand,
                                      std::span<double const> parameters,
                                      std::span<double const> boxes) {
  return BoxEvaluator(integrand, parameters).evaluate(boxes);
}

std::vector<BoxSamples> sum_one_by_one(HostIntegrand const& integrand,
                                       std::span<double const> parameters,
                                       std::span<double const> boxes) {
  int const dimensions = integrand.dimensions();
  std::vector<BoxSamples> samples;
  std::array<double, genz_malik::max_dimensions> place;
  for (double const* box = boxes.data(); box < boxes.data() + boxes.size(); box += 2 * dimensions) {
    BoxSamples& sums = samples.emplace_back();
    for (int i = 0; i < genz_malik::points(dimensions); ++i) {
      auto const point = genz_malik::point(dimensions, i, rounding);
      for (int k = 0; k < dimensions; ++k)
        place[k] = genz_malik::coordinate(point, k, box[k], box[dimensions + k]);
      double const value = integrand(place.data(), parameters.data());
      if (point.orbit < genz_malik::orbits) sums.sums[point.orbit] += value;
      if (i < genz_malik::axis_points(dimensions)) sums.on_axes[i] = value;
    }
  }
  return samples;
}

class HostBoxes final : public BoxList {
 public:
  /// The work of a box is what `parallel_for` takes.
  HostBoxes(CubatureProblem const& problem, SumSamples* sum_samples, std::int64_t work_of_box)
      : problem_(problem),
        sum_samples_(sum_samples),
        work_of_box_(work_of_box),
        integrand_(problem.integrand),
        dimensions_(problem.integrand.dimensions),
        stride_(2 * static_cast<std::size_t>(dimensions_)) {}

  std::int64_t size() const override { return static_cast<std::int64_t>(values_.size()); }

  void begin(std::span<double const> boxes) override {
    resize(boxes.size() / stride_);
    std::copy(boxes.begin(), boxes.end(), boxes_.begin());
    parallel_for(size(), work_of_box_, [&](std::int64_t b) {
      auto const i = static_cast<std::size_t>(b);
      auto const found = evaluated({&boxes_[i * stride_], stride_});
      store(i, found[0].first, found[0].second);
    });
  }

  BoxTotals survey(int bin, ErrorCounts& counts) override {
    BoxTotals totals;
    counts.fill(0);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (!is_cut(errors_[i], axes_[i], bin)) totals.add(values_[i], errors_[i], axes_[i]);
      if (axes_[i] >= 0) ++counts[error_bin(errors_[i])];
    }
    return totals;
  }

  void cut(int bin, std::int64_t count) override {
    std::vector<std::size_t> list;
    for (std::size_t i = 0; i < values_.size() && std::ssize(list) < count; ++i)
      if (is_cut(errors_[i], axes_[i], bin)) list.push_back(i);
    std::size_t const first_new = values_.size();
    resize(first_new + list.size());
    std::int64_t const batches = (count + box_batch - 1) / box_batch;
    parallel_for(batches, 2 * box_batch * work_of_box_, [&](std::int64_t batch) {
      auto const first = static_cast<std::size_t>(batch * box_batch);
      auto const last = std::min(first + box_batch, list.size());
      cut_boxes({&list[first], last - first}, first_new + first);
    });
  }

  void keep(int bin, std::int64_t count) override {
    std::size_t to = 0;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (!is_cut(errors_[i], axes_[i], bin)) continue;
      std::copy_n(&boxes_[i * stride_], stride_, &boxes_[to * stride_]);
      values_[to] = values_[i];
      errors_[to] = errors_[i];
      axes_[to++] = axes_[i];
    }
    resize(static_cast<std::size_t>(count));
  }

  std::vector<double> non_finite_sample() override {
    BoxEvaluator evaluator(integrand_, problem_.parameters);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (is_finite(values_[i]) && is_finite(errors_[i])) continue;
      for (int first = 0; first < genz_malik::points(dimensions_); first += chunk) {
        auto const found =
            evaluator.non_finite_sample(Places(dimensions_, first), &boxes_[i * stride_]);
        if (!found.empty()) return found;
      }
    }
    return {};
  }

 private:
  void resize(std::size_t size) {
    boxes_.resize(size * stride_);
    values_.resize(size);
    errors_.resize(size);
    axes_.resize(size);
  }

  void store(std::size_t i, genz_malik::Value const& value, int axis) {
    values_[i] = value.integral;
    errors_[i] = value.error;
    axes_[i] = static_cast<signed char>(axis);
  }

  /// The value of each box and the axis to cut it across.
  std::vector<std::pair<genz_malik::Value, int>> evaluated(std::span<double const> boxes) const {
    std::vector<std::pair<genz_malik::Value, int>> result;
    for (auto const& samples : sum_samples_(integrand_, problem_.parameters, boxes)) {
      double const* const box = &boxes[result.size() * stride_];
      double const* const half_widths = box + dimensions_;
      double volume = 1;
      std::array<genz_malik::AxisCheck, genz_malik::max_dimensions> axes;
      for (int k = 0; k < dimensions_; ++k) {
        volume *= 2 * half_widths[k];
        axes[k] = genz_malik::check_axis(samples.on_axes.data(), k, rounding);
      }
      auto const value =
          genz_malik::value_of(dimensions_, samples.sums.data(), axes.data(), volume, rounding);
      int const axis = genz_malik::axis_to_cut(dimensions_, axes.data(), box, half_widths,
                                               problem_.extents.of, rounding);
      result.emplace_back(value, value.only_rounding ? only_rounding : axis);
    }
    return result;
  }

  /// Halves the boxes of `list`; the upper halves go to `first_new`, ….
  void cut_boxes(std::span<std::size_t const> list, std::size_t first_new) {
    std::vector<double> halves(2 * list.size() * stride_);
    for (std::size_t i = 0; i < list.size(); ++i) {
      auto const axis = static_cast<std::size_t>(axes_[list[i]]);
      for (std::size_t side = 0; side < 2; ++side) {
        double* const half = &halves[(2 * i + side) * stride_];
        std::copy_n(&boxes_[list[i] * stride_], stride_, half);
        double& half_width = half[static_cast<std::size_t>(dimensions_) + axis];
        half_width /= 2;
        half[axis] += side == 0 ? -half_width : half_width;
      }
    }
    auto found = evaluated(halves);
    for (std::size_t i = 0; i < list.size(); ++i) {
      genz_malik::Value const whole = {values_[list[i]], errors_[list[i]], false};
      double const sum = found[2 * i].first.integral + found[2 * i + 1].first.integral;
      for (std::size_t side = 0; side < 2; ++side) {
        auto& [value, axis] = found[2 * i + side];
        value.error = genz_malik::corrected_error(value.error, whole, sum);
        std::size_t const target = side == 0 ? list[i] : first_new + i;
        std::copy_n(&halves[(2 * i + side) * stride_], stride_, &boxes_[target * stride_]);
        store(target, value, axis);
      }
    }
  }

  CubatureProblem problem_;
  SumSamples* sum_samples_;
  std::int64_t work_of_box_;
  HostIntegrand integrand_;
  int dimensions_;
  std::size_t stride_;
  std::vector<double> boxes_, values_, errors_;
  std::vector<signed char> axes_;
};

}  // namespace

std::unique_ptr<BoxList> make_reference_boxes(Stream&, CubatureProblem const& problem,
                                              std::int64_t) {
  return std::make_unique<HostBoxes>(problem, sum_one_by_one, 0);
}

std::unique_ptr<BoxList> make_host_boxes(Stream&, CubatureProblem const& problem, std::int64_t) {
  return std::make_unique<HostBoxes>(problem, sum_in_chunks,
                                     16 * genz_malik::points(problem.integrand.dimensions));
}

}  // namespace gridstride::quadrature
