#include <algorithm>
#include <cmath>
#include <utility>

#include "core/buffer.hpp"
#include "driver/diagnostics.hpp"
#include "driver/diagnostics/kind.hpp"
#include "kernels/elementwise/elementwise.hpp"

namespace gridstride {
namespace {

class Norms final : public config::Diagnostic {
 public:
  std::vector<std::string> gives() const override { return {"norms of every field"}; }
  bool is_found_by_parts(config::RunOptions const&, Backend) const override { return true; }
};

std::vector<std::string> norm_names(config::RunOptions const& run, Field const& field) {
  if (asked_for<Norms>(run).empty()) return {};
  return {field.name + ".min", field.name + ".max", field.name + ".mean", field.name + ".l2"};
}

template <class T>
class NormsFinder final : public FieldFinder<T> {
 public:
  NormsFinder(config::RunOptions const& run, Field const&, Stream& stream)
      : variant_(reduce::variant_of_blocks(variant_of(run, "reduce"), stream.backend())) {}

  void collect(FieldLook<T> const& look, std::vector<double>& values,
               std::vector<Histogram>&) override {
    auto const [mean, l2] = mean_and_l2(look);
    values.insert(values.end(), {look.moments.minimum, look.moments.maximum, mean, l2});
  }

 private:
  std::pair<double, double> mean_and_l2(FieldLook<T> const& look) const;

  std::string variant_;
};

/// Where squares or the sum may leave the range of float64, the field is read once more, in pieces
/// and times a power of two.
template <class T>
std::pair<double, double> NormsFinder<T>::mean_and_l2(FieldLook<T> const& look) const {
  using Moments = reduce::Moments<T>;
  std::span<T const> const values = look.values;
  Stream& stream = look.stream;
  Moments const& moments = look.moments;
  auto const size = static_cast<double>(values.size());
  double const largest = std::max(std::abs(static_cast<double>(moments.minimum)),
                                  std::abs(static_cast<double>(moments.maximum)));
  if (largest == 0 || (largest > 1e-140 && largest < 1e140))
    return {moments.sum / size, std::sqrt(moments.sum_of_squares / size)};
  int const exponent = std::clamp(std::ilogb(largest), -1000, 1000);
  constexpr std::size_t piece = std::size_t{1} << 20;
  Buffer<T> scaled(stream, MemorySpace::device, std::min(piece, values.size()));
  Buffer<Moments> found(stream, MemorySpace::device, (values.size() + piece - 1) / piece);
  for (std::size_t p = 0; p < found.size(); ++p) {
    auto const part = values.subspan(p * piece, std::min(piece, values.size() - p * piece));
    auto const target = scaled.span().first(part.size());
    copy_async(target, part, stream);
    elementwise::scale<T>(stream, static_cast<T>(std::scalbn(1.0, -exponent)), target);
    reduce::moments<T>(stream, target, found.span().subspan(p, 1), variant_);
  }
  std::vector<Moments> parts(found.size());
  copy_async(std::span(parts), std::as_const(found).span(), stream);
  stream.synchronize();
  double sum = 0, squares = 0;
  for (Moments const& part : parts) {
    sum += part.sum;
    squares += part.sum_of_squares;
  }
  return {std::scalbn(sum / size, exponent), std::scalbn(std::sqrt(squares / size), exponent)};
}

std::vector<double> norms_of_parts(config::RunOptions const& run, Field const& field,
                                   FieldMoments const& known) {
  if (asked_for<Norms>(run).empty()) return {};
  auto const size = static_cast<double>(field.grid.size());
  return {known.minimum, known.maximum, std::scalbn(known.sum / size, known.exponent),
          std::scalbn(std::sqrt(known.sum_of_squares / size), known.exponent)};
}

}  // namespace

DiagnosticRow norms_row() {
  return {.kind = {.name = "norms",
                   .documentation = "Minimum, maximum, mean and root mean square of each field.",
                   .is_word = true,
                   .make = []() -> std::unique_ptr<config::Diagnostic> {
                     return std::make_unique<Norms>();
                   }},
          .names = norm_names,
          .float32 = make_finder<FieldFinder<float>, NormsFinder<float>>,
          .float64 = make_finder<FieldFinder<double>, NormsFinder<double>>,
          .of_parts = norms_of_parts};
}

}  // namespace gridstride
