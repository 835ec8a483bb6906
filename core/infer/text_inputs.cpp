// Reads tables, files of sentences and sentences, tokenised as in training.
#include "core/data/tensor_names.h"
#include "core/data/text/label_classes.h"
#include "core/data/text/text_table.h"
#include "core/infer/inference_sources.h"
#include "core/io/atomic_file.h"
#include "core/runtime/text_encoder.h"

#include <algorithm>
#include <iterator>
#include <span>

namespace ptrain {
namespace {

struct Text {
  Sentences sentences;
  std::int32_t label = no_label;
  float value = std::numeric_limits<float>::quiet_NaN();
};

class TextInputs final : public InferenceDataset {
 public:
  TextInputs(const ModelArtifact& model, const std::vector<std::string>& arguments, const InferenceDataOptions& options)
      : encoder_(model), classes_(model.data.class_names) {
    info_ = model.data;
    for (const std::string& argument : arguments) add(argument, options);
    note_pairs(model);
    note_unknown_words(model);
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(texts_.size()); }
  const std::string& name(std::int64_t index) const override { return text(index).sentences.first; }
  std::int32_t label(std::int64_t index) const override { return text(index).label; }

  void load(std::int64_t index, SampleRandom, Scratch& scratch, const SampleRow& out) const override {
    out.set<std::int32_t>(tensor_names::lengths,
                          encoder_.encode(text(index).sentences, scratch, out.at<std::int32_t>(tensor_names::ids),
                                          out.at<std::int32_t>(tensor_names::token_types)));
    out.set(tensor_names::labels, text(index).label);
    out.set(tensor_names::values, text(index).value);
  }

 private:
  const Text& text(std::int64_t index) const { return texts_[static_cast<std::size_t>(index)]; }

  void add(const std::string& argument, const InferenceDataOptions& options) {
    if (detect_table_form(argument)) return add_table(argument, options);
    constexpr const char* expected = "a .tsv, .csv, .jsonl, .json or .txt file, a sentence";
    for (const InputLine& line : lines_of_argument(argument, expected, notes_)) {
      texts_.push_back({split_sentences(line.text)});
      has_single_ = has_single_ || texts_.back().sentences.second.empty();
    }
  }

  void add_table(const std::string& path, const InferenceDataOptions& options) {
    TextTable table = read_text_table(path, {.labels = TableLabels::optional,
                                             .columns = {.first = options.column, .label = options.label_column},
                                             .learned = info_.columns});
    std::ranges::move(table.notes, std::back_inserter(notes_));
    has_single_ = has_single_ || !table.has_second;
    has_pair_ = has_pair_ || table.has_second;
    for (TextRow& row : table.rows) {
      Text& added =
          texts_.emplace_back(Text{{std::move(row.first), std::move(row.second), table.has_second && info_.are_pairs}});
      if (row.label.empty()) continue;
      if (learns(info_.targets, tensor_names::values)) {
        added.value = parse_target(row.label, path, row.line);
        continue;
      }
      const std::optional<std::int32_t> label = classes_.find(row.label);
      if (!label) {
        fail("{}:{}: label \"{}\" is none of the model's {} classes", path, row.line, row.label, info_.classes);
      }
      added.label = *label;
    }
  }

  /// Tells when the model was trained on pairs and is given single sentences, or the other way round.
  void note_pairs(const ModelArtifact& model) {
    if (!model.document.text->columns) return;  // unknown
    if (info_.are_pairs && has_single_) {
      notes_.push_back(fmt::format("{}: was trained on pairs of sentences{}, and some inputs have no second one",
                                   model.folder.string(), describe_second()));
    }
    if (!info_.are_pairs && has_pair_) {
      notes_.push_back(
          fmt::format("{}: was trained on single sentences, and some inputs have a second one", model.folder.string()));
    }
  }

  std::string describe_second() const {
    if (info_.columns.second.empty()) return "";
    return fmt::format(" (columns {} and {})", quoted_name(info_.columns.first), quoted_name(info_.columns.second));
  }

  /// Tells when the vocabulary has no word of an input, of the first inputs.
  void note_unknown_words(const ModelArtifact& model) {
    constexpr std::size_t most_inputs = 10'000;
    std::size_t unknown = 0;
    const Text* first = nullptr;
    const auto some = std::span(texts_).first(std::min(texts_.size(), most_inputs));
    for (const Text& text : some) {
      const TokenCount count = encoder_.count_unknown(text.sentences);
      if (count.tokens == 0 || count.unknown < count.tokens) continue;
      if (unknown++ == 0) first = &text;
    }
    if (first == nullptr) return;
    notes_.push_back(fmt::format("{} of {} inputs have only words that are not in {} ([UNK]); the first: {}", unknown,
                                 some.size(), model.vocabulary().string(),
                                 quoted_name(first->sentences.first.substr(0, shown_of_texts))));
  }

  static constexpr std::size_t shown_of_texts = 60;  // bytes, in messages

  TextEncoder encoder_;
  ClassFinder classes_;
  std::vector<Text> texts_;
  bool has_single_ = false, has_pair_ = false;
};

}  // namespace

std::unique_ptr<InferenceDataset> open_text_inputs(const ModelArtifact& model,
                                                   const std::vector<std::string>& arguments,
                                                   const InferenceDataOptions& options) {
  return std::make_unique<TextInputs>(model, arguments, options);
}

}  // namespace ptrain
