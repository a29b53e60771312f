#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/ranks.hpp"
#include "model/simulation.hpp"
#include "simulations/transform_engine.hpp"

namespace gridstride::transform {

/// Ranks of one machine that put their rows into the first one's files by themselves, where these hold
/// all bytes as they are given.
class OwnPlaces {
 public:
  using Open = decltype(Inputs::open_places);

  /// All ranks call it; `targets`, in the order of their places, are the first one's.
  OwnPlaces(Ranks& ranks, std::vector<Written> targets, Open const& open);

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

  Ranks& ranks_;
  std::vector<Written> targets_;                   ///< of the other ranks: without their sinks
  std::vector<std::unique_ptr<FieldSink>> sinks_;  ///< of the other ranks
  std::string lacking_;
};

}  // namespace gridstride::transform
