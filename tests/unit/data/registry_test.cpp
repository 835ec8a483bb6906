// The table of data sources: what every row has to say, and which folders are known as whose.
#include "core/data/source_registry.h"

#include "core/config/catalogs.h"
#include "tests/error_message.h"
#include "tests/temporary_directory.h"
#include "tests/unit/data/test_files.h"

#include <gtest/gtest.h>

#include <set>

namespace ptrain {
namespace {

class SourceRows : public ::testing::Test {
 protected:
  const Catalogs catalogs_{{}, data_source_entries(), {}};
};

TEST_F(SourceRows, SayWhatTheyGiveAndReadKeysThatThereAre) {
  for (const DataSourceRow& row : data_source_rows()) {
    const DataSourceEntry& source = row.entry;
    EXPECT_FALSE(source.provides.empty()) << source.name;
    EXPECT_FALSE(source.help.empty()) << source.name;
    EXPECT_NE(row.open, nullptr) << source.name;
    EXPECT_FALSE(source.keys.empty()) << source.name;
    for (const std::string& key : source.keys) EXPECT_NE(find_key(key), nullptr) << source.name << ": " << key;
    for (const RequiredKey& key : source.required) {
      EXPECT_TRUE(source.reads_key(key.name)) << source.name << ": " << key.name;
      EXPECT_EQ(find_key(key.name)->type, KeyType::text) << source.name << ": " << key.name;
      EXPECT_FALSE(key.what.empty()) << source.name << ": " << key.name;
    }
    if (!row.recognition) continue;
    EXPECT_FALSE(row.recognition->folder.empty()) << source.name;
    EXPECT_NE(row.recognition->find, nullptr) << source.name;
  }
}

TEST_F(SourceRows, AreTheNamesThatDataSourceTakes) {
  std::vector<std::string> names;
  std::set<int> orders;
  for (const DataSourceRow& row : data_source_rows()) {
    names.push_back(row.entry.name);
    EXPECT_EQ(&find_source_row(row.entry.name), &row);
    if (row.recognition) {
      EXPECT_TRUE(orders.insert(row.recognition->order).second) << row.entry.name;
    }
  }
  EXPECT_EQ(catalogs_.find_key("data.source")->choices, names);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  EXPECT_EQ(get_error([] { open_dataset({.source = "idy"}, Split::train); }, ExitCode::usage),
            "data.source: unknown data source idy");
}

TEST_F(SourceRows, GiveEveryFormOfSamplesThatModelsRead) {
  for (const SampleForm form : {SampleForm::image, SampleForm::clip, SampleForm::text, SampleForm::table,
                                SampleForm::tokens, SampleForm::video}) {
    EXPECT_GE(
        list_names_where(catalogs_.sources(), [&](const DataSourceEntry& source) { return source.provides_form(form); })
            .size(),
        2u)
        << enum_name(form);
  }
}

TEST_F(SourceRows, BeginTheHelpOfKeysThatOnlySomeRead) {
  EXPECT_TRUE(catalogs_.find_key("data.dev_file")
                  ->help.starts_with(
                      "coco, voc, text_boxes, text_images, tsv, text, chat, sessions, parallel, criteo and slots: "))
      << catalogs_.find_key("data.dev_file")->help;
  EXPECT_TRUE(catalogs_.find_key("data.first_label")->help.starts_with("webdataset and tfrecord: "));
  EXPECT_TRUE(catalogs_.find_key("data.columns.text")->help.starts_with("tsv: "));
}

class FindData : public ::testing::Test {
 protected:
  void draw(const std::string& name, int width, int height) const {
    directory.write(name, encode_jpeg(make_picture(width, height), width, height, JpegKind::rgb));
  }
  DataSettings found(const std::string& name, const ColumnNames& columns = {}) const {
    return find_data(directory / name, columns);
  }
  /// The source and the part that is kept for evaluation.
  std::pair<std::string, double> get_source(const std::string& name) const {
    const DataSettings settings = found(name);
    EXPECT_EQ(settings.path, (directory / name).string());
    return {settings.source, settings.dev_fraction};
  }
  using Source = std::pair<std::string, double>;

  const TemporaryDirectory directory;
};

TEST_F(FindData, KnowsSourcesByTheNamesOfTheirFiles) {
  directory.write("digits/t10k-images-idx3-ubyte.gz", std::string("x"));
  EXPECT_EQ(get_source("digits"), Source("idx", 0));
  directory.write("ten/data_batch_1.bin", std::string("x"));
  EXPECT_EQ(get_source("ten"), Source("cifar", 0));
  directory.write("packs/train.pack", std::string("x"));
  EXPECT_EQ(get_source("packs"), Source("packed", 0));
  directory.write("tars/train-000.tar", std::string("x"));
  EXPECT_EQ(get_source("tars"), Source("webdataset", 0.1));
  directory.write("tars/val-000.tar", std::string("x"));
  EXPECT_EQ(get_source("tars"), Source("webdataset", 0));
  directory.write("records/train-00000-of-00001", std::string("x"));
  EXPECT_EQ(get_source("records"), Source("tfrecord", 0.1));
}

TEST_F(FindData, KnowsATableByItsNameOrItsEnding) {
  directory.write("texts/train.csv", std::string("text,label\n"));
  EXPECT_EQ(get_source("texts"), Source("tsv", 0.1));
  EXPECT_EQ(found("texts").train_file, "train.csv");
  directory.write("texts/dev.jsonl", std::string("{}"));
  EXPECT_EQ(get_source("texts"), Source("tsv", 0));
  EXPECT_EQ(found("texts").dev_file, "dev.jsonl");
  directory.write("texts/reviews.csv", std::string("text,label\ngood,1\nbad,0\nbad,0\n"));
  const DataSettings one = found("texts/reviews.csv", {.first = "text", .label = "label"});
  EXPECT_EQ(one.source, "tsv");
  EXPECT_EQ(one.path, (directory / "texts").string());
  EXPECT_EQ(one.train_file, "reviews.csv");
  EXPECT_EQ(one.dev_file, "");
  EXPECT_EQ(one.dev_fraction, 0.1);
  EXPECT_EQ(one.columns.first, "text");
  const SampleCounts counts = count_samples(one);
  EXPECT_EQ(counts.samples, 3);
  EXPECT_EQ(counts.classes, 2);
  EXPECT_EQ(counts.image_size, 0);
}

TEST_F(FindData, DistinguishesImagesFromClipsByWhatIsInTheirClasses) {
  draw("photos/train/cat/1.jpg", 48, 40);
  draw("photos/train/dog/1.jpg", 50, 40);
  EXPECT_EQ(get_source("photos"), Source("image_folder", 0.1));
  EXPECT_EQ(found("photos").image_size, 40);
  draw("photos/val/cat/1.jpg", 48, 40);
  draw("photos/val/dog/1.jpg", 48, 40);
  EXPECT_EQ(get_source("photos"), Source("image_folder", 0));
  const SampleCounts counts = count_samples(found("photos"));
  EXPECT_EQ(counts.samples, 2);
  EXPECT_EQ(counts.classes, 2);
  EXPECT_EQ(counts.image_size, 40);
  for (const std::string clip : {"jump/a/", "run/b/"}) draw("films/train/" + clip + "001.jpg", 300, 260);
  EXPECT_EQ(get_source("films"), Source("clip_folder", 0.1));
  EXPECT_EQ(found("films").image_size, 224);
  EXPECT_EQ(found("films").segments, 0);  // as many as a model reads
}

TEST_F(FindData, TakesTheMostParticularOfSeveralSources) {
  const std::pair<std::string, std::string> added[] = {{"val/cat/1.jpg", ""},
                                                       {"train/cat/1.jpg", "image_folder"},
                                                       {"train-00000-of-00001", "tfrecord"},
                                                       {"train-000.tar", "webdataset"},
                                                       {"train.tsv", "tsv"},
                                                       {"train.pack", "packed"},
                                                       {"data_batch_1.bin", "cifar"},
                                                       {"t10k-images-idx3-ubyte", "idx"}};
  for (const auto& [name, source] : added) {
    draw("all/" + name, 40, 40);
    if (source.empty()) continue;
    EXPECT_EQ(found("all").source, source);
  }
}

TEST_F(FindData, SaysWhatItExpectedWhereNoSourceKnowsAFolder) {
  const auto refusal = [&](const std::string& name) {
    const std::string message = get_error([&] { found(name); }, ExitCode::usage);
    return message.substr((directory / name).string().size());
  };
  directory.write("notes/a.doc", std::string("x"));
  EXPECT_EQ(
      refusal("notes"),
      ": expected images in <class>/ or train/<class>/, clips in train/<class>/<clip>/, shards of TFRecord, shards of "
      "WebDataset, a table of texts named train.tsv, .csv or .jsonl, the files of ptrain data pack, the files of CIFAR "
      "or the files of MNIST");
  EXPECT_EQ(refusal("notes/a.doc"), ": expected a folder, or a table of texts ending in .tsv, .csv or .jsonl");
  EXPECT_EQ(refusal("nowhere"), ": no such file or folder");
  directory.write("texts/train.tsv", std::string("x"));
  EXPECT_EQ(refusal("texts/train.pack"), ": no such file or folder");
}

}  // namespace
}  // namespace ptrain
