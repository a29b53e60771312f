#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/buffer.hpp"
#include "core/error.hpp"
#include "grid/checkpoint.hpp"

namespace gridstride::test {

/// A checkpoint in memory.
class MemoryCheckpoint final : public CheckpointSink, public CheckpointSource {
 public:
  void put_integer(std::string_view name, std::int64_t value) override { put(name, value); }
  void put_real(std::string_view name, double value) override { put(name, value); }
  void put_text(std::string_view name, std::string_view text) override {
    put(name, std::string(text));
  }
  void put_array(std::string_view name, std::span<float const> values, Stream& stream) override {
    put(name, to_host(values, stream));
  }
  void put_array(std::string_view name, std::span<double const> values, Stream& stream) override {
    put(name, to_host(values, stream));
  }

  bool contains(std::string_view name) const override { return values_.contains(name); }
  std::int64_t get_integer(std::string_view name) const override { return get<std::int64_t>(name); }
  double get_real(std::string_view name) const override { return get<double>(name); }
  std::string get_text(std::string_view name) const override { return get<std::string>(name); }
  void get_array(std::string_view name, std::span<float> out, Stream& stream) const override {
    copy(name, out, stream);
  }
  void get_array(std::string_view name, std::span<double> out, Stream& stream) const override {
    copy(name, out, stream);
  }

 private:
  using Value =
      std::variant<std::int64_t, double, std::string, std::vector<float>, std::vector<double>>;

  void put(std::string_view name, Value value) { values_[std::string(name)] = std::move(value); }
  template <class T>
  T const& get(std::string_view name) const {
    return std::get<T>(values_.find(name)->second);
  }
  template <class T>
  static std::vector<T> to_host(std::span<T const> values, Stream& stream) {
    std::vector<T> host(values.size());
    copy_async(std::span(host), values, stream);
    stream.synchronize();
    return host;
  }
  template <class T>
  void copy(std::string_view name, std::span<T> out, Stream& stream) const {
    auto const& values = get<std::vector<T>>(name);
    if (values.size() != out.size()) throw IoError("memory", "another size");
    copy_async(out, std::span<T const>(values), stream);
    stream.synchronize();
  }

  std::map<std::string, Value, std::less<>> values_;
};

}  // namespace gridstride::test
