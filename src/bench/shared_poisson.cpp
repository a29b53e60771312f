#include "bench/shared_poisson.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>

#include "bench/poisson_cases.hpp"
#include "bench/report.hpp"
#include "bench/workload.hpp"
#include "core/buffer.hpp"
#include "core/error.hpp"
#include "core/rank_sums.hpp"
#include "core/timer.hpp"
#include "kernels/machine/machine.hpp"
#include "kernels/support/rank_planes.hpp"

namespace gridstride::bench {

namespace of_poisson {

/// The median of solves that begin together, of this rank.
template <class T>
double median_seconds(Ranks& ranks, Stream& stream, Solver<T>& solver, std::span<T const> right,
                      std::span<T> u) {
  constexpr int before = 2, samples = 15;
  std::vector<double> seconds;
  for (int run = 0; run < before + samples; ++run) {
    stream.synchronize();
    std::byte none{};
    ranks.broadcast({&none, 1});
    Timer const timer;
    std::visit([&](auto& way) { way.solve(stream, right, u); }, solver);
    stream.synchronize();
    if (run >= before) seconds.push_back(timer.seconds());
  }
  std::ranges::nth_element(seconds, seconds.begin() + samples / 2);
  return seconds[samples / 2];
}

template <class T>
SharedSolve measure(Ranks& ranks, Stream& stream, Case const& of, std::int64_t size) {
  poisson::Equation<T> equation{.grid = grid_of(of, size)};
  equation.sides.fill({of.sides, of.sides});
  Grid const& grid = equation.grid;
  auto const slowest = static_cast<std::size_t>(grid.dims - 1);
  auto const line = static_cast<std::size_t>(grid.face_size(grid.dims - 1));
  SharedSolve found{.operation = std::string(of.operation),
                    .type = std::string(type_name<T>()),
                    .points = grid.size()};
  Buffer<T> right(stream, MemorySpace::device, static_cast<std::size_t>(grid.size())),
      u(stream, MemorySpace::device, right.size());
  machine::fill_random(stream, right.span(), 0);
  zero_async(u.span(), stream);
  {
    auto solver = solver_of(stream, equation);
    found.alone = median_seconds<T>(ranks, stream, solver, right.span(), u.span());
  }
  RankCuts cuts;
  for (int rank = 0; rank <= ranks.count(); ++rank)
    cuts.push_back(grid.points[slowest] * rank / ranks.count());
  RankPlanes planes(ranks, stream, cuts, of.sides == SideKind::periodic, line * sizeof(double), 64);
  auto const first = static_cast<std::size_t>(planes.lower()) * line,
             own = static_cast<std::size_t>(planes.upper() - planes.lower()) * line;
  auto const expected = on_host<T>(stream, std::as_const(u).span().subspan(first, own));
  Buffer<T> held(stream, MemorySpace::device, own + 2 * line),
      shared(stream, MemorySpace::device, held.size());
  copy_async(held.span().subspan(line, own), right.span().subspan(first, own), stream);
  zero_async(shared.span(), stream);
  equation.ranks = &planes;
  auto solver = solver_of(stream, equation);
  found.shared = median_seconds<T>(ranks, stream, solver, held.span(), shared.span());
  found.transport = std::visit([](auto& way) { return std::string(way.transport()); }, solver);
  auto const theirs = on_host<T>(stream, std::as_const(shared).span().subspan(line, own));
  bool const is_same = std::memcmp(theirs.data(), expected.data(), own * sizeof(T)) == 0;
  auto const fault = first_text(
      ranks, is_same ? "" : fmt::format("rank {} has other bits than one process", ranks.rank()));
  if (!fault.empty()) throw VerificationError(fmt::format("{}: {}", of.operation, fault));
  return found;
}

}  // namespace of_poisson

std::vector<SharedSolve> measure_shared_poisson(Ranks& ranks, Stream& stream, std::string_view type,
                                                std::int64_t size) {
  std::vector<SharedSolve> solves;
  for (auto const* const of :
       {&of_poisson::volume, &of_poisson::held_volume, &of_poisson::free_volume, &of_poisson::plane,
        &of_poisson::held_plane}) {
    std::int64_t const points = size > 0 ? size : of->points(stream.backend());
    solves.push_back(type == "float32" ? of_poisson::measure<float>(ranks, stream, *of, points)
                                       : of_poisson::measure<double>(ranks, stream, *of, points));
  }
  return solves;
}

std::string table(std::vector<SharedSolve> const& solves) {
  std::string text = fmt::format("\n{:<16} {:<8} {:>12} {:>12} {:>12} {:>7}\n", "poisson", "",
                                 "points", "alone ms", "shared ms", "gain");
  for (auto const& solve : solves)
    text +=
        fmt::format("{:<16} {:<8} {:>12} {:>12.3f} {:>12.3f} {:>7.2f}\n", solve.operation,
                    solve.type, solve.points, solve.alone * 1e3, solve.shared * 1e3, solve.gain());
  return text + fmt::format("exchanged {}\n", solves.front().transport);
}

std::string json(Ranks const& ranks, Device const& device, std::vector<SharedSolve> const& solves) {
  nlohmann::ordered_json json = provenance(device);
  json["ranks"] = ranks.count();
  json["solves"] = nlohmann::ordered_json::array();
  for (auto const& solve : solves)
    json["solves"].push_back({{"operation", solve.operation},
                              {"type", solve.type},
                              {"points", solve.points},
                              {"exchanged", solve.transport},
                              {"alone", solve.alone},
                              {"shared", solve.shared}});
  return json.dump(1) + '\n';
}

}  // namespace gridstride::bench
