#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/faults.hpp"

namespace gridstride::config {

/// A value of a YAML document.
struct Node {
  enum class Kind { null, scalar, sequence, mapping };

  Kind kind = Kind::null;
  std::string text = {};  ///< of a scalar
  bool quoted = false;    ///< a scalar in quotes, or a block of text
  bool verbatim = false;  ///< the source shows `text` byte for byte, after the opening quote if any
  Place place = {};
  std::vector<Node> keys = {};  ///< of a mapping, all scalars
  std::vector<Node> children =
      {};  ///< of a sequence, or the values of a mapping in the order of keys

  /// The value of a key, or the element of an index; null when there is none.
  Node const* child(std::string_view key) const;
  Node* child(std::string_view key);
};

/// What a value is, in words: `a list`.
std::string_view kind_name(Node const& node);

/// Bounds of a document.
inline constexpr std::size_t max_document_bytes = 1024 * 1024;
inline constexpr std::size_t max_document_depth = 32;
inline constexpr std::size_t max_document_nodes = 20000;

/// What stands for standard input in the place of a file, in messages too.
inline constexpr std::string_view standard_input = "<standard input>";

/// The file of that name; `-` is standard input.
std::filesystem::path file_named(std::filesystem::path const& given);

/// The bytes of a config file, or of standard input. Throws `ConfigError` for a file that cannot be
/// read, is too large or is no text.
std::string read_document(std::filesystem::path const& file);

/// Reads strict YAML: one document without anchors, aliases, tags and merge keys. Notes what is
/// wrong in `faults`; returns nothing when that leaves no tree to go on with. Only duplicate keys
/// leave one: the first counts.
/// A `source` other than 0 is the value of a `--set` argument for the key `path`.
std::optional<Node> parse_document(std::string_view text, int source, std::string const& path,
                                   Faults& faults);

}  // namespace gridstride::config
