#include "io/slabs.hpp"

#include <algorithm>

#include "core/buffer.hpp"
#include "core/pipeline.hpp"

namespace gridstride::io {

namespace {

std::int64_t slabs_of(std::size_t size) {
  return static_cast<std::int64_t>((size + Slabs::bytes - 1) / Slabs::bytes);
}

}  // namespace

/// On the host arrays are taken where they are, and what is made is made in the slab itself.
struct Slabs::State {
  State(Stream const& of, Use const& use) : stream(of), pipeline(of, Slabs::lanes(use)) {
    bool const on_host = stream.backend() == Backend::cpu;
    std::size_t const made = std::min(bytes, use.largest_made);
    for (std::size_t i = 0; i < pipeline.lanes().size(); ++i) {
      slabs.emplace_back(stream, MemorySpace::pinned,
                         on_host ? made : std::min(bytes, use.largest()));
      made_slabs.emplace_back(stream, MemorySpace::device, on_host ? 0 : made);
    }
  }

  /// It grows where an array is larger than was said.
  std::span<std::byte> slab_of(Lane& lane, std::size_t size) {
    return take(slabs[lane.index()], lane, MemorySpace::pinned, size);
  }
  /// Where a slab is made; the same on the host.
  std::span<std::byte> made_slab_of(Lane& lane, std::size_t size) {
    if (stream.backend() == Backend::cpu) return slab_of(lane, size);
    return take(made_slabs[lane.index()], lane, MemorySpace::device, size);
  }
  static std::span<std::byte> take(Buffer<std::byte>& slab, Lane& lane, MemorySpace space,
                                   std::size_t size) {
    if (size > slab.size()) {
      slab = {};
      slab = {lane.stream(), space, size};
    }
    return slab.span().first(size);
  }

  Stream stream;
  Pipeline pipeline;
  std::vector<Buffer<std::byte>> slabs, made_slabs;  ///< of each lane
};

Slabs::Slabs(Stream const& stream, Use const& use) : state_(std::make_unique<State>(stream, use)) {}
Slabs::~Slabs() = default;

/// Without packing, enough to copy on while others are in the system's calls: the pages of a file
/// are taken by one thread at a time.
int Slabs::lanes(Use const& use) {
  constexpr int most = 8;
  int const threads = Pipeline::lanes_for(LaneUse::files, slabs_of(use.largest()));
  return use.packs ? threads : std::min(most, threads);
}

Slabs::Memory Slabs::memory(Backend backend, Use const& use) {
  auto const count = static_cast<std::size_t>(lanes(use));
  std::size_t const made = count * std::min(bytes, use.largest_made);
  if (backend == Backend::cpu) return {made, 0};
  return {count * std::min(bytes, use.largest()), made};
}

void Slabs::write(std::span<Output const> arrays) {
  struct Job {
    Output const* array;
    std::size_t first;
    bool direct;  ///< files take the array itself

    std::size_t size() const { return std::min(bytes, array->size - first); }
    std::span<std::byte const> values() const { return {array->data + first, size()}; }
  };
  std::vector<Job> jobs;
  for (Output const& array : arrays) {
    if (array.size == 0 || array.sinks.empty()) continue;
    bool const direct = !array.make && is_on_host(array.data, state_->stream);
    for (std::size_t first = 0; first < array.size; first += bytes)
      jobs.push_back({&array, first, direct});
  }
  auto const copy_out = [&](Lane& lane, std::int64_t n) {
    Job const& job = jobs[static_cast<std::size_t>(n)];
    if (job.array->make) {
      auto const made = state_->made_slab_of(lane, job.size());
      job.array->make(lane.stream(), job.first, made);
      if (lane.stream().backend() == Backend::cuda)
        copy_async(state_->slab_of(lane, job.size()), std::span<std::byte const>(made),
                   lane.stream());
    } else if (!job.direct) {
      copy_async(state_->slab_of(lane, job.size()), job.values(), lane.stream());
    }
    lane.moved(job.size());
  };
  auto const write = [&](Lane& lane, std::int64_t n) {
    Job const& job = jobs[static_cast<std::size_t>(n)];
    auto const values = job.direct ? job.values() : state_->slab_of(lane, job.size());
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
  if (array.empty()) return;
  bool const direct = is_on_host(array.data(), state_->stream);
  auto const target_of = [&](std::int64_t n) {
    auto const first = static_cast<std::size_t>(n) * bytes;
    return array.subspan(first, std::min(bytes, array.size() - first));
  };
  auto const read = [&](Lane& lane, std::int64_t n) {
    auto const target = target_of(n);
    fill(static_cast<std::uint64_t>(n) * bytes,
         direct ? target : state_->slab_of(lane, target.size()));
    lane.moved(target.size());
  };
  auto const copy_in = [&](Lane& lane, std::int64_t n) {
    auto const target = target_of(n);
    if (!direct) copy_async(target, state_->slab_of(lane, target.size()), lane.stream());
    lane.moved(target.size());
  };
  state_->pipeline.run(slabs_of(array.size()),
                       {{"read", StageKind::host, read}, {"copy in", StageKind::queued, copy_in}});
}

}  // namespace gridstride::io
