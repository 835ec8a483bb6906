// Uses yaml-cpp's event interface: its node tree would expand aliases and lose repeated keys.
#include "core/yaml/yaml_tree.h"

#include "core/base/errors.h"
#include "core/base/utf8.h"
#include "core/config/text.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>

namespace ptrain {
namespace {

constexpr std::size_t largest_file = 1 << 20;
constexpr std::size_t deepest_nesting = 16;
constexpr std::size_t most_keys = 1000;  // per mapping

class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::string_view name) : name_(name) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { leaf(mark, {}, anchor, YamlValue::Kind::null); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { reject(mark, "aliases (*name) are not supported"); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    leaf(mark, tag, anchor, YamlValue::Kind::scalar, text);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, YamlValue::Kind::list);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, YamlValue::Kind::map);
  }
  void OnMapEnd() override { close(); }

  YamlValue take() { return std::move(root_); }

 private:
  /// A list or mapping under construction, with the key of a mapping that awaits its value.
  struct Level {
    YamlValue value;
    bool has_key = false;
    std::string key;
    int key_line = 0;
  };

  [[noreturn]] void reject(const YAML::Mark& mark, std::string_view why) const {
    fail_usage("{}:{}: {}", name_, mark.line + 1, why);
  }
  void check(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) const {
    if (anchor != 0) reject(mark, "anchors (&name) are not supported");
    if (!tag.empty() && tag != "?" && tag != "!") reject(mark, fmt::format("tags ({}) are not supported", shown(tag)));
  }
  void leaf(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YamlValue::Kind kind,
            const std::string& text = {}) {
    check(mark, tag, anchor);
    if (!levels_.empty() && levels_.back().value.kind == YamlValue::Kind::map && !levels_.back().has_key) {
      set_key(mark, text);
      return;
    }
    YamlValue value;
    value.kind = kind;
    value.quoted = tag == "!";
    value.line = mark.line + 1;
    value.text = text;
    add(std::move(value));
  }
  void set_key(const YAML::Mark& mark, const std::string& key) {
    Level& level = levels_.back();
    if (level.value.entries.size() >= most_keys)
      reject(mark, fmt::format("more than {} keys in one mapping", most_keys));
    for (const YamlEntry& entry : level.value.entries) {
      if (entry.key == key) reject(mark, fmt::format("{}: given twice, first in line {}", path_to(key), entry.line));
    }
    level.has_key = true;
    level.key = key;
    level.key_line = mark.line + 1;
  }
  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YamlValue::Kind kind) {
    check(mark, tag, anchor);
    if (levels_.size() >= deepest_nesting) reject(mark, fmt::format("nested more than {} deep", deepest_nesting));
    if (!levels_.empty() && levels_.back().value.kind == YamlValue::Kind::map && !levels_.back().has_key) {
      reject(mark, "a key must be a plain text, not a list or mapping");
    }
    Level level;
    level.value.kind = kind;
    level.value.line = mark.line + 1;
    levels_.push_back(std::move(level));
  }
  void close() {
    YamlValue value = std::move(levels_.back().value);
    levels_.pop_back();
    add(std::move(value));
  }
  void add(YamlValue value) {
    if (levels_.empty()) {
      root_ = std::move(value);
      return;
    }
    Level& level = levels_.back();
    if (level.value.kind == YamlValue::Kind::list) {
      level.value.items.push_back(std::move(value));
      return;
    }
    level.value.entries.push_back({std::move(level.key), level.key_line, std::move(value)});
    level.has_key = false;
  }
  std::string path_to(const std::string& key) const {
    std::string path;
    for (const Level& level : levels_) {
      if (level.has_key) path += level.key + ".";
    }
    path += key;
    return path.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") == path.npos &&
                   path.size() <= 100
               ? path
               : shown(path);
  }

  std::string name_;
  std::vector<Level> levels_;
  YamlValue root_;
};

void check_bytes(std::string_view text, std::string_view name) {
  if (text.size() > largest_file) {
    fail_usage("{}: {} bytes are too many for a configuration (at most {})", name, text.size(), largest_file);
  }
  const auto control = [](char c) { return (c >= 0 && c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f; };
  const auto bad = std::find_if(text.begin(), text.end(), control);
  if (bad != text.end()) {
    fail_usage("{}:{}: not a text file (byte 0x{:02x})", name, std::count(text.begin(), bad, '\n') + 1,
               static_cast<unsigned char>(*bad));
  }
  if (has_lone_returns(text)) fail_usage("{}: {}", name, lone_returns_message);
  if (!is_utf8(text)) {
    std::size_t line = 1;
    for (std::size_t begin = 0; begin < text.size(); ++line) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      if (!is_utf8(text.substr(begin, end - begin))) break;
      begin = end + 1;
    }
    fail_usage("{}:{}: not UTF-8", name, line);
  }
}

}  // namespace

YamlValue parse_yaml(std::string_view text, std::string_view name) {
  check_bytes(text, name);
  std::istringstream stream{std::string(text)};
  TreeBuilder builder(name);
  try {
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder)) fail_usage("{}: the file is empty", name);
    YamlValue root = builder.take();
    if (root.kind == YamlValue::Kind::null) fail_usage("{}: the file is empty", name);
    if (root.kind != YamlValue::Kind::map) {
      fail_usage("{}:{}: expected keys (\"model:\" and so on), got a {}", name, root.line,
                 root.kind == YamlValue::Kind::list ? "list" : "plain text");
    }
    TreeBuilder second(name);
    if (parser.HandleNextDocument(second)) fail_usage("{}: expected one YAML document, got several", name);
    return root;
  } catch (const YAML::Exception& error) {
    fail_usage("{}:{}: malformed YAML: {}", name, error.mark.line + 1, error.msg);
  }
}

}  // namespace ptrain
