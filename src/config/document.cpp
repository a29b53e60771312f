#include "config/document.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <utility>

#include "config/syntax_error.hpp"
#include "config/text_position.hpp"

namespace gridstride::config {
namespace {

/// A fault after which the document cannot be read on.
class Refusal : public Error {
 public:
  Refusal(std::size_t byte, std::string where, std::string const& message)
      : Error(message), offset(byte), path(std::move(where)) {}
  std::size_t offset;
  std::string path;
};

/// Makes the tree from the parser's events.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view text, int source, std::string const& path, Faults& faults)
      : text_(text), positions_(text), source_(source), base_path_(path), faults_(faults) {}

  std::optional<Node> take_root() { return std::move(root_); }
  /// The start of what the parser is at: the outermost bracket that is open, or the last value.
  std::size_t unfinished() const;
  Place place(std::size_t offset);

  void OnDocumentStart(YAML::Mark const& mark) override;
  void OnDocumentEnd() override {}
  void OnNull(YAML::Mark const& mark, YAML::anchor_t) override;
  void OnAlias(YAML::Mark const& mark, YAML::anchor_t) override;
  void OnAnchor(YAML::Mark const& mark, std::string const& name) override;
  void OnScalar(YAML::Mark const& mark, std::string const& tag, YAML::anchor_t,
                std::string const& value) override;
  void OnSequenceStart(YAML::Mark const& mark, std::string const& tag, YAML::anchor_t,
                       YAML::EmitterStyle::value) override;
  void OnSequenceEnd() override { close(); }
  void OnMapStart(YAML::Mark const& mark, std::string const& tag, YAML::anchor_t,
                  YAML::EmitterStyle::value) override;
  void OnMapEnd() override { close(); }

 private:
  struct Level {
    Node node;
    std::size_t offset = 0;
    bool awaits_value = false;  // of a mapping: the last key has none yet
    bool repeated = false;      // of a mapping: the last key was there before
  };

  Node make(YAML::Mark const& mark, std::string const& tag, Node::Kind kind);
  void open(YAML::Mark const& mark, std::string const& tag, Node::Kind kind);
  void close();
  void add(YAML::Mark const& mark, Node node);
  void add_key(YAML::Mark const& mark, Level& level, Node key);
  void attach(Node node);
  bool expects_key() const;
  char source_character(YAML::Mark const& mark) const;
  std::string path() const;
  [[noreturn]] void refuse(YAML::Mark const& mark, std::string const& message) const {
    throw Refusal(static_cast<std::size_t>(mark.pos), path(), message);
  }

  std::string_view text_;
  TextPositions positions_;
  int source_;
  std::string const& base_path_;
  Faults& faults_;
  std::vector<Level> levels_;
  std::optional<Node> root_;
  std::size_t nodes_ = 0;
  std::size_t last_offset_ = 0;
};

constexpr std::string_view no_aliases = "a config says each value where it is used";

std::size_t TreeBuilder::unfinished() const {
  for (Level const& level : levels_) {
    bool const bracket =
        level.offset < text_.size() && (text_[level.offset] == '[' || text_[level.offset] == '{');
    if (bracket) return level.offset;
  }
  return last_offset_;
}

Place TreeBuilder::place(std::size_t offset) {
  if (source_ != 0) return {source_, 0, static_cast<int>(offset) + 1};
  TextPosition const position = positions_.at(offset);
  return {0, position.line, position.column};
}

void TreeBuilder::OnDocumentStart(YAML::Mark const& mark) {
  if (root_) refuse(mark, "a second document begins here (a file holds one)");
}

void TreeBuilder::OnNull(YAML::Mark const& mark, YAML::anchor_t) {
  if (expects_key()) refuse(mark, "a key has no name");
  add(mark, make(mark, "", Node::Kind::null));
}

void TreeBuilder::OnAlias(YAML::Mark const& mark, YAML::anchor_t) {
  refuse(mark, fmt::format("aliases (*name) are not accepted ({})", no_aliases));
}

void TreeBuilder::OnAnchor(YAML::Mark const& mark, std::string const& name) {
  refuse(mark, fmt::format("anchors (&{}) are not accepted ({})", name, no_aliases));
}

void TreeBuilder::OnScalar(YAML::Mark const& mark, std::string const& tag, YAML::anchor_t,
                           std::string const& value) {
  Node node = make(mark, tag, Node::Kind::scalar);
  node.quoted = tag == "!";
  bool const in_quotes = source_character(mark) == '"' || source_character(mark) == '\'';
  if (in_quotes && !find_closing_quote(text_, last_offset_))
    refuse(mark, std::string(unclosed_quote));
  auto const control = std::ranges::find_if(value, [](char c) {
    auto const byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7F;
  });
  if (control != value.end())
    refuse(mark, fmt::format("the text has the control character 0x{:02X} in it",
                             static_cast<unsigned char>(*control)));
  node.text = value;
  auto const start = static_cast<std::size_t>(mark.pos) + (node.quoted ? 1 : 0);
  node.verbatim = start <= text_.size() && text_.substr(start).starts_with(value);
  add(mark, std::move(node));
}

void TreeBuilder::OnSequenceStart(YAML::Mark const& mark, std::string const& tag, YAML::anchor_t,
                                  YAML::EmitterStyle::value) {
  open(mark, tag, Node::Kind::sequence);
}

void TreeBuilder::OnMapStart(YAML::Mark const& mark, std::string const& tag, YAML::anchor_t,
                             YAML::EmitterStyle::value) {
  open(mark, tag, Node::Kind::mapping);
}

Node TreeBuilder::make(YAML::Mark const& mark, std::string const& tag, Node::Kind kind) {
  last_offset_ = static_cast<std::size_t>(mark.pos);
  bool const tagged = tag.size() > 1 || source_character(mark) == '!';
  if (tagged) refuse(mark, "tags (!type) are not accepted (the types are known)");
  if (++nodes_ > max_document_nodes)
    refuse(mark, fmt::format("the document is too large (at most {} values)", max_document_nodes));
  Node node;
  node.kind = kind;
  node.place = place(last_offset_);
  return node;
}

void TreeBuilder::open(YAML::Mark const& mark, std::string const& tag, Node::Kind kind) {
  Node node = make(mark, tag, kind);
  if (expects_key()) {
    if (auto const open = find_open_bracket(text_, unfinished()))
      throw Refusal(*open, base_path_, unclosed_bracket(text_[*open]));
    refuse(mark, fmt::format("a key must be a name, not {} (text with brackets needs quotes)",
                             kind_name(node)));
  }
  if (levels_.size() == max_document_depth)
    refuse(mark, fmt::format("nested too deeply (at most {} levels)", max_document_depth));
  levels_.push_back({std::move(node), last_offset_});
}

void TreeBuilder::close() {
  Node node = std::move(levels_.back().node);
  levels_.pop_back();
  attach(std::move(node));
}

void TreeBuilder::add(YAML::Mark const& mark, Node node) {
  if (expects_key()) {
    add_key(mark, levels_.back(), std::move(node));
  } else {
    attach(std::move(node));
  }
}

void TreeBuilder::add_key(YAML::Mark const& mark, Level& level, Node key) {
  if (key.text == "<<" && !key.quoted)
    refuse(mark, fmt::format("merge keys (<<) are not accepted ({})", no_aliases));
  auto const first = std::ranges::find(level.node.keys, key.text, &Node::text);
  level.repeated = first != level.node.keys.end();
  Place const first_place = level.repeated ? first->place : Place{};
  Place const key_place = key.place;
  level.awaits_value = true;
  level.node.keys.push_back(std::move(key));
  if (!level.repeated) return;
  std::string const where =
      first_place.line > 0 ? fmt::format(" (first given on line {})", first_place.line) : "";
  faults_.add(key_place, path(), "duplicate key" + where);
}

/// Gives a complete value to the level that it stands in.
void TreeBuilder::attach(Node node) {
  if (levels_.empty()) {
    root_ = std::move(node);
    return;
  }
  Level& level = levels_.back();
  level.awaits_value = false;
  if (level.repeated) {
    level.node.keys.pop_back();
    level.repeated = false;
  } else {
    level.node.children.push_back(std::move(node));
  }
}

bool TreeBuilder::expects_key() const {
  return !levels_.empty() && levels_.back().node.kind == Node::Kind::mapping &&
         !levels_.back().awaits_value;
}

char TreeBuilder::source_character(YAML::Mark const& mark) const {
  auto const offset = static_cast<std::size_t>(mark.pos);
  return offset < text_.size() ? text_[offset] : '\0';
}

/// The path of the value that is read at present.
std::string TreeBuilder::path() const {
  constexpr std::size_t most_shown = 8;
  std::string path = base_path_;
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    if (i == most_shown) return path + "...";
    Level const& level = levels_[i];
    if (level.node.kind == Node::Kind::sequence) {
      path = join_path(path, std::to_string(level.node.children.size()));
    } else if (level.awaits_value) {
      path = join_path(path, level.node.keys.back().text);
    }
  }
  return path;
}

std::string read_bytes(std::filesystem::path const& file) {
  auto const refuse = [&](std::string message) {
    throw ConfigError({Problem{file.string(), 0, 0, "", std::move(message)}});
  };
  std::error_code error;
  bool const from_file = file != standard_input;
  if (from_file && !std::filesystem::exists(file, error)) refuse("no such file");
  if (from_file && std::filesystem::is_directory(file, error))
    refuse("is a directory, not a config file");
  std::ifstream opened;
  if (from_file) opened.open(file, std::ios::binary);
  std::istream& stream = from_file ? opened : std::cin;
  if (!stream) refuse(fmt::format("cannot be opened ({})", std::strerror(errno)));
  std::string bytes(max_document_bytes + 1, '\0');
  stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (stream.bad()) refuse(fmt::format("cannot be read ({})", std::strerror(errno)));
  bytes.resize(static_cast<std::size_t>(stream.gcount()));
  if (bytes.size() > max_document_bytes) refuse("is larger than 1 MiB, too large for a config");
  return bytes;
}

/// The first carriage return without a line feed after it.
std::optional<std::size_t> find_lone_return(std::string_view bytes) {
  for (std::size_t at = bytes.find('\r'); at != std::string_view::npos;
       at = bytes.find('\r', at + 1))
    if (!bytes.substr(at + 1).starts_with('\n')) return at;
  return std::nullopt;
}

/// What a document holds that is no mapping: nothing at all.
bool is_blank(std::optional<Node> const& root) { return !root || (root->kind == Node::Kind::null); }

}  // namespace

Node const* Node::child(std::string_view key) const {
  std::size_t index = children.size();
  if (kind == Kind::mapping) {
    index = static_cast<std::size_t>(std::ranges::find(keys, key, &Node::text) - keys.begin());
  } else if (kind == Kind::sequence) {
    auto const [end, status] = std::from_chars(key.data(), key.data() + key.size(), index);
    if (status != std::errc() || end != key.data() + key.size()) return nullptr;
  }
  return index < children.size() ? &children[index] : nullptr;
}

Node* Node::child(std::string_view key) {
  return const_cast<Node*>(std::as_const(*this).child(key));
}

std::string_view kind_name(Node const& node) {
  switch (node.kind) {
    case Node::Kind::null:
      return "nothing";
    case Node::Kind::scalar:
      return "a single value";
    case Node::Kind::sequence:
      return "a list";
    case Node::Kind::mapping:
      return "a mapping";
  }
  return "";
}

std::filesystem::path file_named(std::filesystem::path const& given) {
  return given == "-" ? std::filesystem::path(standard_input) : given;
}

std::string read_document(std::filesystem::path const& file) {
  std::string bytes = read_bytes(file);
  auto const strange = find_non_text(bytes);
  auto const lone = find_lone_return(bytes);
  if (!strange && !lone) return bytes;
  TextPosition const position = TextPositions(bytes).at(strange ? *strange : *lone);
  // Editors show a new line there, YAML's parser reads on in the old one, which may be a comment.
  if (!strange)
    throw ConfigError(
        {Problem{file.string(), position.line, position.column, "",
                 "a carriage return without a line feed (lines end with LF or CRLF)"}});
  auto const byte = static_cast<unsigned char>(bytes[*strange]);
  throw ConfigError(
      {Problem{file.string(), position.line, position.column, "",
               fmt::format("byte 0x{:02X} is not {} file?)", byte,
                           byte < 0x80 ? "text (is this a binary"
                                       : "UTF-8 text (is this a binary or Latin-1")}});
}

std::optional<Node> parse_document(std::string_view text, int source, std::string const& path,
                                   Faults& faults) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  TreeBuilder builder(text, source, path, faults);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (Refusal const& refusal) {
    faults.add(builder.place(refusal.offset), refusal.path, refusal.what());
    return std::nullopt;
  } catch (YAML::ParserException const& error) {
    SyntaxFault const fault = explain_syntax_error(
        text, error.msg, static_cast<std::size_t>(error.mark.pos), builder.unfinished());
    faults.add(builder.place(fault.offset), path, fault.message);
    return std::nullopt;
  }
  std::optional<Node> root = builder.take_root();
  if (is_blank(root) && source == 0) {
    faults.add({}, path, "is empty (a config is a mapping, as 'simulation: heat')");
    return std::nullopt;
  }
  if (!root) root = Node{.place = {source, 0, 0}};
  return root;
}

}  // namespace gridstride::config
