#include "core/io/atomic_file.h"
#include "models/text/bert.h"
#include "tests/error_message.h"
#include "tests/temporary_directory.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

class BertSpecs : public ::testing::Test {
 protected:
  BertSpec read(const std::string& text, BertForm form = BertForm::bert) {
    write_file_atomic(file_, text);
    return bert_spec_from_config(file_, form);
  }
  const TemporaryDirectory directory_;
  const std::filesystem::path file_ = directory_ / "config.json";
};

TEST_F(BertSpecs, AreReadAsTheyWereWritten) {
  for (const BertForm form : {BertForm::bert, BertForm::distilbert, BertForm::ernie}) {
    BertSpec spec = base_spec(form);
    spec.heads = 6;
    spec.max_positions = 99;
    spec.activation = Activation::relu;
    const BertSpec found = read(bert_config_json(spec), form);
    EXPECT_EQ(bert_config_json(found), bert_config_json(spec));
    EXPECT_EQ(found.token_types, spec.token_types);
  }
}

TEST_F(BertSpecs, AnActivationThatIsNotThereIsRefused) {
  std::string text = bert_config_json({});
  text.replace(text.find("\"gelu\""), 6, "\"mish\"");
  const std::string message = get_error([&] { read(text); });
  EXPECT_NE(message.find("hidden_act: \"mish\": expected gelu, gelu_new"), std::string::npos) << message;
}

}  // namespace
}  // namespace ptrain
