#include "core/data/video/video_records.h"

#include "core/base/hash.h"
#include "core/data/shards/shard_files.h"
#include "core/data/shards/tf_example.h"
#include "core/data/shards/tf_record.h"
#include "core/data/sources.h"
#include "core/data/tensor_names.h"
#include "core/data/text/row_reader.h"
#include "core/io/atomic_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <sstream>

namespace ptrain {
namespace {

std::vector<std::int32_t> parse_label_set(const std::string& text) {
  std::istringstream numbers(text);
  return {std::istream_iterator<std::int32_t>(numbers), {}};
}

ShardIndex index_videos(const ByteSource& shard) {
  ShardIndex index;
  read_tf_records(shard, [&](const TfRecord& record, const std::string& place) {
    VideoExample video = parse_video_example(shard, record.content, place);
    std::ranges::sort(video.labels);
    video.labels.erase(std::unique(video.labels.begin(), video.labels.end()), video.labels.end());
    if (!video.labels.empty() && (video.labels.front() < 0 || video.labels.back() >= most_classes)) {
      const std::int64_t wrong = video.labels.front() < 0 ? video.labels.front() : video.labels.back();
      fail("{}: label {} is out of range: expected 0 to {}", place, wrong, most_classes - 1);
    }
    index.add({.name = std::move(video.id), .offset = record.offset, .length = record.length},
              {fmt::format("{}", fmt::join(video.labels, " "))});
  });
  return index;
}

}  // namespace

const ShardForm video_record_form{
    .source = "youtube8m",
    .pattern = "*.tfrecord",
    .is_shard = is_tf_record,
    .is_compressed_shard = is_compressed_tf_record,
    .index = index_videos,
    .can_split = false,
};

VideoRecords::VideoRecords(std::vector<std::filesystem::path> shards)
    : shards_(std::move(shards)), index_(index_shards(shards_, video_record_form)), note_(missing_shards(shards_)) {
  for (const ShardLabel& labels : index_.labels) label_sets_.push_back(parse_label_set(labels.text));
  first_.resize(shards_.size(), size());
  for (std::int64_t video = size(); video-- > 0;) first_[sample(video).shard] = video;
}

std::int64_t VideoRecords::count_classes() const {
  std::int64_t classes = 0;
  for (const std::vector<std::int32_t>& labels : label_sets_) {
    if (!labels.empty()) classes = std::max<std::int64_t>(classes, labels.back() + 1);
  }
  return classes;
}

const std::vector<std::int32_t>& VideoRecords::labels(std::int64_t video) const {
  return label_sets_[static_cast<std::size_t>(sample(video).label)];
}

std::int64_t VideoRecords::record(std::int64_t video) const { return video - first_[sample(video).shard]; }

std::string VideoRecords::place(std::int64_t video) const {
  return fmt::format("{}: record {}", file(video).string(), record(video));
}

std::uint64_t VideoRecords::fingerprint() const {
  std::uint64_t hash = fnv1a64("videos");
  for (const ShardSample& one : index_.samples) {
    hash = fnv1a64(fmt::format("{}: {}\n", one.name, index_.labels[static_cast<std::size_t>(one.label)].text), hash);
  }
  return hash;
}

void VideoRecords::write_labels(std::int64_t video, std::span<std::int32_t> classes) const {
  const std::vector<std::int32_t>& known = labels(video);
  if (!known.empty() && static_cast<std::size_t>(known.back()) >= classes.size()) {
    throw BadSample(
        fmt::format("{}: label {} is out of range for {} classes", place(video), known.back(), classes.size()));
  }
  std::ranges::fill(classes, known.empty() ? -1 : 0);
  for (const std::int32_t label : known) classes[static_cast<std::size_t>(label)] = 1;
}

void VideoRecords::load(std::int64_t video, std::vector<std::uint8_t>& bytes, const SampleRow& out) const {
  const ShardSample& one = sample(video);
  read_shard_sample(shards_[one.shard], index_.shards[one.shard], one, bytes);
  const std::string where = place(video);
  const ByteRange content = find_tf_record_content(bytes, where);
  const auto mask = out.at<float>(tensor_names::frame_mask);
  try {
    const std::int64_t frames =
        read_video_frames(MemoryBytes(bytes, where), content, where, out.at<float>(tensor_names::rgb_features),
                          out.at<float>(tensor_names::audio_features));
    const auto read = std::min(static_cast<std::size_t>(frames), mask.size());
    std::ranges::fill(mask.first(read), 1.0f);
    std::ranges::fill(mask.subspan(read), 0.0f);
  } catch (const BadSample&) {
    throw;
  } catch (const Error& error) {
    throw BadSample(error.what());
  }
  if (out.has(tensor_names::multi_hot_labels)) {
    write_labels(video, out.at<std::int32_t>(tensor_names::multi_hot_labels));
  }
}

namespace {

constexpr const char* vocabulary_file = "vocabulary.csv";  // as YouTube-8M publishes it, beside the records

/// Names of the classes in a vocabulary, whose rows are in the order of their labels. One without a name of its own has
/// its entity's id (KnowledgeGraphId) in it.
std::vector<std::string> read_vocabulary(const std::filesystem::path& path) {
  const std::string file = path.string(), text = read_file(path);
  RowReader rows(text, file, {',', Quoting::rfc4180});
  std::vector<std::string> header, row, names;
  if (!rows.next(header)) fail("{}: is empty", file);
  const auto find_column = [&](std::string_view title) {
    const auto found = std::ranges::find(header, title);
    if (found == header.end()) fail("{}:{}: has no column {}", file, rows.line(), title);
    return static_cast<std::size_t>(found - header.begin());
  };
  const std::size_t index = find_column("Index"), id = find_column("KnowledgeGraphId"), name = find_column("Name");
  std::set<std::string> seen;
  while (rows.next(row)) {
    if (row.size() != header.size()) {
      fail("{}:{}: expected {} fields, got {}", file, rows.line(), header.size(), row.size());
    }
    if (row[index] != std::to_string(names.size())) {
      fail("{}:{}: expected Index {}, got {}", file, rows.line(), names.size(), quoted_name(row[index]));
    }
    names.push_back(row[name].empty() ? row[id] : row[name]);
    if (!seen.insert(names.back()).second) names.back() += fmt::format(" ({})", row[id]);
  }
  return names;
}

class VideoDataset final : public Dataset {
 public:
  VideoDataset(const DataSettings& settings, Split split)
      : videos_(require_shards(settings.path, split, video_record_form)) {
    if (!videos_.note().empty()) notes_.push_back(videos_.note());
    const std::filesystem::path vocabulary = std::filesystem::path(settings.path) / vocabulary_file;
    if (std::filesystem::exists(vocabulary)) {
      const std::vector<std::string> names = read_vocabulary(vocabulary);
      require_classes(settings, names, vocabulary.string());
      info_ = video_info(settings.max_frames, static_cast<int>(names.size()));
      info_.class_names = names;
    } else {
      info_ = video_info(settings.max_frames, count_classes(settings, split));
    }
    for (std::int64_t video = 0; video < size(); ++video) {
      const std::vector<std::int32_t>& labels = videos_.labels(video);
      if (labels.empty()) fail("{}: has no labels", videos_.place(video));
      if (labels.back() < info_.classes) continue;
      fail("{}: label {} is out of range: expected 0 to {} (model.classes, {}, or the training split's largest label)",
           videos_.place(video), labels.back(), info_.classes - 1, vocabulary_file);
    }
  }

  std::int64_t size() const override { return videos_.size(); }
  void load(std::int64_t index, SampleRandom, Scratch& scratch, const SampleRow& out) const override {
    videos_.load(index, scratch.file, out);
  }
  std::int32_t label(std::int64_t) const override { return 0; }
  SampleOrigin origin(std::int64_t index) const override {
    return {.file = videos_.file(index).string(), .record = videos_.record(index)};
  }
  std::uint64_t fingerprint() const override { return videos_.fingerprint(); }

 private:
  int count_classes(const DataSettings& settings, Split split) const {
    if (settings.classes > 0) return settings.classes;
    const std::int64_t found =
        split == Split::train
            ? videos_.count_classes()
            : VideoRecords(require_shards(settings.path, Split::train, video_record_form)).count_classes();
    return static_cast<int>(found);
  }

  VideoRecords videos_;
};

}  // namespace

std::unique_ptr<Dataset> open_youtube8m(const DataSettings& settings, Split split) {
  require_path(settings, video_record_form.source);
  return std::make_unique<VideoDataset>(settings, split);
}

}  // namespace ptrain
