// Tables, files of sentences and sentences, tokenised as the training's texts were.
#include "core/data/text/text_table.h"
#include "core/infer/input_sources.h"
#include "core/infer/text_encoder.h"
#include "core/io/atomic_file.h"

namespace ptrain {
namespace {

namespace fs = std::filesystem;

struct Text {
  Sentences sentences;
  std::int32_t truth = no_truth;
};

class TextInputs final : public InputSet {
 public:
  TextInputs(const TrainedModel& model, TextEncoder encoder, std::vector<Text> texts)
      : encoder_(std::move(encoder)), texts_(std::move(texts)) {
    info_ = model.data;
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(texts_.size()); }
  const std::string& name(std::int64_t index) const override { return text(index).sentences.first; }
  std::int32_t truth(std::int64_t index) const override { return text(index).truth; }

  std::int32_t load(std::int64_t index, SampleRandom, Scratch& scratch, const SampleView& out) const override {
    *out.length = encoder_.encode(text(index).sentences, scratch, out.ids, out.token_types);
    return 0;
  }

 private:
  const Text& text(std::int64_t index) const { return texts_[static_cast<std::size_t>(index)]; }

  TextEncoder encoder_;
  std::vector<Text> texts_;
};

void add_lines(std::string_view content, const std::string& name, std::vector<Text>& texts) {
  for (const InputLine& line : lines_of(content, name)) texts.push_back({sentences_of(line.text)});
}

void add_table(const std::string& path, TableForm form, const DatasetInfo& data, const std::string& column,
               std::vector<Text>& texts) {
  TextTable table = parse_text_table(read_file(path), path, form, TableLabels::optional, {.first = column});
  for (TextRow& row : table.rows) {
    const std::int32_t truth = row.label.empty() ? no_truth : class_of(data, row.label);
    if (!row.label.empty() && truth == no_truth) {
      fail("{}:{}: label \"{}\" is none of the model's {} classes", path, row.line, row.label, data.classes);
    }
    texts.push_back({{std::move(row.first), std::move(row.second)}, truth});
  }
}

void add(const std::string& argument, const DatasetInfo& data, const InputOptions& options, std::vector<Text>& texts) {
  const std::optional<TableForm> form = table_form_of(argument);
  if (argument == "-") {
    add_lines(read_standard_input(), "standard input", texts);
  } else if (form) {
    add_table(argument, *form, data, options.column, texts);
  } else if (fs::path(argument).extension() == ".txt") {
    add_lines(read_file(argument), argument, texts);
  } else {
    std::error_code error;
    if (fs::exists(argument, error)) {
      fail("{}: expected a .tsv, .csv, .jsonl, .json or .txt file, a sentence, or - for standard input", argument);
    }
    add_lines(argument, "the command line", texts);
  }
}

}  // namespace

std::unique_ptr<InputSet> open_text_inputs(const TrainedModel& model, const std::vector<std::string>& arguments,
                                           const InputOptions& options) {
  TextEncoder encoder(model);
  std::vector<Text> texts;
  for (const std::string& argument : arguments) add(argument, model.data, options, texts);
  return std::make_unique<TextInputs>(model, std::move(encoder), std::move(texts));
}

}  // namespace ptrain
