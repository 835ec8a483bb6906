// Text classification from TSV, CSV or JSON lines, tokenised sample by sample in the loader's threads.
#include "core/data/sources.h"
#include "core/data/split.h"
#include "core/data/tensor_names.h"
#include "core/data/text/label_classes.h"
#include "core/data/text/text_table.h"
#include "core/data/text/tokenizer.h"
#include "core/io/atomic_file.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

/// The named file, whether it exists or not; empty if none is named or found.
fs::path table_path(const DataSettings& settings, Split split) {
  const bool train = split == Split::train;
  const std::string& named = train ? settings.train_file : settings.dev_file;
  const fs::path directory = settings.path;
  if (!named.empty()) return directory / named;
  const std::string stem = train ? "train" : "dev";
  for (const char* suffix : {".tsv", ".csv", ".jsonl", ".ndjson", ".json"}) {
    if (fs::exists(directory / (stem + suffix))) return directory / (stem + suffix);
  }
  return {};
}

/// The file with a split's samples.
fs::path find_table(const DataSettings& settings, Split split) {
  fs::path own = table_path(settings, split);
  if (has_dev_split(settings)) {
    const fs::path other = table_path(settings, Split::eval);
    if (!other.empty() && fs::exists(other)) reject_dev_split(other);
    if (split == Split::eval) return find_table(settings, Split::train);
  }
  if (!own.empty() && (split == Split::train || fs::exists(own))) return own;
  const fs::path default_path = fs::path(settings.path) / (split == Split::train ? "train.tsv" : "dev.tsv");
  fail("{}: not found{}{}", (own.empty() ? default_path : own).string(),
       own.empty() ? ", nor with .csv, .jsonl or .json" : "",
       split == Split::eval ? "; data.split.dev keeps a part of the training file for evaluation instead" : "");
}

TextTable read_table(const DataSettings& settings, Split split) {
  return read_text_table(find_table(settings, split), {.columns = settings.columns, .encoding = settings.encoding});
}

/// Whether every name is one of 0, 1, ... below `classes`.
bool are_numbers_below(const std::vector<std::string>& names, int classes) {
  const std::vector<std::string> numbers = numbered_classes(classes);
  const std::set<std::string_view> known(numbers.begin(), numbers.end());
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) { return known.contains(name); });
}

class TextDataset : public Dataset {
 public:
  TextDataset(const DataSettings& settings, Split split)
      : tokenizer_(open_tokenizer(settings.vocab_path, settings.lowercase ? TextCase::lower : TextCase::keep)),
        table_(read_table(settings, split)),
        labels_are_given_(!settings.labels.empty()) {
    if (settings.max_length < 5) fail_usage("max_length must be at least 5, got {}", settings.max_length);
    const bool noted = has_dev_split(settings) && split == Split::eval;  // the training split has the note already
    if (split == Split::train) notes_ = tokenizer_->notes();
    if (!noted) notes_.insert(notes_.end(), table_.notes.begin(), table_.notes.end());
    info_.kind = DataKind::text;
    info_.max_length = settings.max_length;
    info_.vocab_size = tokenizer_->vocab_size();
    info_.columns = table_.columns;
    info_.are_pairs = table_.has_second;
    learns(settings.targets, tensor_names::values) ? read_values() : read_labels(settings, split);
    if (has_dev_split(settings)) keep_part(settings, split);
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(table_.rows.size()); }

  void load(std::int64_t index, SampleRandom, Scratch& scratch, const SampleRow& out) const override {
    const TextRow& row = table_.rows[static_cast<std::size_t>(index)];
    scratch.first_ids.clear();
    scratch.second_ids.clear();
    tokenizer_->tokenize(row.first, scratch.first_ids);
    if (table_.has_second) tokenizer_->tokenize(row.second, scratch.second_ids);
    out.set<std::int32_t>(tensor_names::lengths,
                          tokenizer_->encode_pair(scratch.first_ids, scratch.second_ids, table_.has_second,
                                                  out.at<std::int32_t>(tensor_names::ids),
                                                  out.at<std::int32_t>(tensor_names::token_types)));
    if (values_.empty()) {
      out.set<std::int32_t>(tensor_names::labels, label(index));
    } else {
      out.set(tensor_names::values, values_[static_cast<std::size_t>(index)]);
    }
  }

  std::int32_t label(std::int64_t index) const override { return labels_[static_cast<std::size_t>(index)]; }

  SampleOrigin origin(std::int64_t index) const override {
    const TextRow& row = table_.rows[static_cast<std::size_t>(index)];
    return {.file = table_.name,
            .line = row.line,
            .text = row.first,
            .second = row.second,
            .value = values_.empty() ? std::nullopt : std::optional(values_[static_cast<std::size_t>(index)])};
  }

  std::optional<TokenCount> count_unknown() const override {
    constexpr std::size_t most_rows = 10'000, most_bytes = 8 << 20;
    std::size_t bytes = 0;
    for (const TextRow& row : table_.rows) bytes += row.first.size() + row.second.size();
    const std::size_t stride = 1 + std::max(table_.rows.size() / most_rows, bytes / most_bytes);
    TokenCount count;
    std::vector<std::int32_t> ids;
    for (std::size_t i = 0; i < table_.rows.size(); i += stride) {
      ids.clear();
      tokenizer_->tokenize(table_.rows[i].first, ids);
      if (table_.has_second) tokenizer_->tokenize(table_.rows[i].second, ids);
      count.tokens += static_cast<std::int64_t>(ids.size());
      count.unknown += std::count(ids.begin(), ids.end(), tokenizer_->unknown_id());
    }
    return count;
  }

 private:
  void read_labels(const DataSettings& settings, Split split) {
    info_.class_names = labels_are_given_ ? settings.labels : names_of_labels(settings, split);
    require_classes(settings, info_.class_names, labels_are_given_ ? "data.labels" : table_.name);
    info_.classes = static_cast<int>(info_.class_names.size());
    const ClassFinder classes(info_.class_names);
    labels_.reserve(table_.rows.size());
    for (const TextRow& row : table_.rows) {
      const std::optional<std::int32_t> label = classes.find(row.label);
      if (!label) refuse_label(row);
      labels_.push_back(*label);
    }
  }

  /// The training split's classes. Numbers below model.classes are among as many, of which some may not occur.
  std::vector<std::string> names_of_labels(const DataSettings& settings, Split split) {
    const bool is_training = split == Split::train, has_all = is_training || has_dev_split(settings);
    LabelClasses found = has_all ? collect_classes(table_) : classes_of_training(settings);
    if (are_numbers_below(found.names, settings.classes)) return numbered_classes(settings.classes);
    if (is_training) std::ranges::move(found.notes, std::back_inserter(notes_));
    return std::move(found.names);
  }

  void read_values() {
    info_.targets = {tensor_names::values};
    info_.classes = 1;
    info_.class_names = {"value"};
    labels_.resize(table_.rows.size());
    for (const TextRow& row : table_.rows) values_.push_back(parse_target(row.label, table_.name, row.line));
  }

  void keep_part(const DataSettings& settings, Split split) {
    const std::vector<std::int64_t> part = select_stratified_split(labels_, settings, split, table_.name);
    table_.rows = gathered(std::move(table_.rows), part);
    labels_ = gathered(std::move(labels_), part);
    if (!values_.empty()) values_ = gathered(std::move(values_), part);
  }

  LabelClasses classes_of_training(const DataSettings& settings) const {
    const TextTable training = read_table(settings, Split::train);
    if (training.has_second != table_.has_second) {
      fail("{}: its rows have {}, those of {} have {}; data.columns names both files' columns", table_.name,
           table_.has_second ? "two sentences" : "one sentence", training.name, training.has_second ? "two" : "one");
    }
    return collect_classes(training);
  }

  [[noreturn]] void refuse_label(const TextRow& row) const {
    if (labels_are_given_) {
      fail("{}:{}: label {} is none of data.labels ({})", table_.name, row.line, quoted_name(row.label),
           listed(info_.class_names));
    }
    if (label_names(info_).empty()) {
      fail("{}:{}: label {} is out of range, expected 0 to {}", table_.name, row.line, quoted_name(row.label),
           info_.classes - 1);
    }
    fail("{}:{}: label {} is none of the training split's {} classes ({}); data.labels can name more", table_.name,
         row.line, quoted_name(row.label), info_.classes, listed(info_.class_names));
  }

  std::unique_ptr<Tokenizer> tokenizer_;
  TextTable table_;
  bool labels_are_given_;
  std::vector<std::int32_t> labels_;  // 0 for values
  std::vector<float> values_;         // empty for classes
};

}  // namespace

std::unique_ptr<Dataset> open_tsv(const DataSettings& settings, Split split) {
  require_path(settings, "tsv");
  if (settings.vocab_path.empty())
    fail_usage("data source tsv needs a vocabulary (vocab.txt, vocab.json with merges.txt, or tokenizer.json)");
  return std::make_unique<TextDataset>(settings, split);
}

}  // namespace ptrain
