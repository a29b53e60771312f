#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/rank_links.hpp"

/// For the links between GPUs only (core/rank_links.hpp).
namespace gridstride {

/// What is sent is copied into a box, on a stream beside those that compute, and what comes out of
/// one. A box is filled again two messages later.
class BoxLinks : public RankLinks {
 public:
  void start(int way, Pieces const& pieces, Stream& stream) override;
  void let_go(Stream& stream) override;
  void finish(std::span<Arrival const> arrivals) override;

 protected:
  static constexpr std::size_t ways = 2, turns = 2;  // what is on a way at a time takes turns
  static constexpr int first_tag = 1;                // of the ways
  template <class T>
  using OfWays = std::array<T, ways>;
  template <class T>
  using OfTurns = OfWays<std::array<T, turns>>;

  /// `link` is the stream that copies into boxes.
  BoxLinks(Ranks& ranks, Stream const& link, RanksBeside const& beside, std::size_t bytes);

  static std::size_t index(int way) { return static_cast<std::size_t>(way); }

  bool is_alone() const { return beside_[0] < 0 && beside_[1] < 0; }

  /// What the ranks beside this one send on each way, to which this one sends what is its own there.
  template <class T>
  OfWays<T> exchange_beside(OfWays<T> own) {
    OfWays<T> come;
    std::vector<RankMessage> sent, received;
    for (std::size_t way = 0; way < ways; ++way) {
      int const tag = first_tag + static_cast<int>(way);
      auto const bytes = [way](OfWays<T>& all) {
        return std::as_writable_bytes(std::span(&all[way], 1));
      };
      if (beside_[way] >= 0) sent.push_back({beside_[way], tag, bytes(own)});
      if (beside_[1 - way] >= 0) received.push_back({beside_[1 - way], tag, bytes(come)});
    }
    ranks_.exchange(sent, received);
    return come;
  }

  /// The content of a box that goes to another rank or comes from one.
  struct Box {
    int rank = 0, way = 0;
    std::size_t turn = 0, bytes = 0;
  };
  /// A box is filled once what `link_` has queued is done.
  virtual void has_filled(int way, std::size_t turn) = 0;
  /// Work queued on `stream` after this finds the box filled, if it was to be.
  virtual void await_filled(int way, std::size_t turn, Stream& stream) = 0;
  /// Whatever has to be done for these to come; it may wait for other ranks.
  virtual void move(std::span<Box const> sent, std::span<Box const> received) = 0;
  /// Work queued on `stream` after this finds a box that comes filled.
  virtual void await(int way, std::size_t turn, Stream& stream) = 0;
  /// A box that came is taken out once what `stream` has queued is done.
  virtual void has_taken(int /*way*/, std::size_t /*turn*/, Stream& /*stream*/) {}

  Ranks& ranks_;
  RanksBeside beside_;
  std::size_t bytes_;  // of a box
  Stream link_;
  OfTurns<std::byte*> out_ = {}, in_ = {};

 private:
  Event ready_, gone_;
  OfTurns<std::size_t> filled_bytes_ = {};
  OfWays<std::size_t> started_ = {}, sent_ = {}, received_ = {};
};

/// Events of this process tell when boxes are filled.
class EventLinks : public BoxLinks {
 protected:
  using Events = OfTurns<std::unique_ptr<Event>>;

  EventLinks(Ranks& ranks, Stream const& link, RanksBeside const& beside, std::size_t bytes)
      : BoxLinks(ranks, link, beside, bytes), filled_(events_of(link.device())) {}

  static Events events_of(Device const& device);
  Event& filled(int way, std::size_t turn) { return *filled_[index(way)][turn]; }
  void has_filled(int way, std::size_t turn) override { link_.record(filled(way, turn)); }
  void await_filled(int way, std::size_t turn, Stream& stream) override {
    stream.wait(filled(way, turn));
  }

 private:
  Events filled_;
};

}  // namespace gridstride
