// The step that makes a spectrum, by Welch's method (kernels/spectrum).

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/buffer.hpp"
#include "core/error.hpp"
#include "kernels/spectrum/spectrum.hpp"
#include "simulations/transform_endings.hpp"
#include "simulations/transform_finder.hpp"

namespace gridstride::transform {

namespace {

template <class T>
class Spectrum final : public FieldMaker<T> {
 public:
  Spectrum(Stream const& stream, Chain const& chain, Ending const& ending,
           MomentsFinder<T> const& moments)
      : chain_(&chain),
        ending_(ending),
        moments_(&moments),
        welch_(stream, *ending.spectrum),
        densities_(stream, MemorySpace::device, static_cast<std::size_t>(ending.grid.size())),
        rounded_(stream, MemorySpace::device, densities_.size()) {
    Stream own = stream;
    zero_async(rounded_.span(), own);
  }

  std::vector<int> places() const override {
    if (done_) return {};
    return {ending_.of};
  }
  void take(Worker<T>& worker, Rows const& chunk) override {
    auto const rows = chain_->own(ending_.of, chunk);
    if (!rows.empty()) welch_.add(worker.stream(), worker.values(ending_.of, rows));
  }
  void end_pass(Stream& stream) override;
  Field field() const override {
    return {ending_.name, "1", ending_.grid, precision_of<T>(), rounded_.data()};
  }

 private:
  [[noreturn]] void refuse(double value, std::string_view what) const {
    throw NumericalError(fmt::format(
        "{} of {} in the spectrum '{}' is beyond what the squares of {} can hold (other "
        "units{} may help)",
        what, value, ending_.name, gridstride::name_of(precision_of<T>()),
        precision_of<T>() == Precision::float32 ? ", or float64," : ""));
  }
  void require_squares(reduce::Moments<T> const& found) const;

  Chain const* chain_;
  Ending ending_;
  MomentsFinder<T> const* moments_;
  spectrum::Welch<T> welch_;
  Buffer<double> densities_;
  Buffer<T> rounded_;
  bool done_ = false;
};

/// The squares of rounding errors, at least, have to be numbers with all their digits.
template <class T>
void Spectrum<T>::require_squares(reduce::Moments<T> const& found) const {
  static double const least = std::sqrt(static_cast<double>(std::numeric_limits<T>::min())) /
                              static_cast<double>(std::numeric_limits<T>::epsilon());
  auto const largest =
      static_cast<double>(std::max(std::abs(found.minimum), std::abs(found.maximum)));
  if (largest > 0 && largest < least) refuse(largest, "a greatest magnitude");
}

template <class T>
void Spectrum<T>::end_pass(Stream& stream) {
  require_squares(moments_->found());
  welch_.finish(stream, densities_.span());
  std::vector<double> densities(densities_.size());
  copy_async(std::span(densities), std::as_const(densities_).span(), stream);
  stream.synchronize();
  double const greatest = std::ranges::max(densities);
  if (greatest > 0 && greatest < static_cast<double>(std::numeric_limits<T>::min()))
    refuse(greatest, "a greatest density");
  std::vector<T> rounded;
  for (double const density : densities) {
    rounded.push_back(static_cast<T>(density));
    if (!std::isfinite(rounded.back())) refuse(density, "a density");
  }
  copy_async(rounded_.span(), std::span<T const>(rounded), stream);
  stream.synchronize();
  done_ = true;
}

}  // namespace

template <class T>
std::unique_ptr<FieldMaker<T>> make_spectrum(Stream const& stream, Chain const& chain,
                                             Ending const& ending,
                                             MomentsFinder<T> const& moments) {
  return std::make_unique<Spectrum<T>>(stream, chain, ending, moments);
}

template std::unique_ptr<FieldMaker<float>> make_spectrum(Stream const&, Chain const&,
                                                          Ending const&,
                                                          MomentsFinder<float> const&);
template std::unique_ptr<FieldMaker<double>> make_spectrum(Stream const&, Chain const&,
                                                           Ending const&,
                                                           MomentsFinder<double> const&);

}  // namespace gridstride::transform
