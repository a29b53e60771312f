// LU with partial pivoting, blocked and right-looking, all on the GPU. The rungs:
//
//   blocked      one stream. Leaves of 32 columns are factored column by column.
//   look_ahead   a second stream of higher priority factors the next panel while the first one is
//                updating the columns right of it, and leaves are factored by a cluster of blocks
//                (cuda_panel.cu).
//
// A panel of some 128 to 256 columns is factored by halves, down to leaves: the left half, U of the
// right half, its update by `matmul`, the right half. Right of the panel:
//
//   exchange rows    move_rows              twice the panel's rows, read and written
//   U = L⁻¹·A        solve_lower_block      in the panel's rows
//   A −= L·U         matmul                 n·m·(panel columns), nearly all of the 2/3·n³
//
// Look-ahead: the next panel's columns are updated first; then the panel stream has what it needs,
// and both streams go on at the same time. Columns to the left only have their rows exchanged. A
// cluster needs 16 multiprocessors near each other, which it would hardly find beside a product
// that occupies them all for long: such products leave that many free, and begin together with a
// leaf, which by its priority takes its place first.

#include <algorithm>
#include <optional>

#include "core/buffer.hpp"
#include "kernels/factorize/panel.hpp"
#include "kernels/factorize/rows.hpp"
#include "kernels/matmul/matmul.hpp"
#include "kernels/support/launch.cuh"

namespace gridstride::factorize {

namespace {

template <class T>
class Lu {
 public:
  Lu(Stream& stream, Arguments<T> const& arguments, bool look_ahead)
      : stream_(stream),
        a_(arguments.a),
        n_(arguments.a.rows),
        pivots_(arguments.pivots),
        status_(arguments.status),
        matmul_(arguments.matmul),
        look_ahead_(look_ahead),
        spares_(look_ahead && (matmul_ == "tf32" || matmul_ == "tf32x3")),
        panel_columns_(
            std::min(columns_of_panel(n_), std::int64_t{block_rows<T>(stream.device())})),
        origins_(stream, MemorySpace::device, static_cast<std::size_t>(n_)),
        leaf_moves_(stream, MemorySpace::device, 1),
        panel_moves_(stream, MemorySpace::device,
                     static_cast<std::size_t>((n_ + panel_columns_ - 1) / panel_columns_)) {}

  void factor();

 private:
  struct Panel {
    std::int64_t begin, end;
    PanelMoves* moves;
  };

  static std::int64_t columns_of_panel(std::int64_t n) {
    return n > 6144 ? panel_limit : panel_limit / 2;
  }

  Panel factor_panel(Stream& stream, std::int64_t begin);
  void factor_columns(Stream& stream, Panel const& panel, std::int64_t begin, std::int64_t end,
                      std::int64_t solved);
  void update(Stream& stream, Panel const& panel, std::int64_t begin, std::int64_t end,
              bool beside_panel);
  int leaf_columns(std::int64_t rows) const;
  Matrix<T> columns(std::int64_t begin, std::int64_t end) const {
    return a_.block(0, begin, n_, end - begin);
  }
  Matrix<T> block(std::int64_t i0, std::int64_t i1, std::int64_t j0, std::int64_t j1) const {
    return a_.block(i0, j0, i1 - i0, j1 - j0);
  }

  Stream& stream_;
  Matrix<T> a_;
  std::int64_t n_;
  std::int32_t* pivots_;
  std::int32_t* status_;
  std::string_view matmul_;
  bool look_ahead_;
  bool spares_;                     // updates leave multiprocessors free for the panel
  std::optional<Event> under_way_;  // the panel's second leaf begins
  std::int64_t panel_columns_;
  Buffer<std::int32_t> origins_;  // where each row was before the panel that is being factored
  Buffer<LeafMoves> leaf_moves_;
  Buffer<PanelMoves> panel_moves_;
};

template <class T>
void Lu<T>::factor() {
  zero_async(std::span(status_, 1), stream_);
  number_rows(stream_, origins_.span());
  Stream panel_stream = look_ahead_ ? stream_.urgent() : stream_;
  follow(panel_stream, stream_);
  Panel panel = factor_panel(panel_stream, 0);
  while (true) {
    follow(stream_, panel_stream);
    Panel const done = panel;
    std::int64_t const next_end = std::min(done.end + panel_columns_, n_);
    if (done.end < n_) {
      update(stream_, done, done.end, next_end, false);
      follow(panel_stream, stream_);
      panel = factor_panel(panel_stream, done.end);
      update(stream_, done, next_end, n_, spares_);
    }
    move_rows(stream_, columns(0, done.begin), done.moves);
    if (done.end == n_) return;
  }
}

template <class T>
typename Lu<T>::Panel Lu<T>::factor_panel(Stream& stream, std::int64_t begin) {
  Panel const panel{begin, std::min(begin + panel_columns_, n_),
                    panel_moves_.data() + begin / panel_columns_};
  under_way_.reset();
  factor_columns(stream, panel, panel.begin, panel.end, 0);
  list_panel_moves(stream, pivots_, origins_.data(), panel.begin, panel.end, panel.moves);
  return panel;
}

template <class T>
int Lu<T>::leaf_columns(std::int64_t rows) const {
  int const columns = look_ahead_ ? cluster_leaf_columns<T>(stream_.device(), rows) : 0;
  return columns == 0 ? leaf_limit : columns;
}

/// Factors columns [begin, end) of a panel. The first `solved` columns after them have had all
/// earlier updates and become U in these rows, where this is but one leaf.
template <class T>
void Lu<T>::factor_columns(Stream& stream, Panel const& panel, std::int64_t begin, std::int64_t end,
                           std::int64_t solved) {
  int const leaf_width = leaf_columns(n_ - begin);
  if (end - begin <= leaf_width) {
    Matrix<T> const leaf = block(begin, n_, begin, end);
    LeafResults const results{static_cast<std::int32_t>(begin), pivots_, leaf_moves_.data(),
                              status_};
    if (spares_ && begin != panel.begin && !under_way_) {
      under_way_.emplace(stream.device());
      stream.record(*under_way_);
    }
    if (look_ahead_ && cluster_leaf_columns<T>(stream.device(), leaf.rows) > 0)
      factor_leaf_in_cluster(stream, leaf, results);
    else
      factor_leaf_by_columns(stream, leaf, results);
    move_and_solve(stream, results.moves, leaf, begin, columns(panel.begin, begin),
                   columns(end, panel.end), solved, origins_.data());
    return;
  }
  std::int64_t const leaves = (end - begin + leaf_width - 1) / leaf_width;
  std::int64_t const middle = begin + (leaves + 1) / 2 * leaf_width;
  factor_columns(stream, panel, begin, middle, end - middle);
  if (middle - begin > leaf_width)
    solve_lower_block(stream, static_cast<int>(middle - begin), true,
                      {a_.data + begin * (a_.leading + 1), a_.leading, 1}, end - middle,
                      Strided<T>{a_.data + begin * a_.leading + middle, a_.leading, 1});
  if (middle < n_)
    matmul::multiply(stream, -1, block(middle, n_, begin, middle),
                     block(begin, middle, middle, end), 1, block(middle, n_, middle, end), matmul_);
  factor_columns(stream, panel, middle, end, 0);
}

/// Brings columns [begin, end) right of a panel up to date with it.
template <class T>
void Lu<T>::update(Stream& stream, Panel const& panel, std::int64_t begin, std::int64_t end,
                   bool beside_panel) {
  if (begin == end) return;
  move_rows(stream, columns(begin, end), panel.moves);
  solve_lower_block(stream, static_cast<int>(panel.end - panel.begin), true,
                    {a_.data + panel.begin * (a_.leading + 1), a_.leading, 1}, end - begin,
                    Strided<T>{a_.data + panel.begin * a_.leading + begin, a_.leading, 1});
  if (beside_panel && under_way_) stream.wait(*under_way_);
  matmul::multiply(stream, -1, block(panel.end, n_, panel.begin, panel.end),
                   block(panel.begin, panel.end, begin, end), 1, block(panel.end, n_, begin, end),
                   matmul_, beside_panel ? cluster_processors : 0);
}

template <class T>
void run(Stream& stream, Arguments<T> const& arguments, bool look_ahead) {
  if (arguments.task == Task::lu)
    Lu<T>(stream, arguments, look_ahead).factor();
  else if (arguments.task == Task::lu_unpivoted)
    unpivoted_lu_on_gpu(stream, arguments, look_ahead);
  else if (arguments.task == Task::cholesky)
    cholesky_on_gpu(stream, arguments, look_ahead);
  else
    solve_on_gpu(stream, arguments);
}

}  // namespace

template <class T>
void cuda_blocked(Stream& stream, Arguments<T> const& arguments) {
  run(stream, arguments, false);
}

template <class T>
void cuda_look_ahead(Stream& stream, Arguments<T> const& arguments) {
  run(stream, arguments, true);
}

#define GRIDSTRIDE_INSTANTIATE(T)                           \
  template void cuda_blocked(Stream&, Arguments<T> const&); \
  template void cuda_look_ahead(Stream&, Arguments<T> const&);
GRIDSTRIDE_INSTANTIATE(float)
GRIDSTRIDE_INSTANTIATE(double)

}  // namespace gridstride::factorize
