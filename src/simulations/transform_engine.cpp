#include "simulations/transform_engine.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "kernels/convert/convert.hpp"

namespace gridstride::transform {

template <class T>
Engine<T>::Engine(Stream const& stream, Chain const& chain, Load const& load, Cut const& cut,
                  Files const& files, Resident<T>& resident, Refuse refuse)
    : stream_(stream),
      chain_(&chain),
      load_(load),
      cut_(cut),
      files_(files),
      resident_(&resident),
      refuse_(std::move(refuse)),
      pipeline_(stream, cut.threads, static_cast<std::size_t>(cut.each)) {
  for (Lane& lane : pipeline_.lanes()) {
    Stream& own = lane.stream();
    states_.push_back({Worker<T>(own, chain, cut.values),
                       {},
                       {},
                       {own, MemorySpace::device, cut.read_bytes},
                       {own, MemorySpace::device, cut.read_values},
                       {own, MemorySpace::pinned, cut.written_values},
                       {own, MemorySpace::device, cut.pieces},
                       {own, MemorySpace::pinned, cut.pieces}});
    // They stay so: a number that is not finite ends the run.
    auto& state = states_.back();
    std::ranges::fill(state.found.span(), convert::all_finite);
    copy_async(state.first_non_finite.span(), std::as_const(state.found).span(), own);
  }
  turns_.assign(static_cast<std::size_t>(cut.threads), 0);
  if (stream.backend() == Backend::cuda)
    for (int n = 0; n < cut.threads * cut.slabs; ++n)
      copied_.emplace_back(stream.device(), !cut.stays_awake);
  // Pinned faster together.
  slabs_ = {stream, MemorySpace::pinned, copied_.size() * cut.slab_bytes};
}

/// Scans of arrays that are needed begin anew.
template <class T>
std::vector<ScanState<T>> Engine<T>::scans_for(PassWork<T> const& work) const {
  std::vector<ScanState<T>> scans;
  if (!chain_->scans()) return scans;
  auto const ends = chain_->ends(work.places, {0, chain_->grid().points[chain_->slowest()]});
  for (std::size_t l = 0; l < ends.size(); ++l)
    if (ends[l] > 0 && std::holds_alternative<ByScan>(chain_->links()[l].work))
      scans.emplace_back(stream_, *chain_, static_cast<int>(l), cut_.kept[l]);
  return scans;
}

template <class T>
PipelineReport Engine<T>::run(PassWork<T> const& work) {
  Pass pass{work,
            chunks_of_pass(*chain_, load_, cut_, work.places, resident_->filled,
                           {!work.written.empty(), work.picks}),
            scans_for(work)};
  auto const stage = [&](std::size_t number, StageKind kind, auto const& body,
                         bool ordered = false) {
    return PipelineStage{std::string(stage_names[number]), kind,
                         [this, body](Lane& lane, std::int64_t chunk) {
                           body(states_[lane.index()], lane, static_cast<std::size_t>(chunk));
                         },
                         ordered};
  };
  std::vector<PipelineStage> const stages = {
      stage(0, StageKind::host,
            [&](LaneState& state, Lane& lane, std::size_t chunk) {
              lay_out(state, pass, chunk);
              read(state, lane);
            }),
      stage(1, StageKind::queued,
            [&](LaneState& state, Lane& lane, std::size_t) {
              // Reading has queued it.
              for (Part const& part : state.parts) lane.moved(part.bytes);
            }),
      stage(2, StageKind::queued, [&](LaneState& state, Lane&, std::size_t) { convert(state); }),
      stage(
          3, StageKind::queued, [&](LaneState& state, Lane&, std::size_t) { compute(state, pass); },
          work.take != nullptr || !pass.scans.empty()),
      stage(4, StageKind::queued,
            [&](LaneState& state, Lane& lane, std::size_t) { copy_out(state, work, lane); }),
      stage(5, StageKind::host,
            [&](LaneState& state, Lane& lane, std::size_t) { write(state, pass, lane); })};
  auto const report = pipeline_.run(std::ssize(pass.chunks), stages);
  for (auto const& file : files_)
    if (file) file->check_unchanged();
  note_filled(work);
  return report;
}

/// What the pass went by, and may stay, is there now.
template <class T>
void Engine<T>::note_filled(PassWork<T> const& work) {
  for (int const place : work.places)
    if (auto const l = static_cast<std::size_t>(place); l < files_.size() && files_[l])
      resident_->filled[l] = resident_->rows[l];
}

template <class T>
void Engine<T>::lay_out(LaneState& state, Pass const& pass, std::size_t chunk) {
  Rows const before = chunk == 0 ? Rows() : pass.chunks[chunk - 1];
  state.layout =
      layout_of(*chain_, pass.work.places, before, pass.chunks[chunk], resident_->filled);
  if (!cut_.holds(*chain_, load_, state.layout))
    throw std::logic_error("transform: a chunk takes more than was foreseen");
  state.parts = parts_of(state.layout);
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
      if (piece.resident) continue;
      std::int64_t const count = piece.rows.count() * width;
      std::size_t const bytes = static_cast<std::size_t>(count) * number;
      parts.push_back(
          {static_cast<int>(l), &piece, piece.rows.first * width, count, offset, bytes});
      offset += slab_aligned(bytes);
    }
  }
  return parts;
}

/// Slab by slab, each of which the thread takes again when what was in it is on the device.
template <class T>
void Engine<T>::bring(LaneState& state, Lane& lane, Part const& part) {
  auto const number = part.bytes / static_cast<std::size_t>(part.count);
  auto const most = static_cast<std::int64_t>(cut_.slab_bytes / number);
  std::size_t const thread = lane.index() / static_cast<std::size_t>(cut_.each);
  auto const slabs = static_cast<std::size_t>(cut_.slabs);
  for (std::int64_t done = 0, count = 0; done < part.count; done += count) {
    count = std::min(most, part.count - done);
    std::size_t const bytes = static_cast<std::size_t>(count) * number;
    std::size_t const slab = thread * slabs + turns_[thread]++ % slabs;
    copied_[slab].await();
    auto const target = slabs_.span().subspan(slab * cut_.slab_bytes, bytes);
    files_[static_cast<std::size_t>(part.place)]->read(part.first + done, count, target.data());
    lane.feed();
    copy_async(
        state.stored.span().subspan(part.offset + static_cast<std::size_t>(done) * number, bytes),
        std::span<std::byte const>(target), lane.stream());
    copied_[slab].record(lane.stream());
  }
}

template <class T>
void Engine<T>::read(LaneState& state, Lane& lane) {
  for (Part const& part : state.parts) {
    if (lane.stream().backend() == Backend::cuda)
      bring(state, lane, part);
    else
      files_[static_cast<std::size_t>(part.place)]->read(part.first, part.count,
                                                         state.stored.data() + part.offset);
    lane.moved(part.bytes);
  }
}

template <class T>
void Engine<T>::convert(LaneState& state) {
  Stream& stream = state.worker.stream();
  auto const& parts = state.parts;
  if (parts.empty()) return;
  auto const flags = state.first_non_finite.span().first(parts.size());
  auto const slab = std::as_const(state.stored).span();
  for (std::size_t p = 0; p < parts.size(); ++p) {
    Part const& part = parts[p];
    auto const& file = files_[static_cast<std::size_t>(part.place)];
    auto const target =
        state.read.span().subspan(part.piece->offset, static_cast<std::size_t>(part.count));
    convert::convert<T>(stream, {slab.subspan(part.offset, part.bytes), file->type()}, target,
                        flags.subspan(p, 1));
    keep(state, part);
  }
  copy_async(state.found.span().first(parts.size()), std::span<std::int64_t const>(flags), stream);
}

/// What the chunk is responsible for of those rows that stay.
template <class T>
void Engine<T>::keep(LaneState& state, Part const& part) {
  auto const place = static_cast<std::size_t>(part.place);
  Rows const own = chain_->own(part.place, state.layout.chunk), stay = resident_->rows[place];
  Rows const rows{std::max({own.first, part.piece->rows.first, stay.first}),
                  std::min({own.last, part.piece->rows.last, stay.last})};
  if (rows.empty() || resident_->filled[place] == stay) return;
  std::int64_t const width = chain_->width(part.place);
  auto const size = static_cast<std::size_t>(rows.count() * width);
  auto const offset =
      part.piece->offset + static_cast<std::size_t>((rows.first - part.piece->rows.first) * width);
  auto const target = static_cast<std::size_t>((rows.first - stay.first) * width);
  copy_async(resident_->values[place].span().subspan(target, size),
             std::as_const(state.read).span().subspan(offset, size), state.worker.stream());
}

template <class T>
void Engine<T>::compute(LaneState& state, Pass& pass) {
  auto const& work = pass.work;
  state.worker.compute(state.layout, std::as_const(state.read).data(), *resident_, pass.scans);
  for (auto const& [place, kept, first] : work.kept) {
    auto const rows = chain_->own(place, state.layout.chunk);
    if (rows.empty()) continue;
    auto const values = state.worker.values(place, rows);
    T* const target = kept + (rows.first - first) * chain_->width(place);
    copy_async(std::span<T>(target, values.size()), values, state.worker.stream());
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
void Engine<T>::write(LaneState& state, Pass& pass, Lane& lane) {
  auto const& work = pass.work;
  auto const& parts = state.parts;
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
  pass.rows += state.layout.chunk.count();
  // The first lane is in the caller's thread.
  if (work.tell && lane.index() == 0)
    work.tell(static_cast<double>(pass.rows) / static_cast<double>(chain_->share().count()));
}

template class Engine<float>;
template class Engine<double>;

}  // namespace gridstride::transform
