// Text classification from TSV, CSV or JSON lines, tokenised sample by sample in the loader's threads.
#include "core/data/sources.h"
#include "core/data/split.h"
#include "core/data/tensor_names.h"
#include "core/data/text/text_table.h"
#include "core/data/text/tokenizer.h"
#include "core/io/atomic_file.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <unordered_map>

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
  for (const char* suffix : {".tsv", ".csv", ".jsonl", ".json"}) {
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

/// -1 when `text` is not a plain number of at most six digits.
std::int32_t parse_class(const std::string& text) {
  std::int32_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value < most_classes ? value : -1;
}

/// Class names from the training split: 0 .. largest if all labels are numbers, else the sorted names.
std::vector<std::string> collect_class_names(const TextTable& table) {
  std::int32_t largest = 0;
  bool numbers = true;
  std::vector<std::string> names;
  for (const TextRow& row : table.rows) {
    const std::int32_t number = parse_class(row.label);
    numbers = numbers && number >= 0;
    largest = std::max(largest, number);
    const auto at = std::lower_bound(names.begin(), names.end(), row.label);
    if (at == names.end() || *at != row.label) names.insert(at, row.label);
  }
  return numbers ? numbered_classes(largest + 1) : names;
}

class TextDataset : public Dataset {
 public:
  TextDataset(const DataSettings& settings, Split split)
      : tokenizer_(open_tokenizer(settings.vocab_path, settings.lowercase ? TextCase::lower : TextCase::keep)),
        table_(read_table(settings, split)),
        labels_are_given_(!settings.labels.empty()) {
    if (settings.max_length < 5) fail_usage("max_length must be at least 5, got {}", settings.max_length);
    const bool noted = has_dev_split(settings) && split == Split::eval;  // the training split has the note already
    if (!table_.note.empty() && !noted) notes_.push_back(table_.note);
    info_.kind = DataKind::text;
    info_.max_length = settings.max_length;
    info_.vocab_size = tokenizer_->vocab_size();
    settings.targets == std::vector<std::string>{tensor_names::values} ? read_values() : read_labels(settings, split);
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
    const bool has_all = split == Split::train || has_dev_split(settings);
    info_.class_names = labels_are_given_ ? settings.labels
                        : has_all         ? collect_class_names(table_)
                                          : collect_class_names(read_table(settings, Split::train));
    const int found = static_cast<int>(info_.class_names.size());
    info_.classes = settings.classes > 0 ? settings.classes : found;
    const bool numbered = !labels_are_given_ && parse_class(info_.class_names.back()) == found - 1;
    if (numbered) {
      info_.class_names = numbered_classes(info_.classes);
    } else {
      require_classes(settings, info_.class_names, labels_are_given_ ? "data.labels" : table_.name);
    }
    for (const std::string& name : info_.class_names) {
      numbers_.emplace(name, static_cast<std::int32_t>(numbers_.size()));
    }
    labels_.reserve(table_.rows.size());
    for (const TextRow& row : table_.rows) labels_.push_back(numbered ? numbered_label(row) : named_label(row));
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

  std::int32_t numbered_label(const TextRow& row) const {
    const std::int32_t label = parse_class(row.label);
    if (label < 0 || label >= info_.classes) {
      fail("{}:{}: label {} is out of range, expected 0 to {}", table_.name, row.line, quoted_name(row.label),
           info_.classes - 1);
    }
    return label;
  }

  std::int32_t named_label(const TextRow& row) const {
    const auto found = numbers_.find(row.label);
    if (found != numbers_.end()) return found->second;
    if (labels_are_given_) {
      fail("{}:{}: label {} is none of data.labels ({})", table_.name, row.line, quoted_name(row.label),
           listed(info_.class_names));
    }
    fail("{}:{}: label {} is none of the training split's {} classes", table_.name, row.line, quoted_name(row.label),
         info_.classes);
  }

  std::unique_ptr<Tokenizer> tokenizer_;
  TextTable table_;
  bool labels_are_given_;
  std::unordered_map<std::string, std::int32_t> numbers_;  // of the classes, by name
  std::vector<std::int32_t> labels_;                       // 0 for values
  std::vector<float> values_;                              // empty for classes
};

}  // namespace

std::unique_ptr<Dataset> open_tsv(const DataSettings& settings, Split split) {
  require_path(settings, "tsv");
  if (settings.vocab_path.empty())
    fail_usage("data source tsv needs a vocabulary (vocab.txt, or vocab.json with merges.txt)");
  return std::make_unique<TextDataset>(settings, split);
}

}  // namespace ptrain
