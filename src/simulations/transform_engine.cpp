#include "simulations/transform_engine.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "kernels/convert/convert.hpp"

namespace gridstride::transform {

namespace {

std::size_t aligned(std::size_t bytes) {
  return (bytes + slab_alignment - 1) / slab_alignment * slab_alignment;
}

}  // namespace

template <class T>
Engine<T>::Engine(Stream const& stream, Chain const& chain, Cut const& cut, Files const& files,
                  Refuse refuse)
    : stream_(stream),
      chain_(&chain),
      chunks_(cut.chunks(chain)),
      kept_rows_(cut.kept),
      files_(files),
      refuse_(std::move(refuse)),
      pipeline_(stream, cut.lanes) {
  for (Lane& lane : pipeline_.lanes()) {
    Stream const& own = lane.stream();
    states_.push_back({Worker<T>(own, chain, cut.values),
                       {},
                       Slab(own, cut.read_bytes),
                       {own, MemorySpace::device, cut.read_values},
                       {own, MemorySpace::pinned, cut.written_values},
                       {own, MemorySpace::device, cut.pieces},
                       {own, MemorySpace::pinned, cut.pieces}});
  }
}

/// Scans of arrays that are needed begin anew.
template <class T>
std::vector<ScanState<T>> Engine<T>::scans_for(PassWork<T> const& work) const {
  std::vector<ScanState<T>> scans;
  auto const ends = chain_->ends(work.places, {0, chunks_.back().last});
  for (std::size_t l = 0; l < ends.size(); ++l)
    if (ends[l] > 0 && std::holds_alternative<ByScan>(chain_->links()[l].work))
      scans.emplace_back(stream_, *chain_, static_cast<int>(l), kept_rows_[l]);
  return scans;
}

template <class T>
PipelineReport Engine<T>::run(PassWork<T> const& work) {
  auto scans = scans_for(work);
  auto const stage = [&](std::string_view name, StageKind kind, auto const& body,
                         bool ordered = false) {
    return PipelineStage{std::string(name), kind,
                         [this, body](Lane& lane, std::int64_t chunk) {
                           body(states_[lane.index()], lane, static_cast<std::size_t>(chunk));
                         },
                         ordered};
  };
  std::vector<PipelineStage> const stages = {
      stage(stage_names[0], StageKind::host,
            [&](LaneState& state, Lane& lane, std::size_t chunk) {
              lay_out(state, work, chunk);
              read(state, lane);
            }),
      stage(stage_names[1], StageKind::queued,
            [&](LaneState& state, Lane& lane, std::size_t) { copy_in(state, lane); }),
      stage(
          stage_names[2], StageKind::queued,
          [&](LaneState& state, Lane&, std::size_t) {
            convert(state);
            compute(state, work, scans);
          },
          work.take != nullptr || !scans.empty()),
      stage(stage_names[3], StageKind::queued,
            [&](LaneState& state, Lane& lane, std::size_t) { copy_out(state, work, lane); }),
      stage(stage_names[4], StageKind::host,
            [&](LaneState& state, Lane& lane, std::size_t) { write(state, work, lane); })};
  auto const report = pipeline_.run(std::ssize(chunks_), stages);
  for (auto const& file : files_)
    if (file) file->check_unchanged();
  return report;
}

template <class T>
void Engine<T>::lay_out(LaneState& state, PassWork<T> const& work, std::size_t chunk) {
  Rows const before = chunk == 0 ? Rows() : chunks_[chunk - 1];
  state.layout = layout_of(*chain_, work.places, before, chunks_[chunk]);
  if (state.layout.read_values > state.read.size())
    throw std::logic_error("transform: a chunk has more to read than was foreseen");
}

template <class T>
auto Engine<T>::parts_of(Layout const& layout) const -> std::vector<Part> {
  std::vector<Part> parts;
  std::size_t offset = 0;
  for (std::size_t l = 0; l < files_.size(); ++l) {
    if (!files_[l]) continue;
    auto const width = chain_->width(static_cast<int>(l));
    auto const number = static_cast<std::size_t>(files_[l]->type().bytes);
    for (Placed const& piece : layout.arrays[l]) {
      std::int64_t const count = piece.rows.count() * width;
      std::size_t const bytes = static_cast<std::size_t>(count) * number;
      parts.push_back(
          {static_cast<int>(l), &piece, piece.rows.first * width, count, offset, bytes});
      offset += aligned(bytes);
    }
  }
  return parts;
}

template <class T>
void Engine<T>::read(LaneState& state, Lane& lane) {
  auto const slab = state.stored.template host<std::byte>(state.stored.bytes());
  for (Part const& part : parts_of(state.layout)) {
    files_[static_cast<std::size_t>(part.place)]->read(part.first, part.count,
                                                       slab.data() + part.offset);
    lane.moved(part.bytes);
  }
}

template <class T>
void Engine<T>::copy_in(LaneState& state, Lane& lane) {
  auto const parts = parts_of(state.layout);
  if (parts.empty()) return;
  std::size_t const bytes = parts.back().offset + parts.back().bytes;
  state.stored.to_device(bytes, lane.stream());
  lane.moved(bytes);
}

template <class T>
void Engine<T>::convert(LaneState& state) {
  Stream& stream = state.worker.stream();
  auto const parts = parts_of(state.layout);
  if (parts.empty()) return;
  auto const flags = state.first_non_finite.span().first(parts.size());
  auto const host = state.found.span().first(parts.size());
  std::ranges::fill(host, convert::all_finite);
  copy_async(flags, std::span<std::int64_t const>(host), stream);
  auto const slab = state.stored.template device<std::byte>(state.stored.bytes());
  for (std::size_t p = 0; p < parts.size(); ++p) {
    Part const& part = parts[p];
    auto const& file = files_[static_cast<std::size_t>(part.place)];
    auto const target =
        state.read.span().subspan(part.piece->offset, static_cast<std::size_t>(part.count));
    convert::convert<T>(stream, {slab.subspan(part.offset, part.bytes), file->type()}, target,
                        flags.subspan(p, 1));
  }
  copy_async(host, std::span<std::int64_t const>(flags), stream);
}

template <class T>
void Engine<T>::compute(LaneState& state, PassWork<T> const& work,
                        std::vector<ScanState<T>>& scans) {
  state.worker.compute(state.layout, std::as_const(state.read).data(), scans);
  for (auto const& [place, whole] : work.kept) {
    auto const rows = chain_->own(place, state.layout.chunk);
    if (rows.empty()) continue;
    auto const values = state.worker.values(place, rows);
    copy_async(std::span<T>(whole + rows.first * chain_->width(place), values.size()), values,
               state.worker.stream());
  }
  if (work.take) work.take(state.worker, state.layout.chunk);
}

template <class T>
void Engine<T>::copy_out(LaneState& state, PassWork<T> const& work, Lane& lane) {
  std::size_t used = 0;
  for (std::size_t w = 0; w < work.written.size(); ++w) {
    int const place = work.written[w].place;
    auto const rows = chain_->own(place, state.layout.chunk);
    if (rows.empty() || (w > 0 && place == work.written[w - 1].place)) continue;
    auto const values = state.worker.values(place, rows);
    copy_async(state.written.span().subspan(used, values.size()), values, lane.stream());
    used += values.size();
    lane.moved(values.size_bytes());
  }
}

/// What was found of the chunk is on the host now, too.
template <class T>
void Engine<T>::write(LaneState& state, PassWork<T> const& work, Lane& lane) {
  auto const parts = parts_of(state.layout);
  for (std::size_t p = 0; p < parts.size(); ++p)
    if (auto const index = state.found.data()[p]; index != convert::all_finite)
      refuse_(parts[p].place, parts[p].first + index,
              *files_[static_cast<std::size_t>(parts[p].place)]);
  std::size_t first = 0, next = 0;
  for (std::size_t w = 0; w < work.written.size(); ++w) {
    auto const& [place, sink] = work.written[w];
    auto const rows = chain_->own(place, state.layout.chunk);
    std::size_t const size = static_cast<std::size_t>(rows.count() * chain_->width(place));
    if (w == 0 || place != work.written[w - 1].place) first = std::exchange(next, next + size);
    auto const values = std::as_const(state.written).span().subspan(first, size);
    sink->write(static_cast<std::uint64_t>(rows.first * chain_->width(place)) * sizeof(T),
                std::as_bytes(values));
    lane.moved(values.size_bytes());
  }
}

template class Engine<float>;
template class Engine<double>;

}  // namespace gridstride::transform
