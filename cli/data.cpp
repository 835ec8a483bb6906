// ptrain data: prepares data sets. `data pack` decodes a folder of images once, for training that outruns the decoder.
#include "cli/commands.h"
#include "core/base/errors.h"
#include "core/data/image_pack.h"
#include "core/data/pack_folder.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>

namespace ptrain {
namespace {

struct PackArguments {
  std::string folder;
  std::string out;
  PackOptions options{.short_side = 0, .max_bad_samples = 100};
};

/// One line redrawn on a terminal, a line per tenth of the images elsewhere.
PackProgress show_progress(const std::string& file) {
  const auto start = std::chrono::steady_clock::now();
  return [file, start, tenths = std::int64_t{0}](std::int64_t done, std::int64_t total) mutable {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const std::string line = fmt::format("{}: {} of {} images, {:.0f} images/s", file, done, total,
                                         static_cast<double>(done) / std::max(seconds, 1e-9));
    const bool terminal = isatty(fileno(stderr)) != 0;
    if (terminal) fmt::print(stderr, "\r{}\x1b[K{}", line, done == total ? "\n" : "");
    if (!terminal && done * 10 / total > tenths) fmt::print(stderr, "{}\n", line);
    tenths = done * 10 / total;
  };
}

void pack(const PackArguments& arguments) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::create_directories(arguments.out, error);
  if (error) fail("{}: cannot make the directory: {}", arguments.out, error.message());
  for (const Split split : {Split::train, Split::eval}) {
    const fs::path file = fs::path(arguments.out) / pack_name(split);
    const PackResult result =
        pack_folder(arguments.folder, split, file, arguments.options, show_progress(file.string()));
    for (const std::string& line : result.left_out) fmt::print(stderr, "note: left out: {}\n", line);
    fmt::print("{}: {} images, {:.1f} MiB, {} left out\n", file.string(), result.images,
               static_cast<double>(result.bytes) / (1 << 20), result.left_out.size());
  }
}

}  // namespace

void add_data_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("data", "prepare data sets");
  command->require_subcommand(1);
  command->footer("Example:\n  ptrain data pack /data/imagenet --out /fast/imagenet --short-side 256");
  CLI::App* pack_command = command->add_subcommand(
      "pack", "decode a folder of images into train.pack and val.pack, which data.source packed reads");
  const auto arguments = std::make_shared<PackArguments>();
  pack_command->add_option("folder", arguments->folder, "what data.source image_folder reads")->required();
  pack_command->add_option("--out", arguments->out, "folder for the packs")->required();
  pack_command
      ->add_option("--short-side", arguments->options.short_side,
                   "px to resize a longer shorter side to; 0 keeps every image as it is")
      ->check(CLI::Range(0, 65535));
  pack_command
      ->add_option("--max-bad-samples", arguments->options.max_bad_samples,
                   "undecodable images to leave out before failing")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  pack_command->callback([arguments] { pack(*arguments); });
}

}  // namespace ptrain
