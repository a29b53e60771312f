#include "io/plain_numbers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/error.hpp"
#include "core/text.hpp"

namespace gridstride::io {

namespace {

class PlainNumbers final : public NumberSource {
 public:
  PlainNumbers(InputFile file, std::int64_t offset, NumberType type,
               std::vector<std::int64_t> shape, std::optional<StoredOrder> order)
      : file_(std::move(file)),
        offset_(offset),
        type_(type),
        shape_(std::move(shape)),
        order_(order) {}

  NumberType type() const override { return type_; }
  std::vector<std::int64_t> const& shape() const override { return shape_; }
  std::optional<StoredOrder> order() const override { return order_; }
  void check_unchanged() const override { file_.check_unchanged(); }

  void read(std::int64_t first, std::int64_t count, void* target) const override {
    if (!order_) return read_stored(first, count, target);
    auto* const bytes = static_cast<std::byte*>(target);
    std::int64_t const last = first + count;
    // The numbers of a column, which share all but the slowest axis longer than 1, lie side by side.
    auto const [slow, middle, fast] = order_->shape;
    std::int64_t const columns = slow > 1 ? middle * fast : fast, length = slow > 1 ? slow : middle;
    std::vector<std::byte> run;
    for (std::int64_t column = 0; column < columns; ++column) {
      std::int64_t const begin = (first - column + columns - 1) / columns;
      std::int64_t const end = (last - column + columns - 1) / columns;
      if (begin >= end) continue;
      std::int64_t const y = slow > 1 ? column / fast : 0, x = slow > 1 ? column % fast : column;
      run.resize(static_cast<std::size_t>((end - begin) * type_.bytes));
      read_stored((slow > 1 ? x * middle + y : x) * length + begin, end - begin, run.data());
      for (std::int64_t row = begin; row < end; ++row)
        std::memcpy(bytes + (row * columns + column - first) * type_.bytes,
                    run.data() + (row - begin) * type_.bytes,
                    static_cast<std::size_t>(type_.bytes));
    }
  }

  void read_stored(std::int64_t first, std::int64_t count, void* target) const override {
    file_.read(offset_ + first * type_.bytes,
               {static_cast<std::byte*>(target), static_cast<std::size_t>(count * type_.bytes)});
  }

 private:
  InputFile file_;
  std::int64_t offset_;
  NumberType type_;
  std::vector<std::int64_t> shape_;
  std::optional<StoredOrder> order_;
};

/// One tile that is the whole array; without value where the order of a line is C order too.
std::optional<StoredOrder> reversed_order(std::filesystem::path const& path,
                                          std::vector<std::int64_t> const& shape) {
  std::vector<std::int64_t> axes;
  std::ranges::copy_if(shape, std::back_inserter(axes), [](auto extent) { return extent != 1; });
  if (axes.size() < 2 || std::ranges::find(axes, 0) != axes.end()) return std::nullopt;
  if (axes.size() > 3)
    throw IoError(path, fmt::format("has {} axes in Fortran order (3 at most; "
                                    "numpy.ascontiguousarray makes C order of it)",
                                    axes.size()));
  axes.insert(axes.begin(), 3 - axes.size(), 1);
  return StoredOrder{{axes[0], axes[1], axes[2]}, {axes[0], axes[1], axes[2]}, true};
}

}  // namespace

std::unique_ptr<NumberSource> plain_numbers(InputFile file, std::int64_t offset, NumberType type,
                                            std::vector<std::int64_t> shape, bool reversed) {
  auto const order = reversed ? reversed_order(file.path(), shape) : std::nullopt;
  return std::make_unique<PlainNumbers>(std::move(file), offset, type, std::move(shape), order);
}

std::int64_t bytes_of(std::filesystem::path const& path, NumberType type,
                      std::vector<std::int64_t> const& shape) {
  std::int64_t bytes = type.bytes;
  for (std::int64_t const extent : shape)
    if (extent < 0 || __builtin_mul_overflow(bytes, extent, &bytes))
      throw IoError(path, fmt::format("cannot hold an array of {}", format_shape(shape)));
  return bytes;
}

std::unique_ptr<NumberSource> open_raw(std::filesystem::path const& path, RawLayout const& layout) {
  InputFile file(path);
  std::int64_t const numbers = bytes_of(path, layout.type, layout.shape);
  std::int64_t needed = 0;
  if (__builtin_add_overflow(numbers, layout.offset, &needed) ||
      __builtin_add_overflow(needed, layout.rest, &needed))
    throw IoError(path, fmt::format("cannot hold an array of {}", format_shape(layout.shape)));
  if (file.bytes() == needed)
    return plain_numbers(std::move(file), layout.offset, layout.type, layout.shape);
  std::string sum = fmt::format("{} of {} are {} bytes", format_shape(layout.shape),
                                name_of(layout.type), numbers);
  if (layout.offset > 0) sum += fmt::format(", {} before them", layout.offset);
  if (layout.rest > 0) sum += fmt::format(", {} after them", layout.rest);
  std::int64_t const more = file.bytes() - needed;
  throw IoError(path, more < 0
                          ? fmt::format("has {} bytes, {} too few ({})", file.bytes(), -more, sum)
                          : fmt::format("has {} bytes, {} too many ({}); `rest: {}` leaves "
                                        "them out",
                                        file.bytes(), more, sum, layout.rest + more));
}

}  // namespace gridstride::io
