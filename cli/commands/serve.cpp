// ptrain serve: serves a trained model over HTTP, by the KServe v2 protocol; a language model by OpenAI's.
#include "cli/commands.h"
#include "cli/deploy_arguments.h"
#include "cli/number_range.h"
#include "core/base/errors.h"
#include "core/base/parallel.h"
#include "core/base/url.h"
#include "core/config/text.h"
#include "core/runtime/model_artifact.h"
#include "core/runtime/predictor.h"
#include "core/serve/http.h"

#include <fmt/format.h>

#include <cstdio>

namespace ptrain {
namespace {

struct ServeArguments {
  DeployArguments deploy;
  BatcherOptions batching;
  HttpOptions http;
  std::string name;
  std::size_t max_body_mib = 64;
  std::string cache_dtype = "auto";
  SearchOptions search{.beams = default_beams};
  bool batch_given = false;
  std::vector<std::string> model_options;  // given ones, which a folder of runs has no use for
};

std::string choose_name(const ServeArguments& arguments, const LoadedModel& opened) {
  if (!arguments.name.empty()) return arguments.name;
  return std::filesystem::absolute(opened.trained.folder / "").parent_path().filename().string();
}

/// The given options that are about a model.
std::vector<std::string> find_model_options(const CLI::App& command) {
  std::vector<std::string> given;
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (option->count() > 0 && name != "MODEL" && name != "--host" && name != "--port") given.push_back(name);
  }
  return given;
}

void require_threads(int threads) {
  if (const int granted = set_thread_count(threads); granted < threads) {
    fail("OpenMP grants {} of {} threads (OMP_THREAD_LIMIT, or a process limit)", granted, threads);
  }
}

HttpOptions make_http_options(const ServeArguments& arguments, std::int64_t at_once) {
  HttpOptions http = arguments.http;
  http.max_body = arguments.max_body_mib << 20;
  http.threads =
      arguments.batching.queue + static_cast<std::size_t>(at_once) + 16;  // waiting, computing and rejected requests
  return http;
}

void print_address(const std::string& name, const HttpOptions& http, int port, const std::string& path) {
  fmt::print("serving {} at http://{}:{}{}\n", on_one_line(name), http.host, port, path);
  std::fflush(stdout);
}

/// Serves a ModelService whose batches `answer` computes once `start` has prepared it in the computing thread.
void serve_batches(const ServeArguments& arguments, const LoadedModel& opened, std::int64_t most,
                   const std::function<std::vector<TensorSpec>()>& start, Batcher::Answerer answer) {
  ServeMetrics metrics;
  BatcherOptions batching = arguments.batching;
  batching.most = most;
  std::vector<TensorSpec> outputs;
  // Kernels are compiled in the computing thread, for its number of threads.
  const auto prepare = [&, threads = thread_count()] {
    require_threads(threads);
    outputs = start();
  };
  Batcher batcher(std::move(answer), prepare, batching, metrics);
  const ModelService service(opened, outputs, choose_name(arguments, opened), batcher, most, metrics);
  serve_http(service, make_http_options(arguments, most), [&](int port) {
    print_address(service.name(), arguments.http, port, fmt::format("/v2/models/{}/infer", encode_url(service.name())));
  });
}

void serve_translator(const ServeArguments& arguments, const LoadedModel& opened, Backend& backend,
                      DeployOptions options) {
  constexpr std::int64_t texts = 8;  // each has as many caches as beams
  if (!arguments.batch_given) options.batch_size = texts;
  options.cache = CacheOptions{.dtype = cache_dtype(options.amp, arguments.cache_dtype)};
  const DatasetInfo& data = opened.trained.data;
  std::optional<Translator> translator;
  const auto start = [&] {
    translator.emplace(backend, *opened.model, *opened.task, opened.trained.weights(), options, arguments.search,
                       data.end_token);
    return std::vector{translation_spec(data)};
  };
  serve_batches(arguments, opened, options.batch_size, start,
                [&](Batch& batch) { return translate_batch(*translator, data, batch); });
}

void serve_predictor(const ServeArguments& arguments, const LoadedModel& opened, Backend& backend,
                     const DeployOptions& options) {
  std::optional<Predictor> predictor;
  const auto start = [&] {
    predictor.emplace(backend, *opened.model, *opened.task, opened.trained.weights(), options);
    predictor->prepare(opened.trained.data);
    return predictor->outputs();
  };
  serve_batches(arguments, opened, options.batch_size, start, [&](Batch& batch) { return predictor->run(batch); });
}

void serve_language_model(const ServeArguments& arguments, const LoadedModel& opened, Backend& backend,
                          DeployOptions options) {
  constexpr std::int64_t texts = 4;  // each has a cache of the model's length
  if (!arguments.batch_given) options.batch_size = texts;
  options.cache = CacheOptions{options.max_length, cache_dtype(options.amp, arguments.cache_dtype)};
  const auto make_decoder = [&, threads = thread_count()] {
    require_threads(threads);
    return std::make_unique<TextDecoder>(backend, *opened.model, *opened.task, opened.trained.weights(), options);
  };
  TextService service(opened, choose_name(arguments, opened), arguments.batching.queue, make_decoder);
  const HttpOptions http = make_http_options(arguments, options.batch_size);
  serve_texts(service, http, [&](int port) { print_address(service.name(), http, port, "/v1"); });
}

/// Whether the argument is a folder without a model of its own, but with runs in it.
bool names_runs(const std::string& argument) {
  const std::filesystem::path folder = argument;
  return std::filesystem::is_directory(folder) && !std::filesystem::exists(folder / model_files::document) &&
         !find_run_folders(folder).empty();
}

void serve_pages(const ServeArguments& arguments) {
  if (!arguments.model_options.empty()) {
    fail_usage("{}: is of no use for a folder of runs, {}; --host and --port are", arguments.model_options.front(),
               arguments.deploy.model);
  }
  RunSite site(arguments.deploy.model);
  serve_runs(site, arguments.http, [&](int port) { print_address(arguments.deploy.model, arguments.http, port, "/"); });
}

void serve(const ServeArguments& arguments) {
  if (names_runs(arguments.deploy.model)) return serve_pages(arguments);
  const LoadedModel opened = arguments.deploy.open();
  const std::unique_ptr<Backend> backend = arguments.deploy.make_backend();
  DeployOptions options = arguments.deploy.deploy_options(opened, *backend);
  options.kernels.exhaustive_search = false;  // for the same predictions as ptrain infer
  if (opened.task->translates()) return serve_translator(arguments, opened, *backend, options);
  if (!opened.task->predicts_samples()) return serve_language_model(arguments, opened, *backend, options);
  serve_predictor(arguments, opened, *backend, options);
}

}  // namespace

void add_serve_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand(
      "serve", "serve a model over HTTP, by the KServe v2 protocol or OpenAI's; or runs as pages");
  const auto arguments = std::make_shared<ServeArguments>();
  arguments->deploy.add_to(*command);
  command->get_option("MODEL")->description(
      "folder of a run or of ptrain export, or the run's configuration; or a folder of runs");
  command->add_option("--host", arguments->http.host, "address to listen on")
      ->capture_default_str()
      ->type_name("ADDRESS");
  command->add_option("--port", arguments->http.port, "port to listen on; 0: any free port, which is printed")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  command->add_option("--name", arguments->name, "name of the model in URLs; default: the folder's")->type_name("NAME");
  command
      ->add_option("--max-delay", arguments->batching.max_delay_ms,
                   "longest time in ms that a request waits for others to join its batch")
      ->check(in_range(0.0, 60e3))
      ->capture_default_str()
      ->type_name("MS");
  command->add_option("--queue", arguments->batching.queue, "largest number of waiting requests; more get status 503")
      ->check(CLI::Range(std::size_t{1}, std::size_t{4096}))
      ->capture_default_str();
  command->add_option("--max-body", arguments->max_body_mib, "largest request body in MiB; larger ones get status 413")
      ->check(CLI::Range(std::size_t{1}, std::size_t{4096}))
      ->capture_default_str()
      ->type_name("MIB");
  add_cache_option(*command, arguments->cache_dtype);
  add_search_options(*command, arguments->search, "Translation");
  command->footer(
      "A language model answers OpenAI's /v1/completions and /v1/chat/completions, by default with 4 texts at once "
      "(--batch).\n"
      "A folder of runs or of a sweep is shown in a browser, as its runs train: ptrain serve runs\n"
      "SIGTERM or Ctrl-C ends it once waiting requests are answered; exit code 0.\n"
      "Example:\n  ptrain serve runs/bert_finetune --name reviews --port 8000\n"
      "  curl --data-binary @photo.jpg -H 'Content-Type: image/jpeg' localhost:8000/v2/models/photos/infer\n"
      "  curl -d '{\"inputs\": [{\"name\": \"text\", \"datatype\": \"BYTES\", \"shape\": [1], \"data\": [\"a gripping "
      "film\"]}]}' \\\n"
      "    localhost:8000/v2/models/reviews/infer");
  command->callback([arguments, command] {
    arguments->batch_given = command->count("--batch") > 0;
    arguments->model_options = find_model_options(*command);
    serve(*arguments);
  });
}

}  // namespace ptrain
