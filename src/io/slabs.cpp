#include "io/slabs.hpp"

#include <algorithm>

#include "core/buffer.hpp"
#include "core/pipeline.hpp"

namespace gridstride::io {

namespace {

std::int64_t slabs_of(std::size_t size) {
  return static_cast<std::int64_t>((size + Slabs::bytes - 1) / Slabs::bytes);
}

/// Enough to copy on while others are in the system's calls: a file takes one write at a time.
int lanes_for(std::size_t largest_array) {
  return Pipeline::lanes_for(LaneUse::bus, slabs_of(largest_array));
}

}  // namespace

struct Slabs::State {
  State(Stream const& stream, std::size_t largest_array)
      : pipeline(stream, lanes_for(largest_array)), direct(stream.backend() == Backend::cpu) {
    for (std::size_t i = 0; i < pipeline.lanes().size() && !direct; ++i)
      slabs.emplace_back(stream, MemorySpace::pinned, std::min(bytes, largest_array));
  }

  /// It grows where an array is larger than was said.
  std::span<std::byte> slab_of(Lane& lane, std::size_t size) {
    auto& slab = slabs[lane.index()];
    if (size > slab.size()) slab = {lane.stream(), MemorySpace::pinned, size};
    return slab.span().first(size);
  }

  Pipeline pipeline;
  bool direct;                           ///< without pinned memory
  std::vector<Buffer<std::byte>> slabs;  ///< of each lane
};

Slabs::Slabs(Stream const& stream, std::size_t largest_array)
    : state_(std::make_unique<State>(stream, largest_array)) {}
Slabs::~Slabs() = default;

std::size_t Slabs::memory(Backend backend, std::size_t largest_array) {
  if (backend == Backend::cpu) return 0;
  return static_cast<std::size_t>(lanes_for(largest_array)) * std::min(bytes, largest_array);
}

void Slabs::write(std::span<Output const> arrays) {
  struct Job {
    Output const* array;
    std::size_t first;

    std::span<std::byte const> values() const {
      return {array->data + first, std::min(bytes, array->size - first)};
    }
  };
  std::vector<Job> jobs;
  for (Output const& array : arrays)
    for (std::size_t first = 0; first < array.size && !array.sinks.empty(); first += bytes)
      jobs.push_back({&array, first});
  auto const copy_out = [&](Lane& lane, std::int64_t n) {
    auto const values = jobs[static_cast<std::size_t>(n)].values();
    if (!state_->direct) copy_async(state_->slab_of(lane, values.size()), values, lane.stream());
    lane.moved(values.size());
  };
  auto const write = [&](Lane& lane, std::int64_t n) {
    Job const& job = jobs[static_cast<std::size_t>(n)];
    auto const values = state_->direct ? job.values() : state_->slab_of(lane, job.values().size());
    auto const& sinks = job.array->sinks;
    // Each slab begins with another file, so that several are written at a time.
    for (std::size_t i = 0; i < sinks.size(); ++i) {
      sinks[(static_cast<std::size_t>(n) + i) % sinks.size()]->write(job.first, values);
      lane.moved(values.size());
    }
  };
  state_->pipeline.run(std::ssize(jobs), {{"copy out", StageKind::queued, copy_out},
                                          {"write", StageKind::host, write}});
}

void Slabs::read(std::span<std::byte> array, Fill const& fill) {
  auto const target_of = [&](std::int64_t n) {
    auto const first = static_cast<std::size_t>(n) * bytes;
    return array.subspan(first, std::min(bytes, array.size() - first));
  };
  auto const read = [&](Lane& lane, std::int64_t n) {
    auto const target = target_of(n);
    fill(static_cast<std::uint64_t>(n) * bytes,
         state_->direct ? target : state_->slab_of(lane, target.size()));
    lane.moved(target.size());
  };
  auto const copy_in = [&](Lane& lane, std::int64_t n) {
    auto const target = target_of(n);
    if (!state_->direct) copy_async(target, state_->slab_of(lane, target.size()), lane.stream());
    lane.moved(target.size());
  };
  state_->pipeline.run(slabs_of(array.size()),
                       {{"read", StageKind::host, read}, {"copy in", StageKind::queued, copy_in}});
}

}  // namespace gridstride::io
