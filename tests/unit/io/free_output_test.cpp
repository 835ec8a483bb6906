// What an output may replace.
#include "core/io/free_output.h"

#include "core/base/errors.h"
#include "tests/temporary_directory.h"

#include <gtest/gtest.h>

namespace ptrain {
namespace {

namespace fs = std::filesystem;

class FreeOutput : public ::testing::Test {
 protected:
  fs::path write(const std::string& name, const std::string& content) {
    return folder_.write(name, std::string(content));
  }
  std::string refusal(const fs::path& out, const std::vector<fs::path>& inputs = {}, std::string_view kind = {},
                      FolderInputs folders = FolderInputs::are_places) {
    try {
      require_free_output("--out", out, inputs, kind, folders);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      return error.what();
    }
    return {};
  }
  TemporaryDirectory folder_;
};

TEST_F(FreeOutput, IsNoInputByWhateverPath) {
  const fs::path table = write("table.csv", "text,label\n");
  fs::create_symlink(table, folder_ / "link.csv");
  fs::create_hard_link(table, folder_ / "second.csv");
  for (const char* name : {"table.csv", "link.csv", "second.csv"}) {
    EXPECT_NE(refusal(folder_ / name, {table}).find("is an input of this command"), std::string::npos) << name;
  }
  EXPECT_EQ(refusal(folder_ / "new.csv", {table}), "");
  EXPECT_NE(refusal(folder_.path()).find("is a folder; expected a file"), std::string::npos);
  EXPECT_EQ(refusal(folder_ / "table.csv"), "");
  EXPECT_EQ(refusal("/dev/stdout", {table}), "");
  EXPECT_EQ(refusal("", {table}), "");
}

TEST_F(FreeOutput, IsNoFileOfAFolderThatIsRead) {
  const fs::path image = write("image.png", "x"), own = write("infer.json", R"({"schema": "ptrain.infer/1"})");
  EXPECT_NE(refusal(image, {folder_.path()}, "ptrain.infer", FolderInputs::are_inputs).find("is in"),
            std::string::npos);
  EXPECT_EQ(refusal(image, {folder_.path()}, "ptrain.infer"), "");
  EXPECT_EQ(refusal(own, {folder_.path()}, "ptrain.infer", FolderInputs::are_inputs), "");
}

TEST_F(FreeOutput, IsNothingThatAnotherCommandMade) {
  const fs::path report = write("any.json", R"({"schema": "ptrain.report/2"})");
  EXPECT_NE(refusal(report, {}, "ptrain.infer").find("is a document of ptrain.report/2"), std::string::npos);
  EXPECT_EQ(refusal(report, {}, "ptrain.report"), "");
  EXPECT_EQ(refusal(write("other.json", R"({"schema": "mine"})")), "");
  for (const char* name : {"metrics.jsonl", "model.safetensors", "run.yaml", "train.pack"}) {
    EXPECT_NE(refusal(write(name, "{")), "") << name;
  }
}

}  // namespace
}  // namespace ptrain
