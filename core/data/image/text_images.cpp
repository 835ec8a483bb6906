// Images of lines of text, in lists of an image's path, a tab and its text a line, as PP-OCR's lists for recognition.
// Images are resized to fit into the frame and padded; a text's characters are classes of a CharacterSet.
#include "core/base/counted.h"
#include "core/base/hash.h"
#include "core/data/image/framing.h"
#include "core/data/image/image_transform.h"
#include "core/data/image/random_erasing.h"
#include "core/data/sources.h"
#include "core/data/split.h"
#include "core/data/text/character_set.h"
#include "core/data/text/text_encoding.h"
#include "core/io/atomic_file.h"

#include <algorithm>
#include <set>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

struct TextImage {
  std::string file, text;
  std::int64_t line = 0;                 // of the list, from 1
  std::vector<std::int32_t> characters;  // their classes
};

/// The lines of a list that are not blank.
std::vector<TextImage> read_text_list(const fs::path& list, const DataSettings& settings,
                                      std::vector<std::string>& notes) {
  DecodedText decoded = read_running_text(list, settings.encoding);
  if (!decoded.note.empty()) notes.push_back(std::move(decoded.note));
  std::vector<TextImage> samples;
  std::string_view rest = decoded.text;
  for (std::int64_t number = 1; !rest.empty(); ++number) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.empty()) continue;
    const std::size_t tab = line.find('\t');
    if (tab == line.npos || tab == 0 || line.find('\t', tab + 1) != line.npos) {
      fail("{}:{}: expected the path of an image, a tab and its text, got {}", list.string(), number,
           quoted_name(line));
    }
    const std::string_view text = line.substr(tab + 1);
    if (text.empty()) {
      fail("{}:{}: {} has no text: write what the image says, or remove the line", list.string(), number,
           quoted_name(line.substr(0, tab)));
    }
    samples.push_back({(fs::path(settings.path) / line.substr(0, tab)).string(), std::string(text), number, {}});
  }
  if (samples.empty())
    fail("{}: lists no image; expected the path of an image, a tab and its text a line", list.string());
  return samples;
}

/// The list with a split's samples, or with those of both.
fs::path find_text_list(const DataSettings& settings, Split split) {
  if (!has_dev_split(settings)) return find_text_file(settings, split, settings.source);
  const fs::path other = find_text_file(settings, Split::eval, settings.source);
  if (fs::exists(other)) reject_dev_split(other);
  return find_text_file(settings, Split::train, settings.source);
}

/// The characters of the training list's texts, by code point.
CharacterSet collect_characters(const std::vector<TextImage>& samples) {
  std::set<std::string> characters;
  for (const TextImage& one : samples) {
    for (std::string& character : split_characters(one.text)) characters.insert(std::move(character));
  }
  return CharacterSet({characters.begin(), characters.end()});
}

class TextImages final : public Dataset {
 public:
  TextImages(const DataSettings& settings, Split split) {
    const fs::path list = find_text_list(settings, split);
    samples_ = read_text_list(list, settings, notes_);
    encode(settings, list);
    if (has_dev_split(settings)) {
      const std::vector<std::int32_t> alike(samples_.size());
      samples_ = gathered(std::move(samples_), select_stratified_split(alike, settings, split, list.string()));
    }
    leave_out_long(list);
  }

  std::int64_t size() const override { return std::ssize(samples_); }
  std::int32_t label(std::int64_t) const override { return 0; }
  std::vector<TensorSpec> tensors(const ImageForm& form) const override {
    return with_characters(input_tensors(info_, form.size), info_);
  }

  void load(std::int64_t index, SampleRandom, Scratch& scratch, const SampleRow& out) const override {
    const TextImage& sample = at(index);
    const DecodedImage image = read_image(sample.file, scratch, info_.orientation);
    const ImageSize size = out.form().size.value_or(info_.image_size);
    place_image(image, fit_inside(image.size(), size), size, mean_colour(info_), scratch,
                out.at<std::uint8_t>(tensor_names::images));
    write_characters(sample.characters, out.at<std::int32_t>(tensor_names::characters));
  }

  SampleOrigin origin(std::int64_t index) const override {
    return {.file = at(index).file, .is_picture = true, .line = at(index).line};
  }
  std::uint64_t fingerprint() const override {
    std::uint64_t hash = Dataset::fingerprint();
    for (const TextImage& one : samples_) hash = fnv1a64(one.text, hash);
    return hash;
  }

 private:
  const TextImage& at(std::int64_t index) const { return samples_[static_cast<std::size_t>(index)]; }

  /// By the characters of data.vocab or, without it, of the training list.
  void encode(const DataSettings& settings, const fs::path& list) {
    const fs::path train = find_text_file(settings, Split::train, settings.source);
    const bool has_file = !settings.vocab_path.empty();
    std::vector<std::string> ignored;
    const CharacterSet characters = has_file        ? CharacterSet::read(settings.vocab_path, settings.encoding)
                                    : list == train ? collect_characters(samples_)
                                                    : collect_characters(read_text_list(train, settings, ignored));
    const std::string source =
        has_file ? fmt::format("data.vocab ({})", settings.vocab_path)
                 : fmt::format("the texts of {}; data.vocab can name a file with all characters", train.string());
    for (TextImage& one : samples_) {
      one.characters = characters.encode(one.text, fmt::format("{}:{}", list.string(), one.line), source);
    }
    info_ = photo_info(settings, characters.class_names(), has_file ? settings.vocab_path : train.string());
    info_.mean.fill(0.5f);  // as in PP-OCR
    info_.stddev.fill(0.5f);
    info_.targets = {tensor_names::characters};
    info_.framing = ImageFraming::pad;
    info_.max_length = settings.max_length;
  }

  void leave_out_long(const fs::path& list) {
    const auto is_long = [&](const TextImage& one) { return std::ssize(one.characters) > info_.max_length; };
    const auto first = std::ranges::find_if(samples_, is_long);
    if (first == samples_.end()) return;
    const std::string place = fmt::format("{}:{}", list.string(), first->line);
    const auto count = std::erase_if(samples_, is_long);
    const std::string most = fmt::format("longer than data.max_length, {} characters", info_.max_length);
    if (samples_.empty()) fail("{}: every text is {}", list.string(), most);
    notes_.push_back(fmt::format("{}: {} left out, {}{}", place, counted(count, "text"), most,
                                 count == 1 ? "" : "; this is the first"));
  }

  std::vector<TextImage> samples_;
};

}  // namespace

std::unique_ptr<Dataset> open_text_images(const DataSettings& settings, Split split) {
  require_path(settings, settings.source);
  return std::make_unique<TextImages>(settings, split);
}

}  // namespace ptrain
