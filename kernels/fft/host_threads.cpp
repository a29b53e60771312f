// `threads`: passes along one axis after the other. A group of lines goes side by side through each
// step, in memory of its thread: gathered, made a complex transform of half the length where they
// are real (lines.hpp), transformed (host.cpp), and scattered. What a group holds has no influence
// on the bits of its lines.

#include <algorithm>
#include <array>
#include <complex>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "kernels/fft/host.hpp"
#include "kernels/fft/lines.hpp"
#include "kernels/fft/passes.hpp"
#include "kernels/fft/rows.hpp"
#include "kernels/support/parallel_for.hpp"
#include "kernels/support/vector_widths.hpp"

namespace gridstride::fft {

namespace {

/// What lines of a kind and length have in common.
template <class T>
struct LinePlan {
  LinePlan(LineKind kind_of, std::int64_t points_of)
      : kind(kind_of),
        points(points_of),
        length(length_of(kind, points)),
        fourier(complex_length(kind, points)) {
    if (length % 2 == 0)
      for (std::int64_t k = 0; k <= length / 4; ++k) halving.emplace_back(root_of_one(k, length));
    if (is_quarter(kind))
      for (std::int64_t k = 0; k <= length / 2; ++k)
        quarter.emplace_back(root_of_one(k, 4 * points));
  }

  LineKind kind;
  std::int64_t points, length;
  Fourier<T> fourier;
  std::vector<std::complex<T>> halving;  ///< exp(−2πi·k/length)
  std::vector<std::complex<T>> quarter;  ///< exp(−πi·k/(2·points))
};

/// Plans take about as long as a transform; steps ask for the same again and again.
template <class T>
std::shared_ptr<LinePlan<T> const> plan_of(LineKind kind, std::int64_t points) {
  constexpr std::size_t kept = 8;
  constexpr std::int64_t longest_kept = std::int64_t{1} << 20;
  static std::mutex mutex;
  static std::list<std::shared_ptr<LinePlan<T> const>> plans;  // the last used first
  {
    std::lock_guard const lock(mutex);
    auto const known = std::ranges::find_if(
        plans, [&](auto const& plan) { return plan->kind == kind && plan->points == points; });
    if (known != plans.end()) {
      plans.splice(plans.begin(), plans, known);
      return plans.front();
    }
  }
  auto made = std::make_shared<LinePlan<T> const>(kind, points);
  if (points > longest_kept) return made;
  std::lock_guard const lock(mutex);
  plans.push_front(made);
  if (plans.size() > kept) plans.pop_back();
  return made;
}

/// Some lines side by side: element j of line q at j·together + q.
template <class T>
class Group {
 public:
  Group(LinePlan<T> const& plan, std::int64_t most_lines)
      : plan_(plan),
        room_(most_lines * (std::max(plan.fourier.room(), plan.length / 2 + 1))),
        memory_{SplitComplex<T>(room_), SplitComplex<T>(room_)},
        data_(view(memory_[0])),
        spare_(view(memory_[1])) {}

  void set_together(std::int64_t lines) { together_ = lines; }

  /// Of complex lines, before and after; and the results of real ones.
  SplitView<T> const& numbers() const { return data_; }

  void transform_complex(bool inverse) {
    if (inverse)
      plan_.fourier.inverse(data_, spare_, together_);
    else
      plan_.fourier.forward(data_, spare_, together_);
  }
  /// Coefficients take the place of values.
  void forward(T* values) {
    if (is_quarter(plan_.kind)) return synthesise(values);
    analyse(values);
  }
  void inverse(T* coefficients) {
    if (plan_.kind == LineKind::sine || plan_.kind == LineKind::cosine || is_quarter(plan_.kind))
      return analyse(coefficients);
    synthesise(coefficients);
  }
  /// Results 0 … length/2 of the lines, in `numbers`.
  void real_forward(T const* values) {
    bool const is_packed = plan_.length % 2 == 0;
    if (!is_packed) std::fill(data_.im, data_.im + plan_.length * together_, T{0});
    for (std::int64_t i = 0; i < plan_.length; ++i) {
      auto const [index, sign] = element_of(plan_.kind, plan_.points, i);
      times_sign(values + index * together_, sign, slot(i));
    }
    transform_complex(false);
    if (is_packed) separate_all();
  }
  /// Back, from `numbers`.
  void real_inverse(T* values) {
    if (plan_.length % 2 == 0) {
      combine_all();
    } else {
      for (std::int64_t k = 1; 2 * k < plan_.length; ++k) {
        std::int64_t const from = k * together_, to = (plan_.length - k) * together_;
        times_sign(data_.re + from, 1, data_.re + to);
        times_sign(data_.im + from, -1, data_.im + to);
      }
    }
    transform_complex(true);
    for (std::int64_t i = 0; i < plan_.points; ++i) {
      auto const [index, sign] = element_of(plan_.kind, plan_.points, i);
      times_sign(slot(i), sign, values + index * together_);
    }
  }

 private:
  /// Element i of the real transform among the complex ones.
  T* slot(std::int64_t i) const {
    if (plan_.length % 2 != 0) return data_.re + i * together_;
    return (i % 2 == 0 ? data_.re : data_.im) + i / 2 * together_;
  }
  void times_sign(T const* from, int sign, T* to) const {
    for (std::int64_t q = 0; q < together_; ++q)
      to[q] = sign > 0 ? from[q] : sign < 0 ? -from[q] : T{0};
  }

  void analyse(T* line) {
    real_forward(line);
    if (is_quarter(plan_.kind))
      for (std::size_t k = 0; k < plan_.quarter.size(); ++k)
        turn_results(static_cast<std::int64_t>(k), T{2} * plan_.quarter[k]);
    for (std::int64_t k = 0; k <= plan_.length / 2; ++k) {
      auto const [re, im] = coefficients_of(plan_.kind, plan_.points, k);
      if (re.sign != 0) times_sign(data_.re + k * together_, re.sign, line + re.index * together_);
      if (im.sign != 0) times_sign(data_.im + k * together_, im.sign, line + im.index * together_);
    }
  }
  void synthesise(T* line) {
    for (std::int64_t k = 0; k <= plan_.length / 2; ++k) {
      auto const [re, im] = result_of(plan_.kind, plan_.points, k);
      times_sign(line + re.index * together_, re.sign, data_.re + k * together_);
      times_sign(line + im.index * together_, im.sign, data_.im + k * together_);
      if (is_quarter(plan_.kind))
        turn_results(k, std::conj(plan_.quarter[static_cast<std::size_t>(k)]));
    }
    real_inverse(line);
  }
  void turn_results(std::int64_t k, std::complex<T> factor) const {
    T* const re = data_.re + k * together_;
    T* const im = data_.im + k * together_;
    for (std::int64_t q = 0; q < together_; ++q) turn(re[q], im[q], factor.real(), factor.imag());
  }

  void separate_all() const {
    std::int64_t const half = plan_.length / 2;
    times_sign(data_.re, 1, data_.re + half * together_);
    times_sign(data_.im, 1, data_.im + half * together_);
    for_pairs(separate<T>);
  }
  void combine_all() const {
    for (std::int64_t const k : {std::int64_t{0}, plan_.length / 2})
      std::fill_n(data_.im + k * together_, together_, T{0});
    for_pairs(combine<T>);
  }
  /// Numbers k and length/2 − k, for k = 0 … length/4.
  template <class Body>
  void for_pairs(Body const& body) const {
    std::int64_t const half = plan_.length / 2;
    for (std::int64_t k = 0; 2 * k <= half; ++k) {
      auto const w = plan_.halving[static_cast<std::size_t>(k)];
      std::int64_t const a = k * together_, b = (half - k) * together_;
      for (std::int64_t q = 0; q < together_; ++q) {
        T b_re = data_.re[b + q], b_im = data_.im[b + q];
        body(data_.re[a + q], data_.im[a + q], b_re, b_im, w.real(), w.imag());
        if (a == b) continue;
        data_.re[b + q] = b_re;
        data_.im[b + q] = b_im;
      }
    }
  }

  LinePlan<T> const& plan_;
  std::int64_t room_, together_ = 0;
  std::array<SplitComplex<T>, 2> memory_;
  SplitView<T> data_, spare_;
};

/// Lines of a pass, in groups.
template <class T>
class Lines {
 public:
  explicit Lines(Pass<T> const& pass)
      : pass_(pass), plan_(plan_of<T>(line_kind(pass.kind), pass.points)) {
    // Neighbours in memory are neighbours in a group.
    std::ranges::sort(order_, {}, [&](std::size_t axis) {
      return pass.counts[axis] > 1 ? pass.in_strides[axis] : INT64_MAX;
    });
  }

  void run() const {
    // About as much as a second level of cache holds; the longest go alone.
    std::int64_t const room = plan_->fourier.room();
    std::int64_t const fit = (std::int64_t{1} << 18) / (room * std::int64_t{4 * sizeof(T)});
    std::int64_t const width =
        std::clamp<std::int64_t>(fit / 8 * 8, room <= (std::int64_t{1} << 16) ? 8 : 1, 64);
    std::int64_t const groups = (pass_.lines() + width - 1) / width;
    // Memory of a thread serves for many groups.
    std::int64_t const shares = std::min<std::int64_t>(groups, 4 * gridstride::host_threads());
    std::int64_t const work = pass_.lines() * room * 20 / shares;
    parallel_for(shares, work, [&](std::int64_t share) {
      Worker worker(*this, width);
      for (std::int64_t g = groups * share / shares; g < groups * (share + 1) / shares; ++g)
        worker.run(g * width, std::min(width, pass_.lines() - g * width));
    });
  }

 private:
  struct Place {
    std::array<std::int64_t, 3> index;
    std::int64_t in, out;
  };
  Place place(std::int64_t line) const {
    Place place{{}, 0, 0};
    for (auto const axis : order_) {
      std::int64_t const index = line % pass_.counts[axis];
      line /= pass_.counts[axis];
      place.index[axis] = index;
      place.in += index * pass_.in_strides[axis];
      place.out += index * pass_.out_strides[axis];
    }
    return place;
  }

  class Worker {
   public:
    Worker(Lines const& lines, std::int64_t width)
        : all_(lines),
          pass_(lines.pass_),
          group_(*lines.plan_, width),
          values_(
              static_cast<std::size_t>(pass_.kind == Kind::complex ? 0 : width * pass_.points)) {}

    void run(std::int64_t first, std::int64_t count) {
      places_.clear();
      for (std::int64_t q = 0; q < count; ++q) places_.push_back(all_.place(first + q));
      group_.set_together(count);
      std::int64_t const n = pass_.points, half = n / 2 + 1;
      if (pass_.kind == Kind::complex) {
        gather_complex(n);
        group_.transform_complex(pass_.task == Task::inverse);
        return scatter_complex(n);
      }
      if (pass_.task == Task::complete) {
        gather_complex(half);
        clear_unpaired();
        group_.real_inverse(values_.data());
        return scatter();
      }
      gather();
      if (pass_.task == Task::halve) {
        group_.real_forward(values_.data());
        clear_unpaired();
        return scatter_complex(half);
      }
      if (pass_.task == Task::inverse)
        group_.inverse(values_.data());
      else
        group_.forward(values_.data());
      if (pass_.task == Task::solve) {
        divide();
        group_.inverse(values_.data());
      }
      scatter();
    }

   private:
    std::int64_t count() const { return static_cast<std::int64_t>(places_.size()); }

    /// Calls `body(place in the array, place in the group)` for each of the lines' first elements.
    template <class Body>
    void each(std::int64_t points, std::int64_t stride, std::int64_t Place::*first,
              Body const& body) const {
      for (std::int64_t j = 0; j < points; ++j)
        for (std::int64_t q = 0; q < count(); ++q)
          body(places_[static_cast<std::size_t>(q)].*first + j * stride, j * count() + q);
    }
    void gather() {
      each(pass_.points, pass_.in_stride, &Place::in, [&](std::int64_t at, std::int64_t to) {
        values_[static_cast<std::size_t>(to)] = pass_.in[at];
      });
    }
    void scatter() const {
      each(pass_.points, pass_.out_stride, &Place::out, [&](std::int64_t at, std::int64_t from) {
        pass_.out[at] = values_[static_cast<std::size_t>(from)];
      });
    }
    void gather_complex(std::int64_t points) const {
      auto const& to = group_.numbers();
      each(points, pass_.in_stride, &Place::in, [&](std::int64_t at, std::int64_t place) {
        to.re[place] = pass_.in[2 * at];
        to.im[place] = pass_.in[2 * at + 1];
      });
    }
    void scatter_complex(std::int64_t points) const {
      auto const& from = group_.numbers();
      each(points, pass_.out_stride, &Place::out, [&](std::int64_t at, std::int64_t place) {
        pass_.out[2 * at] = from.re[place];
        pass_.out[2 * at + 1] = from.im[place];
      });
    }
    /// Results that are their own complex conjugates have no imaginary part.
    void clear_unpaired() const {
      std::fill_n(group_.numbers().im, count(), T{0});
      if (pass_.points % 2 == 0)
        std::fill_n(group_.numbers().im + pass_.points / 2 * count(), count(), T{0});
    }

    void divide() {
      for (std::int64_t q = 0; q < count(); ++q) {
        auto const& index = places_[static_cast<std::size_t>(q)].index;
        T across = pass_.constant;
        for (std::size_t axis = 0; axis < 2; ++axis)
          if (pass_.across[axis] != nullptr) across += pass_.across[axis][index[axis]];
        for (std::int64_t k = 0; k < pass_.points; ++k) {
          T const value = pass_.along != nullptr ? across + pass_.along[k] : across;
          T& x = values_[static_cast<std::size_t>(k * count() + q)];
          x = value == 0 ? T{0} : x * pass_.scale / value;
        }
      }
    }

    Lines const& all_;
    Pass<T> const& pass_;
    Group<T> group_;
    std::vector<T> values_;
    std::vector<Place> places_;
  };

  Pass<T> const& pass_;
  std::shared_ptr<LinePlan<T> const> plan_;
  std::array<std::size_t, 3> order_ = {0, 1, 2};
};

}  // namespace

template <class T>
void host_threads(Stream&, Arguments<T> const& work) {
  for (auto const& pass : passes_of(work)) Lines<T>(pass).run();
}

template void host_threads(Stream&, Arguments<float> const&);
template void host_threads(Stream&, Arguments<double> const&);

}  // namespace gridstride::fft
