// Tables, files of sentences and sentences, tokenised as the training's texts were.
#include "core/data/text/text_table.h"
#include "core/data/text/wordpiece.h"
#include "core/infer/input_sources.h"
#include "core/io/atomic_file.h"

namespace ptrain {
namespace {

namespace fs = std::filesystem;

struct Text {
  std::string first, second;
  std::int32_t truth = no_truth;
};

class TextInputs final : public InputSet {
 public:
  TextInputs(const TrainedModel& model, std::vector<Text> texts)
      : tokenizer_(WordPiece::from_file(model.vocabulary(),
                                        model.document.text->lowercase ? TextCase::lower : TextCase::keep)),
        texts_(std::move(texts)) {
    info_ = model.data;
    if (tokenizer_.vocab_size() != info_.vocab_size) {
      fail("{}: has {} entries, {} says {}", model.vocabulary().string(), tokenizer_.vocab_size(),
           model_files::document, info_.vocab_size);
    }
  }

  std::int64_t size() const override { return static_cast<std::int64_t>(texts_.size()); }
  const std::string& name(std::int64_t index) const override { return text(index).first; }
  std::int32_t truth(std::int64_t index) const override { return text(index).truth; }

  std::int32_t load(std::int64_t index, SampleRandom, Scratch& scratch, const SampleView& out) const override {
    scratch.first_ids.clear();
    scratch.second_ids.clear();
    tokenizer_.tokenize(text(index).first, scratch.first_ids);
    const bool has_second = !text(index).second.empty();
    if (has_second) tokenizer_.tokenize(text(index).second, scratch.second_ids);
    *out.length = tokenizer_.assemble(scratch.first_ids, scratch.second_ids, has_second, out.ids, out.token_types);
    return 0;
  }

 private:
  const Text& text(std::int64_t index) const { return texts_[static_cast<std::size_t>(index)]; }

  WordPiece tokenizer_;
  std::vector<Text> texts_;
};

Text sentence(const std::string& line) {
  const std::size_t tab = line.find('\t');
  if (tab == line.npos) return {line, {}};
  return {line.substr(0, tab), line.substr(tab + 1)};
}

void add_lines(std::string_view content, const std::string& name, std::vector<Text>& texts) {
  for (const InputLine& line : lines_of(content, name)) texts.push_back(sentence(line.text));
}

void add_table(const std::string& path, TableForm form, const DatasetInfo& data, const std::string& column,
               std::vector<Text>& texts) {
  TextTable table = parse_text_table(read_file(path), path, form, TableLabels::optional, column);
  for (TextRow& row : table.rows) {
    const std::int32_t truth = row.label.empty() ? no_truth : class_of(data, row.label);
    if (!row.label.empty() && truth == no_truth) {
      fail("{}:{}: label \"{}\" is none of the model's {} classes", path, row.line, row.label, data.classes);
    }
    texts.push_back({std::move(row.first), std::move(row.second), truth});
  }
}

void add(const std::string& argument, const DatasetInfo& data, const InputOptions& options, std::vector<Text>& texts) {
  const std::string suffix = fs::path(argument).extension().string();
  if (argument == "-") {
    add_lines(read_standard_input(), "standard input", texts);
  } else if (suffix == ".tsv" || suffix == ".csv") {
    add_table(argument, suffix == ".csv" ? TableForm::csv : TableForm::tsv, data, options.column, texts);
  } else if (suffix == ".txt") {
    add_lines(read_file(argument), argument, texts);
  } else {
    std::error_code error;
    if (fs::exists(argument, error)) {
      fail("{}: expected a .tsv, .csv or .txt file, a sentence, or - for standard input", argument);
    }
    add_lines(argument, "the command line", texts);
  }
}

}  // namespace

std::unique_ptr<InputSet> open_text_inputs(const TrainedModel& model, const std::vector<std::string>& arguments,
                                           const InputOptions& options) {
  if (!model.has_vocabulary()) {
    fail("{}: has no {}: it was trained on made-up text, and reads no other", model.folder.string(),
         model_files::vocabulary);
  }
  std::vector<Text> texts;
  for (const std::string& argument : arguments) add(argument, model.data, options, texts);
  return std::make_unique<TextInputs>(model, std::move(texts));
}

}  // namespace ptrain
