// Reads tables, files of sentences and sentences, tokenised as in training.
#include "core/data/tensor_names.h"
#include "core/data/text/text_table.h"
#include "core/infer/inference_sources.h"
#include "core/runtime/text_encoder.h"

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
      : encoder_(model) {
    info_ = model.data;
    for (const std::string& argument : arguments) add(argument, options);
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
    }
  }

  void add_table(const std::string& path, const InferenceDataOptions& options) {
    TextTable table = read_text_table(
        path, {.labels = TableLabels::optional, .columns = {.first = options.column, .label = options.label_column}});
    if (!table.note.empty()) notes_.push_back(std::move(table.note));
    for (TextRow& row : table.rows) {
      if (info_.targets == std::vector<std::string>{tensor_names::values}) {
        Text& added = texts_.emplace_back(Text{{std::move(row.first), std::move(row.second)}});
        if (!row.label.empty()) added.value = parse_target(row.label, path, row.line);
        continue;
      }
      const std::int32_t label = row.label.empty() ? no_label : find_class(info_, row.label);
      if (!row.label.empty() && label == no_label) {
        fail("{}:{}: label \"{}\" is none of the model's {} classes", path, row.line, row.label, info_.classes);
      }
      texts_.push_back({{std::move(row.first), std::move(row.second)}, label});
    }
  }

  TextEncoder encoder_;
  std::vector<Text> texts_;
};

}  // namespace

std::unique_ptr<InferenceDataset> open_text_inputs(const ModelArtifact& model,
                                                   const std::vector<std::string>& arguments,
                                                   const InferenceDataOptions& options) {
  return std::make_unique<TextInputs>(model, arguments, options);
}

}  // namespace ptrain
