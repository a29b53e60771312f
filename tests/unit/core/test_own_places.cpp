// Ranks that write their rows by themselves, as threads.

#include "core/own_places.hpp"

#include <gtest/gtest.h>

#include <array>
#include <mutex>
#include <stdexcept>

#include "core/error.hpp"
#include "support/thread_ranks.hpp"

namespace gridstride {
namespace {

/// A file of the first rank; what of it is written is counted alone.
class CountedSink final : public FieldSink {
 public:
  CountedSink(FilePlaces places, bool fails)
      : FieldSink(100), places_(std::move(places)), fails_(fails) {}
  FilePlaces share() override {
    is_shared = true;
    return places_;
  }

  bool is_shared = false, others_failed = false;

 private:
  void put(std::uint64_t, std::span<std::byte const>) override {
    if (fails_) throw IoError(places_.shown, "is full");
  }
  void end_sharing(bool failed) override {
    is_shared = false;
    others_failed = failed;
  }

  FilePlaces places_;
  bool fails_;
};

FilePlaces image() { return {"a.part", "a.vti", 1, 2, {{0, 100, 4096}}}; }
FilePlaces result() { return {"b.h5", "b.h5", 1, 3, {{0, 60, 8192}, {60, 40, 1024}}}; }

/// Ten bytes of each target, at a place of its own for each rank.
void write_rows(Ranks& ranks, OwnPlaces const& own) {
  std::array<std::byte, 10> const bytes{};
  for (auto const& [place, sink] : own.written())
    sink->write(static_cast<std::uint64_t>(ranks.rank()) * 10, bytes);
}

TEST(OwnPlaces, RanksWriteByThemselves) {
  for (int const count : {2, 3}) {
    CountedSink first(image(), false), second(result(), false);
    EXPECT_TRUE(test::on_ranks(count, [&](Ranks& ranks) {
      std::vector<Written> targets;
      if (ranks.is_first()) targets = {{4, &first}, {7, &second}};
      std::vector<FilePlaces> opened;
      OwnPlaces own(ranks, targets, [&](FilePlaces const& places) {
        opened.push_back(places);
        return std::make_unique<CountedSink>(places, false);
      });
      EXPECT_EQ(own.lacking(), "");
      auto const written = own.written();
      ASSERT_EQ(written.size(), 2U);
      EXPECT_EQ(written[0].place, 4);
      EXPECT_EQ(written[1].place, 7);
      ASSERT_EQ(opened.size(), ranks.is_first() ? 0U : 2U);
      for (std::size_t t = 0; t < opened.size(); ++t) {
        auto const expected = t == 0 ? image() : result();
        EXPECT_EQ(opened[t].file, expected.file);
        EXPECT_EQ(opened[t].shown, expected.shown);
        EXPECT_EQ(opened[t].device, expected.device);
        EXPECT_EQ(opened[t].inode, expected.inode);
        ASSERT_EQ(opened[t].stretches.size(), expected.stretches.size());
        EXPECT_EQ(opened[t].stretches.back().first_byte, expected.stretches.back().first_byte);
        EXPECT_EQ(opened[t].stretches.back().bytes, expected.stretches.back().bytes);
        EXPECT_EQ(opened[t].stretches.back().place, expected.stretches.back().place);
      }
      own.during([&] { write_rows(ranks, own); });
    }));
    for (auto const* sink : {&first, &second}) {
      EXPECT_EQ(sink->written(), static_cast<std::uint64_t>(count) * 10);
      EXPECT_FALSE(sink->is_shared || sink->others_failed);
    }
  }
}

TEST(OwnPlaces, WhatARankFailsInItsOwnThrows) {
  CountedSink first(image(), false), second(result(), false);
  EXPECT_TRUE(test::on_ranks(3, [&](Ranks& ranks) {
    std::vector<Written> targets;
    if (ranks.is_first()) targets = {{4, &first}, {7, &second}};
    OwnPlaces own(ranks, targets, [&](FilePlaces const& places) {
      return std::make_unique<CountedSink>(places, ranks.rank() == 2 && places.file == "b.h5");
    });
    auto const pass = [&] { own.during([&] { write_rows(ranks, own); }); };
    if (ranks.rank() == 2)
      EXPECT_THROW(pass(), IoError);
    else
      pass();
  }));
  EXPECT_EQ(first.written(), 30U);
  EXPECT_FALSE(first.others_failed);
  EXPECT_EQ(second.written(), 20U);
  EXPECT_TRUE(second.others_failed);
}

/// What lacks is the same on all ranks, and the first one's files are its own again.
void expect_lacking(std::string const& why, FilePlaces places, bool apart, int blind = -1) {
  CountedSink sink(std::move(places), false);
  EXPECT_TRUE(test::on_ranks(
      3,
      [&](Ranks& ranks) {
        std::vector<Written> targets;
        if (ranks.is_first()) targets = {{0, &sink}};
        OwnPlaces own(ranks, targets, [&](FilePlaces const& given) -> std::unique_ptr<FieldSink> {
          if (ranks.rank() == blind) throw IoError(given.shown, "is not there");
          return std::make_unique<CountedSink>(given, false);
        });
        EXPECT_EQ(own.lacking(), why);
      },
      apart));
  EXPECT_FALSE(sink.is_shared || sink.others_failed);
}

TEST(OwnPlaces, WhatLacks) {
  expect_lacking("ranks are on several machines", image(), true);
  expect_lacking("what is packed or rounded goes through it", {}, false);
  expect_lacking("rank 2: a.vti: is not there", image(), false, 2);
}

}  // namespace
}  // namespace gridstride
