#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "core/rank_links.hpp"

/// For core/rank_links.cpp only.
namespace gridstride {

/// Links that are several: what goes between this rank and the one on a side, on both ways, goes by one
/// of them.
class SideLinks final : public RankLinks {
 public:
  struct Part {
    std::unique_ptr<RankLinks> links;  // of some others than these, too
    RanksBeside beside = {-1, -1};     // with whom this rank is linked by it
  };
  /// Those of all ranks are in the same order.
  explicit SideLinks(std::vector<Part> parts) : parts_(std::move(parts)) {}

  void start(int way, Pieces const& pieces, Stream& stream) override;
  void let_go(Stream& stream) override;
  void finish(std::span<Arrival const> arrivals) override;

 private:
  std::vector<Part> parts_;
};

}  // namespace gridstride
