// The step that puts values in order. Where they stay in device memory, they are gathered there and
// sorted in place. Else they are gathered on the host, and sorted from there to the files by ranges
// of keys (kernels/sort/out_of_core.hpp), which gives the same bits.

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/buffer.hpp"
#include "kernels/sort/out_of_core.hpp"
#include "kernels/sort/sort.hpp"
#include "kernels/support/streaming_copy.hpp"
#include "simulations/transform_endings.hpp"
#include "simulations/transform_finder.hpp"

namespace gridstride::transform {

namespace {

/// What makes the field of a sort.
template <class T>
class Sort : public FieldMaker<T> {
 public:
  std::vector<int> places() const override {
    if (done_) return {};
    return {ending_.of};
  }
  void end_pass(Stream& stream) override {
    sort(stream);
    done_ = true;
  }

 protected:
  Sort(Chain const& chain, Ending const& ending) : chain_(&chain), ending_(ending) {}

  std::size_t size() const { return static_cast<std::size_t>(ending_.grid.size()); }
  Field field_at(T const* data) const {
    return {ending_.name, "1", ending_.grid, precision_of<T>(), data};
  }

  Chain const* chain_;
  Ending ending_;

 private:
  virtual void sort(Stream& stream) = 0;

  bool done_ = false;
};

template <class T>
class SortInPlace final : public Sort<T> {
 public:
  SortInPlace(Stream const& stream, Chain const& chain, Ending const& ending)
      : Sort<T>(chain, ending), values_(stream, MemorySpace::device, this->size()) {
    Stream own = stream;
    zero_async(values_.span(), own);
  }

  void take(Worker<T>& worker, Rows const& chunk) override {
    int const place = this->ending_.of;
    auto const rows = this->chain_->own(place, chunk);
    if (rows.empty()) return;
    auto const values = worker.values(place, rows);
    auto const first = static_cast<std::size_t>(rows.first * this->chain_->width(place));
    copy_async(values_.span().subspan(first, values.size()), values, worker.stream());
  }
  Field field() const override { return this->field_at(values_.data()); }

 private:
  void sort(Stream& stream) override {
    sort::keys<T>(stream, values_.span());
    stream.synchronize();
  }

  Buffer<T> values_;
};

/// An array of the host's memory that chunks are put into.
template <class T>
class Gathered final : public FieldSink {
 public:
  Gathered(Stream const& stream, std::size_t size)
      : FieldSink(size * sizeof(T)), values_(stream, MemorySpace::host, size) {}

  std::span<T> values() { return values_.span(); }

 private:
  void put(std::uint64_t first_byte, std::span<std::byte const> bytes) override {
    std::memcpy(reinterpret_cast<std::byte*>(values_.data()) + first_byte, bytes.data(),
                bytes.size());
  }

  Buffer<T> values_;
};

template <class T>
class SortToFiles final : public Sort<T> {
 public:
  SortToFiles(Stream const& stream, Chain const& chain, Ending const& ending,
              std::size_t device_bytes)
      : Sort<T>(chain, ending), gathered_(stream, this->size()), device_bytes_(device_bytes) {}

  void take(Worker<T>&, Rows const&) override {}
  Field field() const override { return this->field_at(nullptr); }
  void write_to(FieldSink& sink) override { sinks_.push_back(&sink); }
  std::vector<Written> brought() override { return {{this->ending_.of, &gathered_}}; }
  PipelineReport report() const override { return report_; }

 private:
  void sort(Stream& stream) override {
    gathered_.require_whole();
    auto const keys = gathered_.values();
    auto const passes = sort::out_of_core<T>(
        stream,
        [&](std::int64_t first, std::span<T> target) {
          copy_shared<T>(keys.subspan(static_cast<std::size_t>(first), target.size()),
                         target.data());
        },
        keys,
        [&](std::int64_t first, std::span<T const> source) {
          for (FieldSink* const sink : sinks_)
            sink->write(static_cast<std::uint64_t>(first) * sizeof(T), std::as_bytes(source));
        },
        device_bytes_);
    for (PipelineReport const* pass : {&passes.runs, &passes.ranges})
      if (!pass->stages.empty()) report_ += *pass;
  }

  Gathered<T> gathered_;
  std::size_t device_bytes_;
  std::vector<FieldSink*> sinks_;
  PipelineReport report_;
};

}  // namespace

template <class T>
std::unique_ptr<FieldMaker<T>> make_sort(Stream const& stream, Chain const& chain,
                                         Ending const& ending, EndingMemory const& memory) {
  if (memory.kept) return std::make_unique<SortInPlace<T>>(stream, chain, ending);
  return std::make_unique<SortToFiles<T>>(stream, chain, ending, memory.device_bytes);
}

template std::unique_ptr<FieldMaker<float>> make_sort(Stream const&, Chain const&, Ending const&,
                                                      EndingMemory const&);
template std::unique_ptr<FieldMaker<double>> make_sort(Stream const&, Chain const&, Ending const&,
                                                       EndingMemory const&);

}  // namespace gridstride::transform
