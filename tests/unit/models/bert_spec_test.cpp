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

TEST_F(BertSpecs, AnotherModelTypeIsNamed) {
  const std::string message = get_error([&] { read(bert_config_json(base_spec(BertForm::distilbert))); });
  EXPECT_NE(message.find("model_type: expected \"bert\", which model.name bert has, got \"distilbert\""),
            std::string::npos)
      << message;
}

TEST_F(BertSpecs, TheFilesGeluIsKeptUnlessTheConfigurationNamesOne) {
  BertSpec spec;
  spec.activation = Activation::gelu_tanh;
  Config config;
  config.model.classes = 2;
  config.model.weights = (directory_ / "model.safetensors").string();
  write_file_atomic(file_, bert_config_json(spec));
  DatasetInfo data;
  data.max_length = 16;
  EXPECT_EQ(bert_spec(BertForm::bert, config, data).activation, Activation::gelu_tanh);
  config.model.gelu = GeluForm::erf;
  EXPECT_EQ(bert_spec(BertForm::bert, config, data).activation, Activation::gelu_erf);
}

}  // namespace
}  // namespace ptrain
