#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/field_sink.hpp"
#include "core/ranks.hpp"

namespace gridstride {

/// An array that is written, by its number.
struct Written {
  int place;
  FieldSink* sink;
};

/// Ranks that put their parts of arrays into the first one's files by themselves, where these hold all
/// bytes as they are given.
class OwnPlaces {
 public:
  /// Throws `IoError` where a rank sees no such file, or another one.
  using Open = std::function<std::unique_ptr<FieldSink>(FilePlaces const&)>;
  /// Whose files they may be: of a rank of this machine, or of any that is known to see the same ones.
  enum class Seen { here, everywhere };

  /// All ranks call it; `targets`, in the order of their places, are the first one's.
  OwnPlaces(Ranks& ranks, std::vector<Written> targets, Open const& open, Seen seen = Seen::here);

  /// Why they cannot, the same on all ranks; empty where they can.
  std::string const& lacking() const { return lacking_; }
  /// What the pass of this rank writes to, in the order of the places.
  std::vector<Written> written() const;
  /// Does a pass, after which the first one's files know what the others wrote. All ranks call it.
  /// Throws what the pass of this rank does.
  void during(std::function<void()> const& pass);

 private:
  std::vector<FilePlaces> share();
  void tell(std::vector<FilePlaces>& places);
  void settle();
  std::vector<std::vector<SlabChecksum>> checksums_of_others();

  Ranks& ranks_;
  std::vector<Written> targets_;                   ///< of the other ranks: without their sinks
  std::vector<std::unique_ptr<FieldSink>> sinks_;  ///< of the other ranks
  std::string lacking_;
  bool has_checksums_ = false;
};

}  // namespace gridstride
