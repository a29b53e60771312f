#include "config/input_files.hpp"

#include <algorithm>
#include <cstddef>
#include <system_error>

#include "config/document.hpp"

namespace gridstride::config {

namespace {

using Files = std::map<std::string, std::filesystem::path>;

void collect(Node const& node, std::filesystem::path const& folder, Files& files) {
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    Node const& child = node.children[i];
    bool const is_file = node.kind == Node::Kind::mapping && node.keys[i].text == "file";
    if (is_file && child.kind == Node::Kind::scalar) files[child.text] = folder / child.text;
    collect(child, folder, files);
  }
}

}  // namespace

Files input_files(RunConfig const& run) {
  Faults faults("");
  Files files;
  if (auto const root = parse_document(resolved_yaml(run), 0, "", faults))
    collect(*root, run.file.parent_path(), files);
  return files;
}

bool is_input(RunConfig const& run, std::filesystem::path const& path) {
  std::error_code missing;
  if (std::filesystem::equivalent(path, run.file, missing)) return true;
  return std::ranges::any_of(input_files(run), [&](auto const& input) {
    return std::filesystem::equivalent(path, input.second, missing);
  });
}

}  // namespace gridstride::config
