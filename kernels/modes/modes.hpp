#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "core/stream.hpp"
#include "core/variant.hpp"
#include "kernels/modes/functions.hpp"
#include "kernels/modes/sums.hpp"

/// Kernel family `modes`: what becomes of fields in the modes of their grid between two transforms
/// (kernels/fft), for ∂u/∂t = L·u + N(u) with constant coefficients. T is float or double.
///
///   combine    sums of quantities, each times the symbol of an operator in space
///   update     sums of quantities, each times a matrix or a number; out may be in
///   tabulate   functions of h·L, the matrices of `update`
///   pair       the modes of k and −k made conjugates, as those of real fields are
///
/// Modes are complex where an axis is periodic, else real: two T or one. Arrays lie in the stream's
/// device memory. Nothing synchronises. All variants of a backend give the same bits.
namespace gridstride::modes {

/// Which modes there are. Transforms have `full` ones along each axis; those that are `kept` are the
/// first `below` and, from the end, the others. Arrays of kept modes lie without gaps, x fastest,
/// component after component.
struct Layout {
  std::array<std::int64_t, 3> full = {1, 1, 1};
  std::array<std::int64_t, 3> kept = {1, 1, 1};
  std::array<std::int64_t, 3> below = {1, 1, 1};
  bool is_complex = false;

  std::int64_t full_size() const { return full[0] * full[1] * full[2]; }
  std::int64_t kept_size() const { return kept[0] * kept[1] * kept[2]; }
  int numbers() const { return is_complex ? 2 : 1; }  ///< of T, that a mode is
};

template <class T>
struct Combination {
  Layout layout = {};
  Sums sums = {};
  int first = 0, count = 0;        ///< the sums that are wanted
  T const* unknowns = nullptr;     ///< kept modes, one after the other
  T const* products = nullptr;     ///< full modes, one after the other
  bool has_kept_products = false;  ///< of products, too, kept modes alone
  T* out = nullptr;                ///< sum after sum
  bool is_full = false;            ///< out has full modes; those that are not kept become 0
};

/// The most fields that L may couple to each other.
inline constexpr int max_block = 4;

/// Fields that L couples: it has one matrix for each mode. The matrices of a block lie entry after
/// entry, row after row, in kept modes; `table` says where they begin, in numbers of T.
struct Block {
  int size;
  int fields[max_block];
  int is_complex;
  long long table;
};

/// Along an axis along which L is even, tables have modes that are not negative alone.
struct Tables {
  std::array<std::int64_t, 3> points = {1, 1, 1};
  std::array<bool, 3> folds = {false, false, false};
  std::int64_t size() const { return points[0] * points[1] * points[2]; }
};

inline constexpr int max_updates = 3, max_groups = 4, max_terms = 10;

template <class T>
struct UpdateTerm {
  T const* values;  ///< all fields
  T weight;
};
/// What is added to a result: a matrix, where it is none 1, times the sum of the terms.
template <class T>
struct UpdateTarget {
  T const* matrix;
  int out;
};
template <class T>
struct UpdateGroup {
  int end = 0;  ///< of its terms, which follow those of the group before
  int targets = 0;
  UpdateTarget<T> target[2] = {};
};
/// out = Σ matrix·(Σ weight·values) over the groups that have it as a target.
template <class T>
struct Update {
  Layout layout = {};
  Tables tables = {};
  std::span<Block const> blocks = {};  ///< on the host: all fields, each once
  int outputs = 0, groups = 0;
  T* out[max_updates] = {};
  UpdateGroup<T> group[max_groups] = {};
  UpdateTerm<T> terms[max_terms] = {};
};

inline constexpr int max_functions = 6;

/// Tables of functions of step·L, where L is the first sums, by the numbers of their fields.
template <class T>
struct Tabulation {
  Layout layout = {};
  Tables tables = {};
  Sums linear = {};
  std::span<Block const> blocks;  ///< on the host
  double step = 0;
  int functions = 0;
  MatrixFunction const* function = nullptr;  ///< in device memory
  T* out[max_functions] = {};
};

/// Of an axis with n/2 + 1 modes, the first and the last one of an even n have the modes of both k and
/// −k of the other axes that are waves. Each pair becomes ((a + b̄)/2, (ā + b)/2). Roundings of
/// transforms do not keep it conjugate, and what is not is in no value at a point: where L makes it
/// grow, nothing else would hold it.
template <class T>
struct Pairing {
  Layout layout = {};
  int axis = 0;  ///< the halved one
  bool has_last = false;
  std::array<bool, 3> waves = {false, false, false};  ///< the other axes that are
  int fields = 0;
  T* values = nullptr;  ///< kept modes, field after field
};

template <class T>
using Work = std::variant<Combination<T>, Update<T>, Tabulation<T>, Pairing<T>>;
template <class T>
using Function = void(Stream&, Work<T> const&);

/// Every variant, from the textbook's to the fastest of each backend.
template <class T>
std::span<Variant<Function<T>> const> variants();
std::string_view default_variant(Backend backend);

/// Queues the work. Throws `std::invalid_argument` for missing arrays, for a layout that is none, and
/// for a variant that this backend does not have.
template <class T>
void run(Stream& stream, Work<T> const& work, std::string_view variant = "auto");

}  // namespace gridstride::modes
