#include "io/shared_places.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"
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
    if (found.device != places_.device || found.inode != places_.inode)
      throw IoError(places_.shown, "is another file there");
  }

 private:
  void put(std::uint64_t first_byte, std::span<std::byte const> bytes) override {
    auto stretch =
        std::ranges::upper_bound(places_.stretches, first_byte, {}, &Stretch::first_byte);
    for (--stretch; !bytes.empty(); ++stretch) {
      std::uint64_t const skipped = first_byte - stretch->first_byte;
      auto const part = bytes.first(std::min(stretch->bytes - skipped, bytes.size()));
      file_.write(stretch->place + skipped, part);
      bytes = bytes.subspan(part.size());
      first_byte += part.size();
    }
  }

  FilePlaces places_;
  PlacedFile file_;
};

}  // namespace

std::unique_ptr<FieldSink> open_places(FilePlaces const& places) {
  return std::make_unique<SharedPlaces>(places);
}

}  // namespace gridstride::io
