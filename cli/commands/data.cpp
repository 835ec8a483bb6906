// ptrain data: prepares data sets. `data pack` decodes a folder of images once, for training faster than the decoder;
// `data vocabulary` learns the tokens of texts.
#include "cli/commands.h"
#include "core/base/clock.h"
#include "core/base/counted.h"
#include "core/base/errors.h"
#include "core/base/standard_streams.h"
#include "core/data/image/image_pack.h"
#include "core/data/image/pack_folder.h"
#include "core/data/text/learn_bpe.h"
#include "core/data/text/text_encoding.h"
#include "core/io/atomic_file.h"
#include "core/io/folder_lock.h"
#include "core/io/packed_file.h"
#include "core/report/progress.h"

#include <memory>

namespace ptrain {
namespace {

struct PackArguments {
  std::string folder;
  std::string out;
  PackOptions options{.short_side = 0, .max_bad_samples = 100};
};

/// Shows progress, in plain mode with one line per tenth of the images.
class PackView {
 public:
  explicit PackView(std::string file) : file_(std::move(file)) {}
  ~PackView() {
    if (progress_ != nullptr) progress_->finish();
  }
  PackView(const PackView&) = delete;
  PackView& operator=(const PackView&) = delete;

  void show(std::int64_t done, std::int64_t total) {
    if (progress_ == nullptr) progress_ = make_progress(ProgressStyle::automatic, (total + 9) / 10);
    progress_->show(done, total, [&](double eta_seconds) {
      std::string line = fmt::format("{}: {}/{} images  {:.0f} images/s", file_, done, total,
                                     static_cast<double>(done) / std::max(watch_.seconds(), 1e-9));
      if (eta_seconds >= 0) line += fmt::format("  ETA {}", clock_text(eta_seconds));
      return line;
    });
  }

 private:
  std::string file_;
  Stopwatch watch_;
  std::unique_ptr<Progress> progress_;
};

PackResult pack(const PackArguments& arguments, Split split, const std::filesystem::path& file) {
  PackView view(file.string());
  return pack_folder(arguments.folder, split, file, arguments.options,
                     [&](std::int64_t done, std::int64_t total) { view.show(done, total); });
}

void pack(const PackArguments& arguments) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::create_directories(arguments.out, error);
  if (error) fail("{}: cannot make the directory: {}", arguments.out, error.message());
  const FolderLock lock(arguments.out);
  std::vector<PackResult> both;  // neither file is replaced before both are written
  for (const Split split : {Split::train, Split::eval}) {
    const PackResult& result = both.emplace_back(pack(arguments, split, fs::path(arguments.out) / pack_name(split)));
    for (const std::string& note : result.notes) print_error_line("note: " + note);
    for (const std::string& line : result.left_out) print_error_line("note: left out: " + line);
  }
  const std::string pair = fmt::format("{:08x}{:08x}", both[0].file.checksum(), both[1].file.checksum());
  for (PackResult& result : both) result.file.finish(pair);
  for (PackResult& result : both) result.file.commit();
  for (const PackResult& result : both) {
    fmt::print("{}: {}, {:.1f} MiB, {} left out\n", result.file.path().string(), counted(result.images, "image"),
               static_cast<double>(result.file.bytes()) / (1 << 20), result.left_out.size());
  }
}

struct VocabularyArguments {
  std::vector<std::string> files;
  std::string out;
  std::int64_t size = 10'000;
};

void learn_vocabulary(const VocabularyArguments& arguments) {
  std::string text;
  for (const std::string& file : arguments.files) {
    DecodedText decoded = decode_text(read_unpacked_file(file), file, TextEncoding::automatic);
    if (!decoded.note.empty()) print_error_line("note: " + decoded.note);
    text += decoded.text;
    if (!text.ends_with('\n')) text += '\n';
  }
  const nlohmann::ordered_json vocabulary = learn_byte_bpe(text, arguments.size);
  write_file_atomic(arguments.out, vocabulary.dump(1) + "\n");
  fmt::print("{}: {}\n", arguments.out,
             counted(static_cast<std::int64_t>(vocabulary["model"]["vocab"].size()), "token"));
}

void add_vocabulary_command(CLI::App& data) {
  CLI::App* command = data.add_subcommand(
      "vocabulary", "learn one byte-level BPE from text files, in several languages too, as a tokenizer.json");
  command->footer(
      "Example:\n  ptrain data vocabulary multi30k/train.de multi30k/train.en --out multi30k/tokenizer.json");
  const auto arguments = std::make_shared<VocabularyArguments>();
  command->add_option("FILES", arguments->files, "text files, one text a line, also compressed by gzip or Zstandard")
      ->required();
  command->add_option("--out", arguments->out, "file for the vocabulary, ending in .json")->required();
  command->add_option("--size", arguments->size, "number of tokens, the 256 bytes and two special ones included")
      ->check(CLI::Range(258, 1'000'000))
      ->capture_default_str();
  command->callback([arguments] { learn_vocabulary(*arguments); });
}

}  // namespace

void add_data_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("data", "prepare data sets");
  command->require_subcommand(1);
  command->footer("Example:\n  ptrain data pack /data/imagenet --out /fast/imagenet --short-side 256");
  CLI::App* pack_command = command->add_subcommand(
      "pack", "decode a folder of images into train.pack and val.pack, which data.source packed reads");
  const auto arguments = std::make_shared<PackArguments>();
  pack_command->add_option("FOLDER", arguments->folder, "folder in the form of data.source image_folder")->required();
  pack_command->add_option("--out", arguments->out, "folder for the packed files")->required();
  pack_command
      ->add_option("--short-side", arguments->options.short_side,
                   "resize images to at most this shorter side in px; 0: keep sizes")
      ->check(CLI::Range(0, 65535));
  pack_command
      ->add_option("--max-bad-samples", arguments->options.max_bad_samples, "undecodable images to skip before failing")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  pack_command->callback([arguments] { pack(*arguments); });
  add_vocabulary_command(*command);
}

}  // namespace ptrain
