#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "config/run_config.hpp"
#include "core/root_mean_square.hpp"
#include "core/stream.hpp"
#include "grid/grid.hpp"
#include "model/simulation.hpp"

namespace gridstride {

/// How far a field, or a component of a vector, is from a formula at time t.
struct ErrorNorms {
  double l2 = 0;       ///< root of the mean of the squared errors
  double maximum = 0;  ///< largest absolute error; NaN if any is
};
/// The field lies in the memory of the stream's device; a slab of it at a time comes to the host. Squares are
/// summed in blocks of points that follow one another in memory, and these in their order.
ErrorNorms error_norms(Field const& field, expression::Expression const& exact, double time,
                       Stream& stream, int component = 0);
/// Host memory that it takes.
std::size_t error_norms_bytes(Field const& field, Backend backend);

/// What is known of the errors of a block.
struct BlockErrors {
  RootMeanSquare squares;
  double maximum = 0;

  void add(double error);
  void add(BlockErrors const& other);
};

/// Finds the same, with the same bits, for all that a run compares with exact solutions, of fields of which
/// each of several ranks has a part. All of them make one for the same time.
class PartsComparison final : public PartsFinder {
 public:
  PartsComparison(config::RunConfig const& run, std::span<Field const> fields, double time);

  void find(OwnParts<float> const& parts, FoundByParts& found) override;
  void find(OwnParts<double> const& parts, FoundByParts& found) override;

  /// On the first one, in the order of `verify.exact`.
  std::vector<ErrorNorms> const& errors() const { return errors_; }

 private:
  template <class T>
  void compare(OwnParts<T> const& parts);

  config::RunConfig const& run_;
  std::vector<Field> fields_;
  double time_;
  std::vector<ErrorNorms> errors_;
};

}  // namespace gridstride
