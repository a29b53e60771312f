#include "kernels/multigrid/shares.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "kernels/multigrid/separable.hpp"

namespace gridstride::multigrid {

namespace {

int floor_to_even(int value) { return value - (value % 2 + 2) % 2; }

/// A place along a periodic axis that goes on beyond its ends: which one, and how often around.
struct Around {
  int at, times;
  Around(int place, int all) : at((place % all + all) % all), times((place - at) / all) {}
};

bool has_seam(std::array<Axis, 3> const& axes) {
  return std::ranges::any_of(axes, [](Axis const& axis) {
    return axis.periodic && axis.unknowns() > 1 && axis.unknowns() % 2 == 1;
  });
}

std::int64_t size_of(std::array<Axis, 3> const& axes) {
  std::int64_t size = 1;
  for (Axis const& axis : axes) size *= axis.unknowns();
  return size;
}

}  // namespace

Window Shares::window(std::size_t level, int rank) const {
  auto const& of_level = cuts[level];
  auto const own = static_cast<std::size_t>(rank);
  Window window{0, of_level.back(), of_level[own], of_level[own + 1]};
  if (!is_cut(level)) return window;
  if (around || rank > 0) window.first = floor_to_even(window.own_first - beside);
  if (around || rank + 1 < ranks()) window.end = window.own_end + beside;
  return window;
}

int Shares::wanted_above(Window const& own) const {
  return own.own_end - floor_to_even(own.own_end - beside);
}

std::vector<int> Shares::held(std::size_t level, int of_axis, int count, int rank) const {
  Window const all{0, count, 0, count};
  bool const is_part = of_axis == axis && is_cut(level);
  Window const part = is_part ? window(level, rank) : all;
  std::vector<int> places;
  for (int place = part.first; place < part.end; ++place) places.push_back(Around(place, count).at);
  return places;
}

Shares shares_of(Levels const& plan, Grid const& grid, RankCuts const& planes,
                 Options const& options, Backend backend, int along) {
  // What is exchanged for a visit takes some tens of microseconds, and so does a smaller level.
  std::int64_t const pays = backend == Backend::cuda ? std::int64_t{1} << 22 : 1 << 15;
  std::int64_t least = options.least_cut >= 0 ? options.least_cut : pays;
  // A GPU without modes may make small levels in one kernel, and those as a whole.
  bool const has_small = backend == Backend::cuda && along == 0;
  if (has_small) least = std::max(least, most_small_stored + 1);
  int const solved = level_solved(plan, along);
  auto const slowest = static_cast<std::size_t>(grid.dims - 1);
  Axis const& finest = plan.axes[0][slowest];
  Shares shares{grid.dims - 1, finest.periodic, planes_beside(options), {{}}};
  for (std::int64_t const plane : planes)
    shares.cuts[0].push_back(
        static_cast<int>(std::clamp<std::int64_t>(plane - finest.first(), 0, finest.unknowns())));
  auto const fewest = [&] {
    auto const& cuts = shares.cuts.back();
    int least_own = cuts.back();
    for (std::size_t rank = 0; rank + 1 < cuts.size(); ++rank)
      least_own = std::min(least_own, cuts[rank + 1] - cuts[rank]);
    return least_own;
  };
  // Around the axis a rank is to find a plane in one place.
  auto const most = [&] {
    auto const& cuts = shares.cuts.back();
    int most_own = 0;
    for (std::size_t rank = 0; rank + 1 < cuts.size(); ++rank)
      most_own = std::max(most_own, cuts[rank + 1] - cuts[rank]);
    return shares.around ? most_own + 2 * shares.beside + 1 : most_own;
  };
  if (fewest() < 1) throw std::invalid_argument("multigrid: a rank has no unknowns");
  for (std::size_t l = 0; l < plan.transfers.size() && static_cast<int>(l) != solved; ++l) {
    if (fewest() < shares.beside + 1 || most() > shares.cuts.back().back() ||
        size_of(plan.axes[l]) < least || has_seam(plan.axes[l]))
      break;
    auto const& kept = plan.transfers[l][slowest].kept;
    std::vector<int> next;
    for (int const cut : shares.cuts.back())
      next.push_back(static_cast<int>(std::ranges::lower_bound(kept, cut) - kept.begin()));
    shares.cuts.push_back(std::move(next));
  }
  return shares;
}

Transfer windowed(Transfer const& whole, Shares const& shares, std::size_t level, int rank) {
  Window const fine = shares.window(level, rank), coarse = shares.window(level + 1, rank);
  int const all = shares.all(level), all_coarse = shares.all(level + 1);
  bool const goes_on = shares.around && shares.is_cut(level + 1);
  Transfer transfer;
  transfer.kept.assign(static_cast<std::size_t>(coarse.count()), -1);
  for (int place = fine.first; place < fine.end; ++place) {
    Around const here(place, all);
    auto const at = static_cast<std::size_t>(here.at);
    int const left = whole.left[at], right = whole.right[at];
    int const before = (goes_on ? here.times * all_coarse : 0) - coarse.first;
    // The last point of a periodic axis has the first coarse one on its right.
    int const over = goes_on && right >= 0 && right < left ? all_coarse : 0;
    transfer.left.push_back(left < 0 ? -1 : left + before);
    transfer.right.push_back(right < 0 ? -1 : right + before + over);
    transfer.to_left.push_back(whole.to_left[at]);
    transfer.to_right.push_back(whole.to_right[at]);
    bool const is_kept = left >= 0 && whole.kept[static_cast<std::size_t>(left)] == here.at;
    if (is_kept) transfer.kept[static_cast<std::size_t>(left + before)] = place - fine.first;
  }
  return transfer;
}

Transfer gathering(Transfer const& whole, Shares const& shares, std::size_t level, int rank) {
  Window const fine = shares.window(level, rank), coarse = shares.window(level + 1, rank);
  int const all = shares.all(level);
  Transfer transfer;
  for (int z = coarse.own_first; z < coarse.own_end; ++z) {
    auto const at = static_cast<std::size_t>(z);
    transfer.kept.push_back(whole.kept[at] - fine.first);
    transfer.gather.push_back(whole.gather[at]);
  }
  // Points that are kept, whoever gathers around them.
  for (int place = fine.first; place < fine.end; ++place) {
    int const at = Around(place, all).at, left = whole.left[static_cast<std::size_t>(at)];
    bool const is_kept = left >= 0 && whole.kept[static_cast<std::size_t>(left)] == at;
    auto const known = std::ranges::find(transfer.kept, place - fine.first);
    transfer.left.push_back(is_kept ? static_cast<int>(known - transfer.kept.begin()) : -1);
    if (is_kept && known == transfer.kept.end()) transfer.kept.push_back(place - fine.first);
  }
  return transfer;
}

SentBytes sent_bytes(Shares const& shares, std::span<std::int64_t const> plane_values,
                     std::size_t value_bytes, int more) {
  SentBytes bytes{0, 0};
  for (std::size_t l = 0; l < shares.cuts.size(); ++l) {
    std::size_t const plane = static_cast<std::size_t>(plane_values[l]) * value_bytes;
    if (shares.is_cut(l))
      bytes.beside =
          std::max(bytes.beside, static_cast<std::size_t>(shares.beside + 1 + more) * plane);
    else
      bytes.all = static_cast<std::size_t>(shares.all(l) + more) * plane;
  }
  return bytes;
}

namespace {

/// Values of a colour in a plane.
template <class S>
std::int64_t line_of(Level<S> const& level, int axis) {
  return axis == 2 ? std::int64_t{level.half} * level.count[1] : std::int64_t{level.half};
}

}  // namespace

template <class S>
SharedLevels<S>::SharedLevels(RankPlanes const& planes, Stream const& stream, Shares shares,
                              std::span<Level<S> const> levels, std::vector<Level<S>> down)
    : planes_(planes),
      stream_(stream),
      rank_(planes.ranks().rank()),
      shares_(std::move(shares)),
      levels_(levels),
      down_(std::move(down)) {
  std::vector<std::int64_t> plane_values;
  for (std::size_t l = 0; l < shares_.cuts.size(); ++l)
    plane_values.push_back(2 * line_of(levels_[l], shares_.axis));
  auto const [beside, all] = sent_bytes(shares_, plane_values, sizeof(S));
  ways_ = std::make_unique<RankPieces>(planes_, stream, std::max(beside, sizeof(S)), all);
}

template <class S>
Level<S> SharedLevels<S>::own(std::size_t level) const {
  Window const window = shares_.window(level, rank_);
  return planes_of(levels_[level], shares_.axis, window.own_first - window.first, window.own());
}

/// Planes by their numbers on the level, colour after colour.
template <class S>
RankPieces::Pieces SharedLevels<S>::pieces(std::size_t level, S* values, int first, int end) const {
  auto const& of = levels_[level];
  std::int64_t const line = line_of(of, shares_.axis);
  std::int64_t const place = (first - shares_.window(level, rank_).first) * line;
  RankPieces::Pieces both;
  for (int colour = 0; colour < 2; ++colour)
    both.push_back(std::as_writable_bytes(std::span(
        values + colour * of.colour + place, static_cast<std::size_t>((end - first) * line))));
  return both;
}

template <class S>
void SharedLevels<S>::exchange(std::size_t level, S* values) const {
  Window const own = shares_.window(level, rank_);
  std::array<RankPieces::Pieces, 2> sent, received;
  if (has_beside(0)) {
    sent[0] = pieces(level, values, own.own_first, own.own_first + shares_.beside);
    received[0] = pieces(level, values, own.first, own.own_first);
  }
  if (has_beside(1)) {
    sent[1] = pieces(level, values, own.own_end - shares_.wanted_above(own), own.own_end);
    received[1] = pieces(level, values, own.own_end, own.end);
  }
  ways_->exchange(stream_, sent, received);
}

template <class S>
void SharedLevels<S>::complete_right(std::size_t level) const {
  if (level >= shares_.cuts.size()) return;
  S* const values = levels_[level].f;
  if (shares_.is_cut(level)) return exchange(level, values);
  std::vector<RankPieces::Pieces> of_ranks;
  for (int rank = 0; rank < shares_.ranks(); ++rank) {
    Window const theirs = shares_.window(level, rank);
    of_ranks.push_back(pieces(level, values, theirs.own_first, theirs.own_end));
  }
  ways_->gather(stream_, of_ranks);
}

template <class S>
void SharedLevels<S>::complete_solution(std::size_t level) const {
  if (shares_.is_cut(level)) exchange(level, levels_[level].u);
}

template <class S>
void SharedLevels<S>::raise_to_all(std::span<Found> found) const {
  auto const size = static_cast<std::int64_t>(found.size());
  std::vector<Found> all(static_cast<std::size_t>(size * shares_.ranks()));
  std::ranges::copy(found, all.begin() + size * rank_);
  RankCuts cuts;
  for (int rank = 0; rank <= shares_.ranks(); ++rank) cuts.push_back(rank * size);
  share_parts(planes_.ranks(), std::span(all), cuts);
  for (std::size_t i = 0; i < all.size(); ++i) raise(found[i % found.size()], all[i]);
}

template <class S>
std::vector<Summed> SharedLevels<S>::of_all_planes(std::vector<Summed> const& own, int together,
                                                   int first) const {
  RankCuts cuts;
  for (int const plane : shares_.cuts[0])
    cuts.push_back(plane == 0 ? 0 : (plane + first + together - 1) / together - first / together);
  auto const rank = static_cast<std::size_t>(rank_);
  auto const each = static_cast<std::int64_t>(own.size()) / (cuts[rank + 1] - cuts[rank]);
  for (auto& cut : cuts) cut *= each;
  std::vector<Summed> all(static_cast<std::size_t>(cuts.back()));
  std::ranges::copy(own, all.begin() + cuts[static_cast<std::size_t>(rank_)]);
  share_parts(planes_.ranks(), std::span(all), cuts);
  return all;
}

template class SharedLevels<float>;
template class SharedLevels<double>;

}  // namespace gridstride::multigrid
