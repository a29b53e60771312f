#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "core/host_device.hpp"

/// What set-up and cycles do for one row: the same code for the host and the GPU.
namespace gridstride::amg {

/// A matrix as steps see it.
template <class T>
struct View {
  std::int64_t rows;
  std::int64_t const* offsets;
  std::int32_t const* columns;
  T const* values;
};

/// inverse ← 1/a_ii; dominance ← Σ_j |a_ij·v_j/v_i|/a_ii, which bounds the eigenvalues of D⁻¹A (those of
/// V⁻¹·D⁻¹A·V, by Gershgorin): infinite where a_ii is not positive, 0 for a row of zeros.
template <class T>
struct Diagonal {
  View<T> a;
  T const* near_kernel;  ///< v; null: 1
  T *inverse, *dominance;
  GRIDSTRIDE_HOST_DEVICE void operator()(std::int64_t i) const {
    T diagonal = 0, sum = 0;
    for (std::int64_t k = a.offsets[i]; k < a.offsets[i + 1]; ++k) {
      T const value = a.values[k];
      std::int32_t const j = a.columns[k];
      if (j == i) diagonal = value;
      sum += std::abs(near_kernel == nullptr ? value : value * near_kernel[j] / near_kernel[i]);
    }
    bool const positive = diagonal > T{0};
    inverse[i] = positive ? T{1} / diagonal : T{0};
    dominance[i] = positive      ? sum / diagonal
                   : sum == T{0} ? T{0}
                                 : std::numeric_limits<T>::infinity();
  }
};

/// y ← 1, element by element.
template <class T>
struct SetOnes {
  T* y;
  GRIDSTRIDE_HOST_DEVICE void operator()(std::int64_t i) const { y[i] = 1; }
};

/// y ← factor·x, element by element.
template <class T>
struct Scale {
  T factor;
  T const* x;
  T* y;
  GRIDSTRIDE_HOST_DEVICE void operator()(std::int64_t i) const { y[i] = factor * x[i]; }
};

// -------------------------------------------------------------------------------- the strong graph

/// scale ← 1/max_j |a_ij|, j ≠ i; 0 for a row that its diagonal dominates five times, of v as unknowns
/// have it, whose couplings all are weak: relaxation solves it.
template <class T>
struct CouplingScale {
  View<T> a;
  T const *inverse, *near_kernel;
  T* scale;
  GRIDSTRIDE_HOST_DEVICE void operator()(std::int64_t i) const {
    T largest = 0, sum = 0;
    for (std::int64_t k = a.offsets[i]; k < a.offsets[i + 1]; ++k) {
      if (a.columns[k] == i) continue;
      T const size = std::abs(a.values[k]);
      sum += size * std::abs(near_kernel[a.columns[k]] / near_kernel[i]);
      if (size > largest) largest = size;
    }
    scale[i] = T{5} * sum * inverse[i] > T{1} ? T{1} / largest : T{0};
  }
};

/// graph ← columns, of weak couplings and the diagonal their complements, which are negative. Strong
/// are negative couplings, along which errors that relaxation leaves are smooth, that are not small
/// beside the largest ones of both rows.
template <class T>
struct Strong {
  View<T> a;
  T const* scale;
  T square;  ///< θ²
  std::int32_t* graph;
  GRIDSTRIDE_HOST_DEVICE void operator()(std::int64_t i) const {
    T const own = scale[i];
    for (std::int64_t k = a.offsets[i]; k < a.offsets[i + 1]; ++k) {
      std::int32_t const j = a.columns[k];
      T const value = a.values[k];
      bool const is_strong = j != i && value < T{0} && (value * own) * (value * scale[j]) > square;
      graph[k] = is_strong ? j : ~j;
    }
  }
};

/// Of rows without strong couplings that their diagonals do not dominate: the negative ones are those that
/// interpolation goes by.
template <class T>
struct Follow {
  View<T> a;
  T const* scale;
  std::int32_t* graph;
  GRIDSTRIDE_HOST_DEVICE void operator()(std::int64_t i) const {
    bool follows = scale[i] > T{0};
    for (std::int64_t k = a.offsets[i]; k < a.offsets[i + 1] && follows; ++k)
      follows = graph[k] < 0;
    if (!follows) return;
    for (std::int64_t k = a.offsets[i]; k < a.offsets[i + 1]; ++k)
      if (a.columns[k] != i && a.values[k] < T{0}) graph[k] = a.columns[k];
  }
};

/// Rows of couplings, without values.
struct Graph {
  std::int64_t const* offsets;
  std::int32_t const* columns;  ///< negative: none
};

/// A key is a state, a hash and an index, so that keys compare by them in this order.
using Key = unsigned long long;
enum State : unsigned { out = 0, undecided = 2, root = 3 };
GRIDSTRIDE_HOST_DEVICE inline unsigned state_of(Key key) {
  return static_cast<unsigned>(key >> 62);
}

/// Bits that look random but follow from i (Steele, Lea and Flood's SplitMix).
GRIDSTRIDE_HOST_DEVICE inline Key mixed(std::int64_t i) {
  Key z = static_cast<Key>(i) + 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

GRIDSTRIDE_HOST_DEVICE inline Key key_of(State state, std::int64_t i) {
  return Key{state} << 62 | (mixed(i) >> 34) << 32 | static_cast<Key>(i);
}

/// Unknowns without strong couplings stay out: relaxation solves them.
struct BeginRoots {
  Graph graph;
  Key* keys;
  GRIDSTRIDE_HOST_DEVICE void operator()(std::int64_t i) const {
    bool coupled = false;
    for (std::int64_t k = graph.offsets[i]; k < graph.offsets[i + 1] && !coupled; ++k)
      coupled = graph.columns[k] >= 0;
    keys[i] = key_of(coupled ? undecided : out, i);
  }
};

/// The largest key among an unknown and its neighbours.
struct LargestKey {
  Graph graph;
  Key const* keys;
  Key* largest;
  GRIDSTRIDE_HOST_DEVICE void operator()(std::int64_t i) const {
    Key found = keys[i];
    for (std::int64_t k = graph.offsets[i]; k < graph.offsets[i + 1]; ++k) {
      std::int32_t const j = graph.columns[k];
      if (j < 0) continue;
      Key const other = keys[j];
      if (other > found) found = other;
    }
    largest[i] = found;
  }
};

/// Roots have the largest key of all within two couplings; what has a root there is none.
struct DecideRoots {
  Key const* largest;
  Key* keys;
  std::int32_t* open;  ///< becomes 1 where somebody is left
  GRIDSTRIDE_HOST_DEVICE void operator()(std::int64_t i) const {
    Key const own = keys[i];
    if (state_of(own) != undecided) return;
    if (largest[i] == own)
      keys[i] = key_of(root, i);
    else if (state_of(largest[i]) == root)
      keys[i] = key_of(out, i);
    else
      *open = 1;
  }
};

struct MarkRoots {
  Key const* keys;
  std::int64_t* marks;
  std::int64_t rows;
  GRIDSTRIDE_HOST_DEVICE void operator()(std::int64_t i) const {
    marks[i] = i < rows && state_of(keys[i]) == root ? 1 : 0;
  }
};

/// Roots and their neighbours, of which each has one root at most.
struct JoinRoot {
  Graph graph;
  Key const* keys;
  std::int64_t const* numbers;
  std::int32_t* aggregates;
  GRIDSTRIDE_HOST_DEVICE void operator()(std::int64_t i) const {
    std::int64_t found = state_of(keys[i]) == root ? numbers[i] : -1;
    for (std::int64_t k = graph.offsets[i]; k < graph.offsets[i + 1] && found < 0; ++k) {
      std::int32_t const j = graph.columns[k];
      if (j >= 0 && state_of(keys[j]) == root) found = numbers[j];
    }
    aggregates[i] = static_cast<std::int32_t>(found);
  }
};

/// All others join the neighbour that they are coupled to most strongly, of those that have joined. Who
/// has no strong coupling, as beside rows whose couplings are larger by orders of magnitude, joins the one
/// that its own row takes most of v from: left out, v would not be interpolated there.
template <class T>
struct JoinNeighbour {
  View<T> a;
  Graph graph;
  T const *inverse, *scale, *near_kernel;
  std::int32_t const* joined;
  std::int32_t* aggregates;
  GRIDSTRIDE_HOST_DEVICE void operator()(std::int64_t i) const {
    std::int32_t found = joined[i];
    T strongest = -1;
    if (found < 0)
      for (std::int64_t k = graph.offsets[i]; k < graph.offsets[i + 1]; ++k) {
        std::int32_t const j = graph.columns[k];
        if (j < 0 || joined[j] < 0) continue;
        T const strength = (a.values[k] * inverse[i]) * (a.values[k] * inverse[j]);
        if (strength > strongest) {
          strongest = strength;
          found = joined[j];
        }
      }
    if (found < 0 && scale[i] > 0)
      for (std::int64_t k = a.offsets[i]; k < a.offsets[i + 1]; ++k) {
        std::int32_t const j = a.columns[k];
        if (j == i || joined[j] < 0 || !(a.values[k] < T{0})) continue;
        T const strength = std::abs(a.values[k] * near_kernel[j]);
        if (strength > strongest) {
          strongest = strength;
          found = joined[j];
        }
      }
    aggregates[i] = found;
  }
};

// ------------------------------------------------------------------------------------ interpolation

/// What is weak counts as if it were on the diagonal: ã_ii = a_ii + Σ_weak a_ij·v_j/v_i keeps A·v for
/// the v that interpolation is to have. Where that is not well above 0, a_ii it is. dominance bounds the eigenvalues as above.
template <class T>
struct Filter {
  View<T> a;
  std::int32_t const* graph;
  T const* near_kernel;
  T *inverse, *dominance;
  GRIDSTRIDE_HOST_DEVICE void operator()(std::int64_t i) const {
    T diagonal = 0, weak = 0, strong = 0;
    for (std::int64_t k = a.offsets[i]; k < a.offsets[i + 1]; ++k) {
      T const value = a.values[k];
      if (graph[k] >= 0)
        strong += std::abs(value * near_kernel[graph[k]]);
      else if (a.columns[k] == i)
        diagonal = value;
      else
        weak += value * near_kernel[a.columns[k]];
    }
    weak /= near_kernel[i];
    strong /= std::abs(near_kernel[i]);
    T const kept = diagonal + weak > diagonal / 4 ? diagonal + weak : diagonal;
    inverse[i] = kept > T{0} ? T{1} / kept : T{0};
    dominance[i] = kept > T{0} ? T{1} + strong / kept : T{1};
  }
};

/// Rows of P = (1 − ω·D̃⁻¹Ã)·(v on each aggregate): first the own aggregate, then others as strong
/// neighbours have them. A row is looked through once for each of its elements, which for rows of some
/// dozens is less than any table costs.
template <class T>
struct Smoothed {
  View<T> a;
  Graph graph;
  std::int32_t const* aggregates;
  T const* near_kernel;  ///< v

  /// The aggregate of element k, unless an element before it or the row itself has it: then −1.
  GRIDSTRIDE_HOST_DEVICE std::int32_t new_at(std::int64_t i, std::int64_t k) const {
    std::int32_t const j = graph.columns[k];
    if (j < 0) return -1;
    std::int32_t const found = aggregates[j];
    if (found == aggregates[i]) return -1;
    for (std::int64_t before = graph.offsets[i]; before < k; ++before) {
      std::int32_t const other = graph.columns[before];
      if (other >= 0 && aggregates[other] == found) return -1;
    }
    return found;
  }
  GRIDSTRIDE_HOST_DEVICE T sum_of(std::int32_t aggregate, std::int64_t i, std::int64_t k) const {
    T sum = 0;
    for (; k < graph.offsets[i + 1]; ++k) {
      std::int32_t const j = graph.columns[k];
      if (j >= 0 && aggregates[j] == aggregate) sum += a.values[k] * near_kernel[j];
    }
    return sum;
  }
};

template <class T>
struct CountSmoothed {
  Smoothed<T> p;
  std::int64_t* counts;
  std::int64_t rows;
  GRIDSTRIDE_HOST_DEVICE void operator()(std::int64_t i) const {
    std::int64_t count = 0;
    if (i < rows && p.aggregates[i] >= 0) {
      count = 1;
      for (std::int64_t k = p.graph.offsets[i]; k < p.graph.offsets[i + 1]; ++k)
        count += p.new_at(i, k) >= 0 ? 1 : 0;
    }
    counts[i] = count;
  }
};

template <class T>
struct FillSmoothed {
  Smoothed<T> p;
  T const* inverse;
  T omega;
  std::int64_t const* offsets;
  std::int32_t* columns;
  T* values;
  GRIDSTRIDE_HOST_DEVICE void operator()(std::int64_t i) const {
    std::int32_t const own = p.aggregates[i];
    if (own < 0) return;
    std::int64_t at = offsets[i];
    T const factor = -omega * inverse[i];
    columns[at] = own;
    values[at++] =
        (T{1} - omega) * p.near_kernel[i] + factor * p.sum_of(own, i, p.graph.offsets[i]);
    for (std::int64_t k = p.graph.offsets[i]; k < p.graph.offsets[i + 1]; ++k) {
      std::int32_t const aggregate = p.new_at(i, k);
      if (aggregate < 0) continue;
      columns[at] = aggregate;
      values[at++] = factor * p.sum_of(aggregate, i, k);
    }
  }
};

// ------------------------------------------------------------------------------------------- cycles

/// x ← w·b, element by element: a step of Jacobi's relaxation from 0, w = ω/a_ii.
template <class T>
struct Relax {
  T const *weights, *b;
  T* x;
  GRIDSTRIDE_HOST_DEVICE void operator()(std::int64_t i, std::int64_t row) const {
    x[i] = weights[row] * b[i];
  }
};

/// What follows of a row's sum s = Σ_k values_k·x_(column_k); of several vectors, which lie one after
/// the other, i counts on from one to the next. y ← s:
template <class T>
struct Set {
  T* y;
  GRIDSTRIDE_HOST_DEVICE void finish(std::int64_t i, std::int64_t, T sum) const { y[i] = sum; }
};
/// y ← y + s.
template <class T>
struct Add {
  T* y;
  GRIDSTRIDE_HOST_DEVICE void finish(std::int64_t i, std::int64_t, T sum) const { y[i] += sum; }
};
/// r ← b − s.
template <class T>
struct Subtract {
  T const* b;
  T* r;
  GRIDSTRIDE_HOST_DEVICE void finish(std::int64_t i, std::int64_t, T sum) const {
    r[i] = b[i] - sum;
  }
};
/// y ← x + w·(b − s): a step of relaxation.
template <class T>
struct RelaxFrom {
  T const *weights, *b, *x;
  T* y;
  GRIDSTRIDE_HOST_DEVICE void finish(std::int64_t i, std::int64_t row, T sum) const {
    y[i] = x[i] + weights[row] * (b[i] - sum);
  }
};

}  // namespace gridstride::amg
