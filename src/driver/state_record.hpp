#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/precision.hpp"
#include "grid/checkpoint.hpp"

namespace gridstride {

/// What a simulation saves, kept for a while before it goes to a checkpoint. Arrays stay where they
/// are, or where they were copied aside.
class StateRecord final : public CheckpointSink {
 public:
  struct Array {
    std::byte const* data;
    std::size_t values;
    Precision precision;

    std::size_t bytes() const { return values * size_of(precision); }
  };

  void put_integer(std::string_view name, std::int64_t value) override { put(name, value); }
  void put_real(std::string_view name, double value) override { put(name, value); }
  void put_text(std::string_view name, std::string_view text) override {
    put(name, std::string(text));
  }
  void put_array(std::string_view name, std::span<float const> values, Stream&) override {
    put(name, Array{reinterpret_cast<std::byte const*>(values.data()), values.size(),
                    Precision::float32});
  }
  void put_array(std::string_view name, std::span<double const> values, Stream&) override {
    put(name, Array{reinterpret_cast<std::byte const*>(values.data()), values.size(),
                    Precision::float64});
  }

  /// Calls `use(name, array)` for each array in their order.
  template <class Use>
  void for_each_array(Use const& use) {
    for (auto& [name, value] : values_)
      if (auto* const array = std::get_if<Array>(&value)) use(name, *array);
  }
  /// Puts all of it, in its order; the stream is one of the arrays' device.
  void give(CheckpointSink& sink, Stream& stream) const;

 private:
  using Value = std::variant<std::int64_t, double, std::string, Array>;
  struct Named {
    std::string name;
    Value value;
  };
  void put(std::string_view name, Value value) {
    values_.push_back({std::string(name), std::move(value)});
  }

  std::vector<Named> values_;
};

}  // namespace gridstride
