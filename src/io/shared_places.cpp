#include "io/shared_places.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "io/checksum.hpp"
#include "io/placed_file.hpp"

namespace gridstride::io {

namespace {

std::uint64_t end_of(FilePlaces const& places) {
  if (places.stretches.empty()) return 0;
  return places.stretches.back().first_byte + places.stretches.back().bytes;
}

class SharedPlaces final : public FieldSink {
 public:
  explicit SharedPlaces(FilePlaces places)
      : FieldSink(end_of(places)),
        places_(std::move(places)),
        file_(places_.file, places_.shown, PlacedFile::How::written) {
    auto const found = file_.places({});
    bool const is_other_device = places_.device != 0 && found.device != places_.device;
    if (is_other_device || found.inode != places_.inode)
      throw IoError(places_.shown, "is another file there");
  }
  std::vector<SlabChecksum> checksums() const override { return checksums_; }

 private:
  void put(std::uint64_t first_byte, std::span<std::byte const> bytes) override {
    if (places_.checked > 0) {
      SlabChecksum const found = {first_byte / places_.checked, checksum(bytes)};
      std::lock_guard const lock(mutex_);
      checksums_.push_back(found);
    }
    auto stretch =
        std::ranges::upper_bound(places_.stretches, first_byte, {}, &Stretch::first_byte);
    for (--stretch; !bytes.empty(); ++stretch) {
      std::uint64_t const skipped = first_byte - stretch->first_byte;
      auto const part = bytes.first(std::min(stretch->bytes - skipped, bytes.size()));
      file_.write(stretch->place + skipped, part);
      bytes = bytes.subspan(part.size());
      first_byte += part.size();
    }
    // Of another machine nobody else brings it to the disk.
    if (places_.device == 0) file_.synchronize();
  }

  FilePlaces places_;
  PlacedFile file_;
  std::mutex mutex_;  // of what follows
  std::vector<SlabChecksum> checksums_;
};

}  // namespace

std::unique_ptr<FieldSink> open_places(FilePlaces const& places) {
  return std::make_unique<SharedPlaces>(places);
}

}  // namespace gridstride::io
