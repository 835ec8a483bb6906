#include "core/data/source_registry.h"

#include "core/data/boxes/text_boxes.h"
#include "core/data/image/image_pack.h"
#include "core/data/sources.h"
#include "core/data/tensor_names.h"

#include <utility>

namespace ptrain {
namespace {

using Keys = std::vector<std::string>;

Keys joined(Keys keys, const Keys& more) {
  keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

bool holds_pack(const std::filesystem::path& root) { return std::filesystem::exists(root / pack_name(Split::train)); }

/// A folder with standard file names that contains both splits.
template <bool (*holds)(const std::filesystem::path& root)>
FoundData find_named(const std::filesystem::path& path, const ColumnNames&) {
  if (!holds(path)) return std::nullopt;
  DataSettings settings;
  settings.path = path.string();
  return settings;
}

Keys file_keys() { return {"data.path", "data.max_bad_samples", "data.max_bad_share"}; }

std::vector<DataSourceRow> image_rows() {
  using enum SampleForm;
  const Keys encoded_keys = joined(file_keys(), {"data.decoder", "data.exif_orientation"});
  const Keys shard_keys = joined(encoded_keys, {"data.first_label"});
  return {
      {{.name = "idx",
        .provides = {image},
        .help = "MNIST's form, gz or plain: {train,t10k}-images-idx3-ubyte and -labels-idx1-ubyte in data.path",
        .keys = file_keys()},
       open_idx,
       {{.order = 1, .folder = "the files of MNIST", .find = find_named<holds_idx>}}},
      {{.name = "image_folder",
        .provides = {image},
        .help = "JPEG, PNG, WebP and BMP in data.path/train/<class>/ and data.path/val/<class>/; data.split.dev "
                "without val, where data.path/<class>/ will do",
        .keys = encoded_keys,
        .can_split = true},
       open_image_folder,
       {{.order = 8, .folder = "images in <class>/ or train/<class>/", .find = find_image_folder}}},
      {{.name = "clip_folder",
        .provides = {clip},
        .help = "clips, for models that read them: frames (images) in data.path/train/<class>/<clip>/ and val "
                "likewise, in the order of their names, model.segments of them at least, times "
                "model.frames_per_segment; data.split.dev without val",
        .keys = encoded_keys,
        .can_split = true},
       open_clip_folder,
       {{.order = 7, .folder = "clips in train/<class>/<clip>/", .find = find_clip_folder}}},
      {{.name = "mask_folder",
        .provides = {image},
        .help = "images with a class for each pixel, for segmentation: data.path/{train,val}/ and PNGs of class "
                "numbers under the same names in {train,val}annot/, or images/{train,val}/ and labels/{train,val}/; "
                "data.split.dev without val",
        .keys = joined(joined(file_keys(), {"data.exif_orientation"}), {"data.labels", "data.ignore_index"}),
        .can_split = true,
        .targets = {tensor_names::masks}},
       open_mask_folder},
      {{.name = "voc_segmentation",
        .provides = {image},
        .help = "PASCAL VOC's label maps, 21 classes: JPEGImages/, SegmentationClass/ and "
                "ImageSets/Segmentation/{train,val}.txt in data.path",
        .keys = joined(file_keys(), {"data.exif_orientation"}),
        .targets = {tensor_names::masks}},
       open_voc_segmentation},
      {{.name = "cityscapes",
        .provides = {image},
        .help = "Cityscapes' fine label maps, 19 classes: leftImg8bit/ and gtFine/ in data.path, with the "
                "_labelTrainIds.png of its scripts",
        .keys = joined(file_keys(), {"data.exif_orientation"}),
        .targets = {tensor_names::masks}},
       open_cityscapes},
      {{.name = "webdataset",
        .provides = {image},
        .help = "images in tar shards, their classes in .cls, .json or .txt: data.path/{train,val}/*.tar, or "
                "names such as train-000.tar; data.split.dev without val",
        .keys = shard_keys,
        .can_split = true},
       open_web_dataset,
       {{.order = 5, .folder = "shards of WebDataset", .find = find_web_dataset}}},
      {{.name = "tfrecord",
        .provides = {image},
        .help = "images in TFRecord files of tf.train.Example (image/encoded, image/class/label), named "
                "likewise; data.first_label 1 where labels begin at 1",
        .keys = shard_keys,
        .can_split = true},
       open_tf_record,
       {{.order = 6, .folder = "shards of TFRecord", .find = find_tf_record}}},
      {{.name = "youtube8m",
        .provides = {video},
        .help = "videos as features of their frames in YouTube-8M's TFRecord files of tf.train.SequenceExample (id, "
                "labels; rgb, audio): data.path/{train,val}/*.tfrecord, or names such as train0000.tfrecord and "
                "validate0000.tfrecord; class names in data.path/vocabulary.csv, if it is there",
        .keys = file_keys(),
        .targets = {tensor_names::multi_hot_labels}},
       open_youtube8m},
      {{.name = "packed",
        .provides = {image},
        .help = "data.path/train.pack and val.pack, which ptrain data pack makes of an image_folder",
        .keys = file_keys()},
       open_packed,
       {{.order = 3, .folder = "the files of ptrain data pack", .find = find_named<holds_pack>}}},
      {{.name = "cifar",
        .provides = {image},
        .help =
            "CIFAR-10's and CIFAR-100's binary form: data_batch_*.bin and test_batch.bin, or train.bin and test.bin",
        .keys = file_keys()},
       open_cifar,
       {{.order = 2, .folder = "the files of CIFAR", .find = find_named<holds_cifar>}}},
  };
}

std::vector<DataSourceRow> box_rows() {
  using enum SampleForm;
  const Keys keys = joined(file_keys(), {"data.train_file", "data.dev_file"});
  return {
      {{.name = "coco",
        .provides = {image},
        .help = "images with boxes and masks in COCO's form: data.path/annotations/instances_{train,val}*.json (or "
                "data.train_file "
                "and data.dev_file) and images in folders beside them; data.split.dev without val",
        .keys = keys,
        .can_split = true,
        .targets = {tensor_names::annotations, tensor_names::object_masks}},
       open_coco},
      {{.name = "voc",
        .provides = {image},
        .help = "images with boxes in PASCAL VOC's form: data.path/JPEGImages, Annotations and "
                "ImageSets/Main/{train,val}.txt (or data.train_file and data.dev_file); data.split.dev without val",
        .keys = keys,
        .can_split = true,
        .targets = {tensor_names::annotations}},
       open_voc},
      {{.name = "text_boxes",
        .provides = {image},
        .help = "images with boxes around text, in PaddleOCR's form: data.train_file and data.dev_file in data.path "
                "list an image's path below data.path, a tab and [{\"transcription\": ..., \"points\": four corners "
                "[x, y]}, ...] a line, with the transcription ### for text to ignore; data.split.dev without "
                "data.dev_file",
        .keys = joined(keys, {"data.encoding", "data.exif_orientation"}),
        .required = {{"data.train_file", "the training list's name below data.path"}},
        .can_split = true,
        .targets = {tensor_names::text_boxes}},
       open_text_boxes},
      {{.name = "icdar",
        .provides = {image},
        .help = "images with boxes around text, in ICDAR's form: images in data.path/{train,val}/ and beside each a "
                "file of its name, or with gt_ before it, of x1,y1,x2,y2,x3,y3,x4,y4,text a line, with ### for text "
                "to ignore; data.split.dev without val",
        .keys = joined(file_keys(), {"data.encoding", "data.exif_orientation"}),
        .can_split = true,
        .targets = {tensor_names::text_boxes}},
       open_icdar},
  };
}

std::vector<DataSourceRow> other_rows() {
  using enum SampleForm;
  const Keys split_file_keys = joined(file_keys(), {"data.train_file", "data.dev_file"});
  const Keys slot_keys{"data.slots", "data.bag_size", "data.dense_features"};
  const Keys vocabulary_keys = joined(split_file_keys, {"data.encoding", "data.vocab"});
  const Keys table_keys = joined(vocabulary_keys, {"data.columns.text", "data.columns.second", "data.columns.label",
                                                   "data.labels", "data.lowercase"});
  const RequiredKey train_file{"data.train_file", "the training file's name below data.path"};
  return {
      {{.name = "text_images",
        .provides = {image},
        .help = "images of lines of text, in PP-OCR's form: data.train_file and data.dev_file in data.path list an "
                "image's path below data.path, a tab and its text a line; data.vocab has a character a line, without "
                "it those of the training texts are taken; data.split.dev without data.dev_file",
        .keys = joined(vocabulary_keys, {"data.exif_orientation"}),
        .required = {train_file},
        .can_split = true,
        .targets = {tensor_names::characters}},
       open_text_images},
      {{.name = "tsv",
        .provides = {text},
        .help = "text classification in tables (TSV, CSV or JSON lines): data.train_file and data.dev_file in "
                "data.path, data.vocab; data.columns for other column names",
        .keys = table_keys,
        .required = {{"data.vocab", "WordPiece's vocab.txt, vocab.json with merges.txt next to it, or tokenizer.json"},
                     train_file},
        .can_split = true,
        .targets = {tensor_names::labels, tensor_names::values}},
       open_tsv,
       {{.order = 4,
         .folder = "a table of texts named train.tsv, .csv or .jsonl",
         .single = "a table of texts ending in .tsv, .csv or .jsonl",
         .find = find_text_table,
         .count = count_text_table}}},
      {{.name = "text",
        .provides = {tokens},
        .help = "running text, cut into blocks of data.max_length tokens: data.train_file and data.dev_file in "
                "data.path, a data.vocab that preserves text (not WordPiece's)",
        .keys = vocabulary_keys,
        .required = {{"data.vocab",
                      "tokenizer.json, vocab.json with merges.txt next to it, SentencePiece's .model or a .gguf file"},
                     train_file},
        .targets = {}},
       open_text},
      {{.name = "chat",
        .provides = {tokens},
        .help =
            "chats to learn the answers of, a line of JSON each, {\"messages\": [{\"role\": system, user or assistant, "
            "\"content\": ...}, ...]}: data.train_file and data.dev_file in data.path, data.vocab, data.chat_template",
        .keys = joined(split_file_keys, {"data.vocab", "data.chat_template"}),
        .required = {{"data.vocab",
                      "tokenizer.json, vocab.json with merges.txt next to it, SentencePiece's .model or a .gguf file"},
                     train_file},
        .targets = {}},
       open_chat},
      {{.name = "sessions",
        .provides = {tokens},
        .help = "session logs, CSV with a header session_id, item_id and, where rows are not in order, time: "
                "data.train_file and data.dev_file in data.path; each item's next one is learnt",
        .keys = joined(split_file_keys, {"data.negatives", "data.negative_power"}),
        .required = {train_file},
        .targets = {}},
       open_sessions},
      {{.name = "parallel",
        .provides = {parallel},
        .help =
            "texts and their translations, line by line: files data.path/data.train_file and data.dev_file with the "
            "endings data.languages, such as train.de and train.en, and one data.vocab for both, which ptrain data "
            "vocabulary makes",
        .keys = joined(vocabulary_keys, {"data.languages"}),
        .required = {{"data.vocab", "tokenizer.json; ptrain data vocabulary makes one of the training files"},
                     {"data.train_file", "the training files' name below data.path, without the language"}},
        .targets = {tensor_names::next_tokens}},
       open_parallel},
      {{.name = "criteo",
        .provides = {table},
        .help = "click logs in Criteo's form, a label, 13 integers and 26 hexadecimal words a line: "
                "data.train_file and data.dev_file in data.path",
        .keys = split_file_keys,
        .required = {train_file}},
       open_criteo},
      {{.name = "slots",
        .provides = {table},
        .help = "multi-hot clicks in LibSVM's form, a line each: a label, data.dense_features numbers, and SLOT:KEY as "
                "often as there are keys, of slots 1 to data.slots and up to data.bag_size keys of each: "
                "data.train_file and data.dev_file in data.path",
        .keys = joined(split_file_keys, slot_keys),
        .required = {train_file}},
       open_slots},
      {{.name = "synthetic",
        .provides = {image, clip, text, table, tokens, parallel, video},
        .help = "synthetic images, clips or text with classes, images with a class for each pixel, with boxes around "
                "figures "
                "or text, or of words, clicks, running tokens, tokens to reverse, or features of videos, all of them "
                "learnable; reads no file",
        .keys = joined({"data.synthetic_samples"}, slot_keys),
        .targets = {tensor_names::labels, tensor_names::masks, tensor_names::annotations, tensor_names::object_masks,
                    tensor_names::characters, tensor_names::text_boxes, tensor_names::next_tokens,
                    tensor_names::multi_hot_labels}},
       open_synthetic},
  };
}

}  // namespace

const std::vector<DataSourceRow>& data_source_rows() {
  static const std::vector<DataSourceRow> all = [] {
    std::vector<DataSourceRow> rows = image_rows();
    for (DataSourceRow& row : box_rows()) rows.push_back(std::move(row));
    for (DataSourceRow& row : other_rows()) rows.push_back(std::move(row));
    return rows;
  }();
  return all;
}

const DataSourceRow& find_source_row(std::string_view name) {
  for (const DataSourceRow& row : data_source_rows()) {
    if (row.entry.name == name) return row;
  }
  fail_usage("data.source: unknown data source {}", name);
}

std::vector<DataSourceEntry> data_source_entries() {
  std::vector<DataSourceEntry> entries;
  for (const DataSourceRow& row : data_source_rows()) entries.push_back(row.entry);
  return entries;
}

}  // namespace ptrain
