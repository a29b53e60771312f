#include "config/input_files.hpp"

#include <cstddef>
#include <system_error>
#include <vector>

#include "config/document.hpp"

namespace gridstride::config {

namespace {

void collect_files(Node const& node, std::vector<std::string>& files) {
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    Node const& child = node.children[i];
    bool const is_file = node.kind == Node::Kind::mapping && node.keys[i].text == "file";
    if (is_file && child.kind == Node::Kind::scalar) files.push_back(child.text);
    collect_files(child, files);
  }
}

}  // namespace

bool is_input(RunConfig const& run, std::filesystem::path const& path) {
  std::error_code missing;
  if (std::filesystem::equivalent(path, run.file, missing)) return true;
  Faults faults("");
  std::vector<std::string> files;
  if (auto const root = parse_document(resolved_yaml(run), 0, "", faults))
    collect_files(*root, files);
  for (auto const& file : files)
    if (std::filesystem::equivalent(path, run.file.parent_path() / file, missing)) return true;
  return false;
}

}  // namespace gridstride::config
