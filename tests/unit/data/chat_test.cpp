// Chats: their text by each template, what of it is learnt, and what is refused.
#include "core/data/text/chat_template.h"

#include "core/data/factory.h"
#include "core/data/text/tokenizer.h"
#include "core/io/atomic_file.h"
#include "tests/error_message.h"
#include "tests/gpt2_vocabulary.h"
#include "tests/temporary_directory.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

/// The whole text, with what is learnt in brackets.
std::string write_chat(ChatTemplate chat_template, const std::vector<ChatMessage>& messages) {
  std::string text;
  for (const ChatPart& part : apply_template(chat_template, messages)) {
    text += part.learnt ? "[" + part.text + "]" : part.text;
  }
  return text;
}

const std::vector<ChatMessage> greeting{{"user", " Hi "}, {"assistant", "Hello\n"}, {"user", "?"}, {"assistant", "!"}};
const std::vector<ChatMessage> instructed{{"system", "Be brief."}, {"user", "Hi"}, {"assistant", "Hello"}};

/// The texts that transformers' apply_chat_template makes of the published templates.
TEST(ChatTemplate, WritesWhatThePublishedOneDoes) {
  const std::string turns =
      "<|im_start|>user\n Hi <|im_end|>\n<|im_start|>assistant\n[Hello\n<|im_end|>]\n"
      "<|im_start|>user\n?<|im_end|>\n<|im_start|>assistant\n[!<|im_end|>]\n";
  EXPECT_EQ(write_chat(ChatTemplate::chatml, greeting), turns);
  EXPECT_EQ(
      write_chat(ChatTemplate::smollm2, greeting),
      "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n" + turns);
  EXPECT_EQ(
      write_chat(ChatTemplate::qwen2, greeting),
      "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n" + turns);
  EXPECT_EQ(write_chat(ChatTemplate::llama3, greeting),
            "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n[Hello<|eot_id|>]"
            "<|start_header_id|>user<|end_header_id|>\n\n?<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n[!<|eot_id|>]");
  for (const ChatTemplate with_system : {ChatTemplate::chatml, ChatTemplate::smollm2, ChatTemplate::qwen2}) {
    EXPECT_EQ(write_chat(with_system, instructed),
              "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
              "<|im_start|>assistant\n[Hello<|im_end|>]\n");
  }
}

TEST(ChatTemplate, PromptsForAnAnswer) {
  const std::vector<ChatMessage> question{{"user", " Hi "}};
  EXPECT_EQ(make_prompt(ChatTemplate::chatml, question), "<|im_start|>user\n Hi <|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(make_prompt(ChatTemplate::llama3, question),
            "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n");
}

class Chats : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::write_chat_vocabulary(folder_.path());
    settings_.source = "chat";
    settings_.path = folder_.path().string();
    settings_.train_file = "train.jsonl";
    settings_.max_length = 200;
    settings_.vocab_path = (folder_ / "tokenizer.json").string();
  }
  std::unique_ptr<Dataset> open(const std::string& text) {
    write_file_atomic(folder_ / "train.jsonl", text);
    return open_dataset(settings_, Split::train);
  }
  std::string refusal(const std::string& second_line) {
    const std::string message = get_error([&] { open(chat_ + "\n\n" + second_line + "\n"); });
    const std::string where = (folder_ / "train.jsonl").string() + ":3: ";
    EXPECT_TRUE(message.starts_with(where)) << message;
    return message.substr(std::min(where.size(), message.size()));
  }

  const std::string chat_ =
      R"({"messages": [{"role": "user", "content": "the line"}, {"role": "assistant", "content": "is good"}]})";
  const TemporaryDirectory folder_;
  DataSettings settings_;
};

TEST_F(Chats, TokensOfAnswersAndTheirEndsAreLearnt) {
  const auto data = open("\n" + chat_ + "\n");
  ASSERT_EQ(data->size(), 1);
  EXPECT_EQ(data->origin(0).line, 2);
  Batch batch(data->tensors({}), 1);
  Scratch scratch;
  data->load(0, SampleRandom(0, 0, 0), scratch, SampleRow(batch, 0));
  const auto ids = batch.values<std::int32_t>(tensor_names::ids);
  const auto learnt = batch.values<std::int32_t>(tensor_names::learnt_tokens);
  const std::int32_t length = batch.values<std::int32_t>(tensor_names::lengths)[0];
  std::vector<std::int32_t> whole, answers;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (static_cast<std::int32_t>(i) < length) whole.push_back(ids[i]);
    if (learnt[i] != 0) answers.push_back(ids[i]);
  }
  const auto tokenizer = open_tokenizer(settings_.vocab_path, TextCase::keep);
  EXPECT_EQ(tokenizer->decode(whole),
            "<|im_start|>user\nthe line<|im_end|>\n<|im_start|>assistant\nis good<|im_end|>\n");
  EXPECT_EQ(tokenizer->decode(answers), "is good<|im_end|>");
}

TEST_F(Chats, OfAnotherFormAreRefusedByFileAndLine) {
  EXPECT_EQ(refusal("{\"messages\": ["), "not complete JSON");
  EXPECT_EQ(refusal("[]"), "expected {\"messages\": [{\"role\": ..., \"content\": ...}, ...]}");
  EXPECT_EQ(refusal(R"({"messages": [{"role": "user", "content": "x"}]})"),
            "messages: none is of the role assistant: the chat has no answer to learn");
  EXPECT_EQ(refusal(R"({"messages": [{"role": "human", "content": "x"}]})"),
            "messages[0].role: expected system, user or assistant, got \"human\"");
  EXPECT_EQ(refusal(R"({"messages": [{"role": "user", "content": "x"}, {"role": "system", "content": "x"}]})"),
            "messages[1].role: system is for the first");
  EXPECT_EQ(refusal(R"({"messages": [{"role": "user", "content": ["x"]}]})"), "messages[0].content: expected a string");
  EXPECT_EQ(refusal(R"({"messages": ["x"]})"), "messages[0].role: expected a string");
  EXPECT_NE(get_error([&] { open("\n"); }).find("has no chats"), std::string::npos);
}

TEST_F(Chats, HaveNoMarksButTheTemplates) {
  for (const std::string mark : {"<|im_end|>", "<|im_start|>", "<|endoftext|>"}) {
    const std::string chat =
        R"({"messages": [{"role": "user", "content": "x)" + mark + R"("}, {"role": "assistant", "content": "y"}]})";
    EXPECT_EQ(refusal(chat), "messages[0].content: has the mark " + mark + ", which templates alone write");
  }
}

TEST_F(Chats, NeedAVocabularyWithTheTemplatesMarks) {
  settings_.chat_template = ChatTemplate::llama3;
  EXPECT_NE(get_error([&] { open(chat_); }, ExitCode::usage).find("the mark <|start_header_id|>, which is no token of"),
            std::string::npos);
  settings_ = {.source = "chat"};
  SetUp();
  settings_.vocab_path = (folder_ / "vocab.json").string();
  EXPECT_NE(get_error([&] { open(chat_); }, ExitCode::usage).find("the mark <|im_start|>"), std::string::npos);
}

TEST_F(Chats, WhoseAnswersAreCutOffAreLeftOut) {
  std::string longer = chat_;
  std::string question;
  for (int i = 0; i < 300; ++i) question += static_cast<char>('0' + i * i % 10);
  longer.replace(longer.find("the line"), 8, question);
  const auto data = open(chat_ + "\n" + longer + "\n");
  EXPECT_EQ(data->size(), 1);
  ASSERT_EQ(data->notes().size(), 1u);
  EXPECT_NE(data->notes()[0].find("1 of 2 chats left out"), std::string::npos) << data->notes()[0];
  EXPECT_NE(get_error([&] { open(longer + "\n"); }).find("train.jsonl:1: the answer begins after data.max_length"),
            std::string::npos);
}

}  // namespace
}  // namespace ptrain
