// Triangular systems by levels: their order, and how the host solves them.

#include "kernels/sparse/triangle.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "kernels/support/parallel_for.hpp"

namespace gridstride::sparse {

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Of each row, from 0.
std::vector<std::int32_t> levels_of(Csr<double> const& strict, bool upper) {
  std::vector<std::int32_t> levels(at(strict.rows));
  for (std::int64_t step = 0; step < strict.rows; ++step) {
    std::int64_t const row = upper ? strict.rows - 1 - step : step;
    std::int32_t level = 0;
    for (auto k = strict.offsets[at(row)]; k < strict.offsets[at(row + 1)]; ++k)
      level = std::max(level, levels[at(strict.column_indices[at(k)])] + 1);
    levels[at(row)] = level;
  }
  return levels;
}

template <class U>
Buffer<U> on_device(Stream& stream, std::vector<U> const& values) {
  Buffer<U> there(stream, MemorySpace::device, values.size());
  copy_async(there.span(), std::span(values), stream);
  return there;
}

}  // namespace

/// What is sent to the device.
template <class T>
struct Triangle<T>::Plan {
  std::vector<std::int32_t> rows;
  std::vector<std::int64_t> steps, tasks, needs;
};

/// Rows by levels, in ascending order within each, but for the longest first in a slice; and steps.
template <class T>
void Triangle<T>::sort_rows(Csr<double> const& strict, bool upper, Plan& plan) {
  auto const levels = levels_of(strict, upper);
  std::size_t const count =
      levels.empty() ? 0 : at(*std::max_element(levels.begin(), levels.end())) + 1;
  std::vector<std::int64_t> firsts(count + 1);
  for (auto const level : levels) ++firsts[at(level) + 1];
  std::partial_sum(firsts.begin(), firsts.end(), firsts.begin());
  plan.rows.resize(levels.size());
  auto next = firsts;
  for (std::size_t row = 0; row < levels.size(); ++row)
    plan.rows[at(next[at(levels[row])]++)] = static_cast<std::int32_t>(row);
  for (std::size_t level = 0; level < count; ++level) {
    level_steps_.push_back(static_cast<std::int64_t>(plan.steps.size()));
    for (std::int64_t place = firsts[level]; place < firsts[level + 1]; place += rows_of_step)
      plan.steps.push_back(place);
  }
  level_steps_.push_back(static_cast<std::int64_t>(plan.steps.size()));
  plan.steps.push_back(strict.rows);
  auto const length = [&](std::int32_t row) {
    return strict.offsets[at(row) + 1] - strict.offsets[at(row)];
  };
  for (std::size_t step = 0; step + 1 < plan.steps.size(); ++step)
    for (std::int64_t first = plan.steps[step]; first < plan.steps[step + 1];
         first += rows_of_triangle_slice)
      std::stable_sort(
          plan.rows.begin() + first,
          plan.rows.begin() + std::min(first + rows_of_triangle_slice, plan.steps[step + 1]),
          [&](std::int32_t a, std::int32_t b) { return length(a) > length(b); });
}

template <class T>
void Triangle<T>::cut_tasks(Plan& plan) {
  auto const begin_task = [&](std::int64_t step, std::int64_t needs) {
    plan.tasks.push_back(step);
    plan.needs.push_back(needs);
  };
  bool running = false;  // a run of levels of one step each
  for (std::size_t level = 0; level + 1 < level_steps_.size(); ++level) {
    std::int64_t const first = level_steps_[level], last = level_steps_[level + 1];
    auto const before = static_cast<std::int64_t>(plan.tasks.size());
    bool const narrow = last - first == 1;
    if (!(narrow && running))
      for (std::int64_t step = first; step < last; ++step) begin_task(step, before);
    widest_ = std::max(widest_, last - first);
    running = narrow;
  }
  plan.tasks.push_back(level_steps_.back());
}

template <class T>
Triangle<T>::Triangle(Stream& stream, Csr<double> const& strict, std::span<double const> factors,
                      bool upper) {
  Plan plan;
  sort_rows(strict, upper, plan);
  cut_tasks(plan);
  std::vector<std::int32_t> lengths(plan.rows.size()), columns(at(strict.nonzeros()));
  std::vector<std::int64_t> begins(plan.rows.size());
  std::vector<T> values(columns.size()), diagonal(factors.empty() ? 0 : plan.rows.size());
  std::int64_t filled = 0;
  for (std::size_t step = 0; step + 1 < plan.steps.size(); ++step)
    for (std::int64_t first = plan.steps[step]; first < plan.steps[step + 1];
         first += rows_of_triangle_slice) {
      std::int64_t const last = std::min(first + rows_of_triangle_slice, plan.steps[step + 1]);
      for (std::int64_t place = first; place < last; ++place) {
        auto const row = at(plan.rows[at(place)]);
        lengths[at(place)] =
            static_cast<std::int32_t>(strict.offsets[row + 1] - strict.offsets[row]);
        begins[at(place)] = filled + place - first;
        if (!factors.empty()) diagonal[at(place)] = static_cast<T>(factors[row]);
      }
      for (std::int32_t e = 0; e < lengths[at(first)]; ++e)
        for (std::int64_t place = first; place < last && lengths[at(place)] > e; ++place) {
          auto const k = at(strict.offsets[at(plan.rows[at(place)])] + e);
          columns[at(filled)] = strict.column_indices[k];
          values[at(filled++)] = static_cast<T>(strict.values[k]);
        }
    }
  work_of_step_ =
      2 * rows_of_step * (2 + strict.nonzeros() / std::max<std::int64_t>(1, strict.rows));
  rows_ = on_device(stream, plan.rows);
  lengths_ = on_device(stream, lengths);
  columns_ = on_device(stream, columns);
  begins_ = on_device(stream, begins);
  steps_ = on_device(stream, plan.steps);
  tasks_ = on_device(stream, plan.tasks);
  needs_ = on_device(stream, plan.needs);
  values_ = on_device(stream, values);
  factors_ = on_device(stream, diagonal);
  counters_ = {stream, MemorySpace::device, 2};
  zero_async(counters_.span(), stream);
  stream.synchronize();
}

template <class T>
TriangleView<T> Triangle<T>::view() const {
  return {.rows = rows_.data(),
          .lengths = lengths_.data(),
          .begins = begins_.data(),
          .columns = columns_.data(),
          .values = values_.data(),
          .factors = factors_.size() > 0 ? factors_.data() : nullptr,
          .steps = steps_.data(),
          .tasks = tasks_.data(),
          .needs = needs_.data(),
          .count = static_cast<std::int64_t>(needs_.size()),
          .counters = counters_.data()};
}

namespace {

template <class T>
void host_solve_slice(TriangleView<T> const& a, std::int64_t first, std::int64_t last, T const* b,
                      T* x) {
  std::array<T, rows_of_triangle_slice> sums;
  for (std::int64_t place = first; place < last; ++place)
    sums[at(place - first)] =
        a.factors == nullptr ? b[a.rows[place]] : a.factors[place] * b[a.rows[place]];
  std::int64_t element = a.begins[first], end = last;
  for (std::int32_t e = 0; e < a.lengths[first]; ++e) {
    while (a.lengths[end - 1] <= e) --end;
    for (std::int64_t place = first; place < end; ++place, ++element)
      sums[at(place - first)] -= a.values[element] * x[a.columns[element]];
  }
  for (std::int64_t place = first; place < last; ++place)
    x[a.rows[place]] = sums[at(place - first)];
}

}  // namespace

template <class T>
void Triangle<T>::solve(Stream& stream, T const* b, T* x) const {
  auto const a = view();
#ifdef GRIDSTRIDE_WITH_CUDA
  if (stream.backend() != Backend::cpu) return cuda_solve(stream, a, widest_, b, x);
#else
  (void)stream;
#endif
  for (std::size_t level = 0; level + 1 < level_steps_.size(); ++level) {
    std::int64_t const begin = level_steps_[level];
    parallel_for(level_steps_[level + 1] - begin, work_of_step_, [&](std::int64_t step) {
      std::int64_t const last = a.steps[begin + step + 1];
      for (std::int64_t first = a.steps[begin + step]; first < last;
           first += rows_of_triangle_slice)
        host_solve_slice(a, first, std::min(first + rows_of_triangle_slice, last), b, x);
    });
  }
}

template class Triangle<float>;
template class Triangle<double>;

}  // namespace gridstride::sparse
