#pragma once

#include <cstdint>

#include "kernels/tridiagonal/equations.hpp"

/// Pieces of systems in memory, which trees of threads put together and part again
/// (cuda_pivoted.cu).
namespace gridstride::tridiagonal {

/// Pieces that a thread puts together, and threads whose pieces become one, at most.
constexpr int joined_pieces = 8, tree_threads = 128;

/// A piece in memory.
template <class T>
struct alignas(2 * sizeof(T)) StoredPiece {
  T at[10];

  __device__ static StoredPiece of(Piece<T> const& p) {
    return {{p.one.before, p.one.first, p.one.last, p.one.behind, p.one.right, p.other.before,
             p.other.first, p.other.last, p.other.behind, p.other.right}};
  }
  /// Its equations such that they can be compared with others.
  __device__ Piece<T> piece() const {
    return {scaled(Equation<T>{at[0], at[1], at[2], at[3], at[4]}),
            scaled(Equation<T>{at[5], at[6], at[7], at[8], at[9]})};
  }
};

/// Pieces, and the unknowns at their ends, once they are known.
template <class T>
struct Pieces {
  StoredPiece<T>* at;
  T *first, *last;
  std::int64_t size;  ///< of a system
  std::int64_t all;   ///< of all systems
  std::int64_t rows;  ///< of a piece, but the last
};

/// What is known about a piece: the unknowns before it, at its ends, and behind it.
template <class T>
struct Known {
  T before, first, last, behind;
};

template <class T>
__device__ Known<T> known_of(Pieces<T> const& pieces, std::int64_t system, std::int64_t piece,
                             bool periodic) {
  std::int64_t const begin = system * pieces.size, at = begin + piece;
  bool const opens = piece == 0, ends = piece + 1 == pieces.size;
  return {opens && !periodic ? T{0} : pieces.last[opens ? begin + pieces.size - 1 : at - 1],
          pieces.first[at], pieces.last[at],
          ends && !periodic ? T{0} : pieces.first[ends ? begin : at + 1]};
}

/// Where a system's bad pivots are noted.
struct Names {
  Findings* findings;
  std::int64_t size;

  __device__ void note(std::int64_t system, std::int64_t row) const {
    row = row < 0 ? 0 : row < size ? row : size - 1;
    raise(findings->bad_pivot, word_of(size, system, row));
  }
};

/// Some threads of a block, whose pieces of a system become one: a tree of `span` leaves, each of
/// which is `joined_pieces` pieces.
struct Tree {
  std::int64_t system, group;
  std::int64_t first;      ///< the thread's first piece, of all
  std::int64_t begin;      ///< the same, of its system
  int count;               ///< of the thread's pieces
  int leaf, leaves, span;  ///< the thread's leaf, those that have pieces, and a power of two
};
template <class T>
__device__ Tree tree_of(Pieces<T> const& pieces, std::int64_t groups, int span) {
  std::int64_t const at = (std::int64_t{blockIdx.x} * tree_threads + threadIdx.x) / span;
  Tree tree{at / groups, at % groups, 0, 0, 0, static_cast<int>(threadIdx.x) % span, 0, span};
  std::int64_t const of_tree = std::int64_t{span} * joined_pieces, start = tree.group * of_tree;
  tree.begin = start + tree.leaf * joined_pieces;
  tree.first = tree.system * pieces.size + tree.begin;
  if (tree.system * pieces.size >= pieces.all) return tree;
  std::int64_t const rest = pieces.size - start, left = pieces.size - tree.begin;
  std::int64_t const here = rest < of_tree ? rest : of_tree;
  tree.leaves = static_cast<int>((here + joined_pieces - 1) / joined_pieces);
  tree.count = left <= 0 ? 0 : left < joined_pieces ? static_cast<int>(left) : joined_pieces;
  return tree;
}

/// What threads of a tree give each other in shared memory: a piece, how to part the one that has
/// the thread's leaf in its middle, and what is known of the thread's.
template <class T>
struct TreeMemory {
  StoredPiece<T> pieces[tree_threads];
  JointPivots<T> pivots[tree_threads];
  Known<T> known[tree_threads];
};

/// The two unknowns between pieces.
template <class T>
struct Between {
  T left, first;
};
/// From those at the ends of both pieces, and beside them.
template <class T>
__device__ Between<T> between(JointPivots<T> const& p, Known<T> const& known) {
  T const first = (p.first_right - p.first_before * known.before - p.first_outer * known.first -
                   p.first_last * known.last - p.first_behind * known.behind) *
                  p.first_inverse;
  T const left = (p.left_right - p.left_before * known.before - p.left_outer * known.first -
                  p.left_first * first - p.left_last * known.last - p.left_behind * known.behind) *
                 p.left_inverse;
  return {left, first};
}

/// Puts a thread's pieces together, and then those of the tree's threads: in its first one. Barriers.
template <class T>
__device__ Piece<T> join_tree(Pieces<T> const& pieces, Tree const& tree, TreeMemory<T>& memory,
                              Names const& names) {
  Piece<T> piece = no_rows<T>(), next = piece;
  if (tree.count > 0) piece = pieces.at[tree.first].piece();
  if (tree.count > 1) next = pieces.at[tree.first + 1].piece();
  for (int i = 1; i < tree.count; ++i) {
    auto const present = next;
    if (i + 1 < tree.count) next = pieces.at[tree.first + i + 1].piece();
    bool good = true;
    append(piece, present, good);
    if (!good) names.note(tree.system, (tree.begin + i) * pieces.rows - 1);
  }
  int const thread = static_cast<int>(threadIdx.x);
  for (int reach = 1; reach < tree.span; reach *= 2) {
    memory.pieces[thread] = StoredPiece<T>::of(piece);
    __syncthreads();
    if (tree.leaf % (2 * reach) == 0 && tree.leaf + reach < tree.leaves) {
      bool good = true;
      piece = memory.pieces[thread].piece();
      memory.pivots[thread + reach] = append(piece, memory.pieces[thread + reach].piece(), good);
      if (!good) names.note(tree.system, (tree.begin + reach * joined_pieces) * pieces.rows - 1);
    }
    __syncthreads();
  }
  return piece;
}

/// The ends of each thread's pieces from those of the tree's, which its first thread knows, and then
/// of each piece. Barriers.
template <class T>
__device__ void part_tree(Pieces<T> const& pieces, Tree const& tree, TreeMemory<T>& memory,
                          Known<T> known) {
  int const thread = static_cast<int>(threadIdx.x);
  for (int reach = tree.span / 2; reach > 0; reach /= 2) {
    if (tree.leaf % (2 * reach) == 0 && tree.leaf + reach < tree.leaves) {
      auto const [left, first] = between(memory.pivots[thread + reach], known);
      memory.known[thread + reach] = {left, first, known.last, known.behind};
      known = {known.before, known.first, left, first};
    }
    __syncthreads();
    if (tree.leaf % (2 * reach) == reach && tree.leaf < tree.leaves) known = memory.known[thread];
  }
  JointPivots<T> pivots[joined_pieces];
  auto piece = no_rows_behind(known.before, known.first);
#pragma unroll
  for (int i = 0; i < joined_pieces; ++i) {
    bool good = true;
    if (i < tree.count) pivots[i] = append(piece, pieces.at[tree.first + i].piece(), good);
  }
  T last = known.last, behind = known.behind;
#pragma unroll
  for (int i = joined_pieces - 1; i >= 0; --i) {
    if (i >= tree.count) continue;
    auto const [left, first] = between(pivots[i], Known<T>{0, 0, last, behind});
    pieces.last[tree.first + i] = last;
    pieces.first[tree.first + i] = i == 0 ? known.first : first;
    last = left;
    behind = first;
  }
}

enum class TreeTask {
  join,   ///< the pieces of each tree become one
  part,   ///< once the ends of that are known, those of its pieces
  whole,  ///< both, where a system is a tree
};

template <TreeTask task, class T>
__global__ void __launch_bounds__(tree_threads)
    tree_kernel(Pieces<T> const pieces, Pieces<T> const joint, Names const names, int span,
                bool periodic) {
  __shared__ TreeMemory<T> memory;
  auto const tree = tree_of(pieces, joint.size, span);
  auto const piece = join_tree(pieces, tree, memory, names);
  std::int64_t const at = tree.system * joint.size + tree.group;
  bool const first = tree.leaf == 0 && tree.count > 0;
  if (task == TreeTask::join) {
    if (first) joint.at[at] = StoredPiece<T>::of(piece);
    return;
  }
  Known<T> known{};
  if (first && task == TreeTask::part) known = known_of(joint, tree.system, tree.group, periodic);
  if (first && task == TreeTask::whole) {
    bool good = true;
    auto const ends = close(piece, periodic, good);
    if (!good) names.note(tree.system, names.size - 1);
    known = {periodic ? ends.last : T{0}, ends.first, ends.last, periodic ? ends.first : T{0}};
  }
  part_tree(pieces, tree, memory, known);
}

}  // namespace gridstride::tridiagonal
