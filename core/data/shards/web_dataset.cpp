#include "core/data/shards/web_dataset.h"

#include "core/base/utf8.h"
#include "core/data/image/image_list.h"
#include "core/data/shards/shard_files.h"
#include "core/data/shards/tar_archive.h"
#include "core/io/atomic_file.h"
#include "core/io/json_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <map>

namespace ptrain {
namespace {

constexpr std::uint64_t longest_label = 4096;  // bytes of .cls and .txt
constexpr std::uint64_t longest_json = 1 << 20;
constexpr std::array<std::string_view, 3> label_kinds{"cls", "json", "txt"};
constexpr std::string_view no_image =
    "has no image (.jpg, .jpeg, .jfif, .png, .webp or .bmp directly after its other members)";

/// A member that may belong to a sample. Of "a/b.seg.png" the key is "a/b", the ending "seg.png" and the kind "png";
/// ending and kind are in lower case.
struct Member {
  TarMember content;
  std::string key, ending, kind;

  explicit Member(const TarMember& member) : content(member) {
    const std::string& path = member.path;
    const std::size_t slash = path.rfind('/');
    const std::size_t base = slash == path.npos ? 0 : slash + 1;
    const std::size_t dot = path.find('.', base);
    if (dot == path.npos || dot == base) return;  // no extension, or a hidden file
    key = path.substr(0, dot);
    ending = path.substr(dot + 1);
    for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    kind = ending.substr(ending.rfind('.') + 1);
  }

  bool is_image() const { return has_image_suffix("image." + kind); }
  bool is_label() const { return std::ranges::find(label_kinds, kind) != label_kinds.end(); }
  /// Whether nothing is between key and kind.
  bool is_plain() const { return ending == kind; }
  /// The path up to the last dot: the key of samples whose keys have dots in them.
  std::string stem() const { return content.path.substr(0, content.path.rfind('.')); }
};

using Members = std::vector<Member>;

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
}

/// Collects the members of each sample in turn.
class SampleReader {
 public:
  explicit SampleReader(const ByteSource& shard) : shard_(shard) {}

  void add(const TarMember& content) {
    Member member(content);
    if (!member.is_image() && !member.is_label()) return;
    if (!members_.empty() && member.key != members_.front().key) finish();
    members_.push_back(std::move(member));
  }

  ShardIndex take() {
    finish();
    return std::move(index_);
  }

 private:
  void finish() {
    if (members_.empty()) return;
    begin(members_.front().key, members_.front());
    Members images;
    for (const Member& member : members_) {
      if (member.is_image() && member.is_plain()) images.push_back(member);
    }
    if (images.size() > 1) reject("is a second image of its sample");
    if (images.empty()) std::ranges::copy_if(members_, std::back_inserter(images), &Member::is_image);
    if (images.empty()) reject(no_image);
    if (images.size() == 1) {
      add_sample(images.front(), members_);
    } else {
      add_dotted(images);
    }
    members_.clear();
  }

  /// Samples whose keys have dots in them, so that they seem to be one.
  void add_dotted(const Members& images) {
    std::map<std::string, Members> samples;
    for (const Member& member : members_) samples[member.stem()].push_back(member);
    const bool are_samples = std::all_of(samples.begin(), samples.end(), [](const auto& sample) {
      return std::ranges::count_if(sample.second, &Member::is_image) == 1 && sample.second.size() > 1;
    });
    if (!are_samples) {
      reject(fmt::format("has {} images (.{}, .{}); expected one, as KEY.jpg beside KEY.cls, KEY without a dot",
                         images.size(), images[0].ending, images[1].ending));
    }
    for (const auto& [key, members] : samples) {
      begin(key, members.front());
      add_sample(*std::ranges::find_if(members, &Member::is_image), members);
    }
  }

  void add_sample(const Member& image, const Members& members) {
    require_file(image);
    if (image.content.size == 0) reject("is an empty image");
    const std::string label = find_label(members);
    if (label.empty()) reject("has no class (.cls, .json with a label, or .txt, directly after its image)");
    index_.add({.name = image.content.path, .offset = image.content.offset, .length = image.content.size}, {label});
  }

  /// The first of the kinds that has a label, in members such as KEY.cls or, without those, KEY.label.cls.
  std::string find_label(const Members& members) const {
    const bool plain = std::ranges::any_of(members, [](const Member& one) { return one.is_label() && one.is_plain(); });
    for (const std::string_view kind : label_kinds) {
      const Member* found = nullptr;
      for (const Member& member : members) {
        if (member.kind != kind || (plain && !member.is_plain())) continue;
        if (found != nullptr && !plain)
          reject(fmt::format("has .{} and .{}: which is its class?", found->ending, member.ending));
        found = &member;
      }
      if (found == nullptr) continue;
      require_file(*found);
      const TarMember& content = found->content;
      std::string label =
          kind == "json" ? label_of_json(read_text(content, longest_json)) : trimmed(read_text(content, longest_label));
      if (!label.empty()) return label;
    }
    return "";
  }

  void require_file(const Member& member) const {
    if (!member.content.is_file)
      reject("is not a file; tar --dereference --hard-dereference stores the files of links");
  }

  /// Names the sample for messages.
  void begin(const std::string& key, const Member& first) {
    key_ = key;
    begin_ = first.content.offset - 512;
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
  Members members_;  // of the sample
  std::string key_;
  std::uint64_t begin_ = 0;
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
    .is_compressed_shard = [](std::string_view name) { return without_compression(name).ends_with(".tar"); },
    .index = index_web_dataset,
    .image_in = [](std::span<const std::uint8_t> bytes, const std::string&) { return bytes; },
};

}  // namespace ptrain
