#include "core/data/shards/web_dataset.h"

#include "core/base/utf8.h"
#include "core/data/shards/tar_archive.h"
#include "core/io/atomic_file.h"
#include "core/io/json_text.h"

#include <algorithm>
#include <cctype>

namespace ptrain {
namespace {

constexpr std::uint64_t longest_label = 4096;  // bytes of .cls and .txt
constexpr std::uint64_t longest_json = 1 << 20;

/// Key and extension of a member: "a/b.seg.png" is "a/b" and "seg.png". The extension is in lower case.
struct MemberName {
  std::string key;
  std::string ending;

  explicit MemberName(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    const std::size_t base = slash == path.npos ? 0 : slash + 1;
    const std::size_t dot = path.find('.', base);
    if (dot == path.npos || dot == base) return;  // no extension, or a hidden file
    key = path.substr(0, dot);
    ending = path.substr(dot + 1);
    for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
};

bool is_image(const std::string& ending) { return ending == "jpg" || ending == "jpeg" || ending == "png"; }

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
}

/// Collects the members of each sample in turn.
class SampleReader {
 public:
  explicit SampleReader(const ByteSource& shard) : shard_(shard) {}

  void add(const TarMember& member) {
    const MemberName name(member.path);
    if (!is_image(name.ending) && name.ending != "cls" && name.ending != "json" && name.ending != "txt") return;
    const std::uint64_t begin = member.offset - 512;
    if (!open_ || name.key != key_) {
      finish();
      open_ = true;
      key_ = name.key;
      begin_ = begin;
    }
    if (!member.is_file) reject("is not a file; tar --dereference --hard-dereference stores the files of links");
    if (is_image(name.ending)) {
      if (!sample_.name.empty()) reject("is a second image of its sample");
      if (member.size == 0) reject("is an empty image");
      sample_ = {.name = member.path, .offset = member.offset, .length = member.size};
    } else if (name.ending == "json") {
      json_label_ = label_of_json(read_text(member, longest_json));
    } else {
      (name.ending == "cls" ? class_label_ : text_label_) = trimmed(read_text(member, longest_label));
    }
  }

  ShardIndex take() {
    finish();
    return std::move(index_);
  }

 private:
  void finish() {
    if (!open_) return;
    if (sample_.name.empty()) reject("has no image (.jpg, .jpeg or .png directly after its other members)");
    const std::string& label = !class_label_.empty() ? class_label_ : !json_label_.empty() ? json_label_ : text_label_;
    if (label.empty()) reject("has no class (.cls, .json with a label, or .txt, directly after its image)");
    index_.add(std::move(sample_), {label});
    sample_ = {};
    class_label_ = json_label_ = text_label_ = "";
    open_ = false;
  }

  std::string read_text(const TarMember& member, std::uint64_t longest) const {
    if (member.size > longest) reject(fmt::format("has a label of {} bytes", member.size));
    std::string text(member.size, '\0');
    shard_.read(member.offset, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
    if (!is_utf8(text) || text.find('\0') != text.npos) reject("has a label that is not UTF-8 text");
    return text;
  }

  /// Empty if there is no label.
  std::string label_of_json(const std::string& text) const {
    const nlohmann::json object = parse_json(text);
    if (!object.is_object()) reject("has a .json that is not a JSON object");
    const auto label = object.find("label");
    if (label == object.end() || label->is_null()) return "";
    if (!label->is_string() && !label->is_number_integer())
      reject("has a label in .json that is neither text nor a number");
    return label->is_string() ? trimmed(label->get<std::string>()) : label->dump();
  }

  [[noreturn]] void reject(std::string_view what) const {
    fail("{}: byte {}: sample {} {}", shard_.name(), begin_, quoted_name(key_), what);
  }

  const ByteSource& shard_;
  ShardIndex index_;
  bool open_ = false;
  std::string key_;
  std::uint64_t begin_ = 0;
  ShardSample sample_;
  std::string class_label_, json_label_, text_label_;
};

}  // namespace

ShardIndex index_web_dataset(const ByteSource& shard) {
  SampleReader reader(shard);
  read_tar(shard, [&](const TarMember& member) { reader.add(member); });
  return reader.take();
}

const ShardForm web_dataset_form{
    .source = "webdataset",
    .pattern = "*.tar",
    .is_shard = [](std::string_view name) { return name.ends_with(".tar"); },
    .index = index_web_dataset,
    .image_in = [](std::span<const std::uint8_t> bytes, const std::string&) { return bytes; },
};

}  // namespace ptrain
