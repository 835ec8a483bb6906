// Reads a data set with one thread for some seconds and prints samples per second. reader_bench.py and click_reader.py
// run it.
#include "core/data/factory.h"
#include "core/data/loader/loader.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: reader_bench SOURCE FOLDER train|eval IMAGE_SIZE SECONDS\n");
    return 2;
  }
  try {
    ptrain::DataSettings settings;
    settings.source = argv[1];
    settings.path = argv[2];
    settings.image_size = std::atoi(argv[4]);
    settings.train_file = settings.dev_file = "train.txt";  // of click logs
    const bool train = std::string(argv[3]) == "train";
    const auto data = ptrain::open_dataset(settings, train ? ptrain::Split::train : ptrain::Split::eval);
    ptrain::LoaderOptions options;
    options.batch_size = 64;
    options.workers = 0;
    options.order = train ? ptrain::SampleOrder::shuffled : ptrain::SampleOrder::sequential;
    ptrain::Loader loader(*data, options);
    loader.next();
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    const std::chrono::duration<double> limit(std::atof(argv[5]));
    std::int64_t samples = 0;
    while (Clock::now() - begin < limit) samples += loader.next().count;
    const std::chrono::duration<double> seconds = Clock::now() - begin;
    std::printf("%.2f\n", static_cast<double>(samples) / seconds.count());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "reader_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
