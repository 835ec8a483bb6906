#include "core/base/utf8.h"
#include "core/config/config_enums.h"
#include "core/config/keys.h"
#include "core/config/text.h"
#include "core/yaml/load.h"
#include "tests/error_message.h"
#include "tests/temporary_directory.h"
#include "tests/test_catalogs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

namespace ptrain {
namespace {

constexpr std::string_view small_config =
    "model: {name: resnet18, classes: 10}\n"
    "data: {source: synthetic}\n";

std::optional<std::string> no_environment(const std::string&) { return std::nullopt; }

LoadedConfig parse(const std::string& text, const std::vector<std::string>& assignments = {},
                   const Environment& environment = no_environment) {
  std::vector<Override> overrides;
  for (const std::string& assignment : assignments) overrides.push_back(parse_override(assignment));
  return parse_config(std::string(small_config) + text, "x.yaml", test_catalogs(), overrides, environment);
}

std::string refusal(const std::string& text, const std::vector<std::string>& assignments = {},
                    const Environment& environment = no_environment) {
  return get_error([&] { parse(text, assignments, environment); }, ExitCode::usage);
}

Environment only(const std::string& variable, const std::string& value) {
  return [=](const std::string& name) { return name == variable ? std::optional(value) : std::nullopt; };
}

TEST(ConfigPrecedence, RisesFromDefaultOverFileAndEnvironmentToCommandLine) {
  const std::string key = "flags.cudnn_exhaustive_search";
  const std::string yaml = "flags: {cudnn_exhaustive_search: false}\n";
  const Environment on = only("FLAGS_cudnn_exhaustive_search", "1");

  const LoadedConfig by_default = parse("");
  EXPECT_TRUE(by_default.config.flags.cudnn_exhaustive_search);
  EXPECT_EQ(by_default.origins.at(key), "default");

  const LoadedConfig by_file = parse(yaml);
  EXPECT_FALSE(by_file.config.flags.cudnn_exhaustive_search);
  EXPECT_EQ(by_file.origins.at(key), "x.yaml:3");

  const LoadedConfig by_environment = parse(yaml, {}, on);
  EXPECT_TRUE(by_environment.config.flags.cudnn_exhaustive_search);
  EXPECT_EQ(by_environment.origins.at(key), "environment FLAGS_cudnn_exhaustive_search");

  const LoadedConfig by_command_line = parse(yaml, {key + "=false"}, on);
  EXPECT_FALSE(by_command_line.config.flags.cudnn_exhaustive_search);
  EXPECT_EQ(by_command_line.origins.at(key), "command line");
}

TEST(ConfigPrecedence, LastOfSeveralOverridesWins) { EXPECT_EQ(parse("", {"seed=1", "seed=2"}).config.seed, 2); }

TEST(ConfigEnvironment, TakesPaddleSpellings) {
  const std::string variable = "FLAGS_cudnn_batchnorm_spatial_persistent";
  for (const char* off : {"0", "false", "False"}) {
    EXPECT_FALSE(parse("", {}, only(variable, off)).config.flags.cudnn_batchnorm_spatial_persistent) << off;
  }
  EXPECT_EQ(
      refusal("", {}, only(variable, "maybe")),
      "environment FLAGS_cudnn_batchnorm_spatial_persistent: flags.cudnn_batchnorm_spatial_persistent: expected true "
      "or false, got \"maybe\"");
}

TEST(ConfigErrors, NameFileLineKeyAndValue) {
  EXPECT_EQ(refusal("train: {optimizer: {lr: fast}}\n"),
            "x.yaml:3: train.optimizer.lr: expected a number, got \"fast\"");
}

TEST(ConfigErrors, NameTheOptionOfAnOverride) {
  EXPECT_EQ(refusal("", {"train.optimizer.lr=fast"}),
            "-o train.optimizer.lr=fast: train.optimizer.lr: expected a number, got \"fast\"");
  EXPECT_EQ(refusal("", {"train.optimizer={lr: 1}"}),
            "-o train.optimizer={lr: 1}: train.optimizer: is a section, set its keys one by one");
  EXPECT_EQ(
      refusal("", {"seed"}),
      "-o \"seed\": sets a key of the configuration, expected key.path=value, such as train.optimizer.lr=0.1 (for the "
      "folder of results use --out)");
  EXPECT_EQ(refusal("", {"data.path=\xff"}).find('\xff'), std::string::npos);
}

TEST(ConfigErrors, SuggestTheNearestKey) {
  EXPECT_EQ(refusal("trian: {epochs: 1}\n"), "x.yaml:3: trian: unknown key; did you mean train?");
  EXPECT_EQ(refusal("train: {optimizer: {momentun: 0.9}}\n"),
            "x.yaml:3: train.optimizer.momentun: unknown key; did you mean train.optimizer.momentum?");
  EXPECT_EQ(refusal("train: {lr: 0.1}\n"), "x.yaml:3: train.lr: unknown key; did you mean train.optimizer.lr?");
  EXPECT_EQ(refusal("", {"trian.epochs=1"}),
            "-o trian.epochs=1: trian.epochs: unknown key; did you mean train.epochs?");
  EXPECT_EQ(refusal("zzzzzzzzzzzz: 1\n"), "x.yaml:3: zzzzzzzzzzzz: unknown key");
}

TEST(ConfigErrors, MissingFileAndFolder) {
  EXPECT_THROW(load_config("/nowhere/x.yaml", test_catalogs()), Error);
  EXPECT_THROW(load_config("/", test_catalogs()), Error);
}

TEST(ConfigErrors, RefuseHugeFilesAndManyKeysAtOnce) {
  EXPECT_NE(refusal(std::string(2 << 20, '#')).find("are too many for a configuration"), std::string::npos);
  std::string many = "amp:\n";
  for (int i = 0; i < 50000; ++i) many += "  k" + std::to_string(i) + ": 1\n";
  EXPECT_NE(refusal(many).find("more than 1000 keys"), std::string::npos);
}

TEST(ConfigValues, OverridesTakeListsAndTextsAsWritten) {
  const Config config =
      parse("", {"amp.custom_white_list=[softmax, gelu]", "amp.custom_black_list=linear",
                 "train.schedule.name=piecewise", "train.schedule.milestones=3,5.5", "output.dir=/tmp/a: b #c"})
          .config;
  EXPECT_EQ(config.amp.custom_white_list, (std::vector<std::string>{"softmax", "gelu"}));
  EXPECT_EQ(config.amp.custom_black_list, (std::vector<std::string>{"linear"}));
  EXPECT_EQ(config.train.schedule.milestones, (std::vector<double>{3, 5.5}));
  EXPECT_EQ(config.output.dir, "/tmp/a: b #c");
}

TEST(ConfigValues, ListsOfOverridesTakeQuotesAsYamlDoes) {
  const auto items = [](const std::string& text) {
    return parse("", {"amp.custom_white_list=" + text}).config.amp.custom_white_list;
  };
  const std::string text = R"(["negative", 'it''s', "a, \"b\"", plain])";
  EXPECT_EQ(items(text), (std::vector<std::string>{"negative", "it's", "a, \"b\"", "plain"}));
  EXPECT_EQ(items(text), parse("amp: {custom_white_list: " + text + "}").config.amp.custom_white_list);
  EXPECT_EQ(items("'a', 'b'"), (std::vector<std::string>{"a", "b"}));
  for (const std::string wrong : {"[\"a]", "['a' b]", "[\"a\\\"]"}) {
    EXPECT_NE(refusal("", {"amp.custom_white_list=" + wrong})
                  .find("amp.custom_white_list: expected items in matching quotes"),
              std::string::npos)
        << wrong;
  }
}

TEST(ConfigValues, ChoicesAndSuiteNamesIgnoreCase) {
  const Config config = parse("", {"model.name=ResNet50_DIST", "amp.level=o2", "amp.scaler.enabled=TRUE"}).config;
  EXPECT_EQ(config.model.entry.name, "resnet50");
  EXPECT_EQ(config.amp.level, AmpLevel::O2);
  EXPECT_EQ(config.amp.scaler.enabled, Tristate::yes);
  EXPECT_EQ(parse("", {"model.name=BERT_finetune"}).config.model.entry.name, "bert");
}

TEST(ConfigValues, ADeviceIsAKindOrOneOfSeveral) {
  EXPECT_EQ(parse("device: cuda\n").config.device, (DeviceChoice{DeviceKind::cuda, {}}));
  EXPECT_EQ(parse("", {"device=CUDA:12"}).config.device, (DeviceChoice{DeviceKind::cuda, 12}));
  EXPECT_EQ(to_json(parse("", {"device=cuda:1"}).config)["device"], "cuda:1");
  for (const char* wrong : {"cuda:", "cuda:-1", "cuda:x", "cuda:1.5", "cuda:99999", "cpu:0", "tpu1"}) {
    const std::string expected =
        fmt::format("-o device={0}: device: expected one of auto|cpu|cuda|cuda:N, got \"{0}\"", wrong);
    EXPECT_TRUE(refusal("", {fmt::format("device={}", wrong)}).starts_with(expected)) << wrong;
  }
}

TEST(ConfigValues, EmptySectionSetsNothing) { EXPECT_EQ(parse("train:\n").config.train.epochs, 1); }

TEST(ConfigValues, ATableIsWrittenAsRowsOrAsColumns) {
  const Config rows =
      parse("train:\n  phases:\n    - {until: 0.25, image_size: 16}\n    - {until: 1, image_size: 32}\n").config;
  const Config columns = parse("train: {phases: {until: [0.25, 1], image_size: [16, 32]}}\n").config;
  EXPECT_EQ(rows.train.phases.until, (std::vector<double>{0.25, 1}));
  EXPECT_EQ(rows.train.phases.image_size, (std::vector<ImageSize>{16, 32}));
  EXPECT_EQ(to_json(rows), to_json(columns));
  EXPECT_EQ(to_json(parse("", {"train.phases.until=0.25,1", "train.phases.image_size=16,32"}).config),
            to_json(columns));
}

TEST(ConfigValues, ImagesAreSquaresOrHaveHeightAndWidth) {
  const auto written = [](const std::string& size) {
    return parse_config(fmt::format("model: {{name: resnet18}}\ndata: {{source: synthetic, image_size: {}}}\n", size),
                        "x.yaml", test_catalogs())
        .config;
  };
  EXPECT_EQ(parse("", {"data.image_size=96"}).config.data.image_size, ImageSize(96, 96));
  for (const Config& config : {parse("", {"data.image_size=96x64"}).config,
                               parse("", {"data.image_size=[96, 64]"}).config, written("96x64"), written("[96, 64]")}) {
    EXPECT_EQ(config.data.image_size, ImageSize(96, 64));
    EXPECT_EQ(to_json(config)["data"]["image_size"], "96x64");
  }
  EXPECT_EQ(to_json(parse("", {"data.image_size=96x96"}).config), to_json(parse("", {"data.image_size=96"}).config));
  const Config phases =
      parse("train:\n  phases:\n    - {until: 0.5, image_size: 48x32}\n    - {until: 1, image_size: 96}\n").config;
  EXPECT_EQ(phases.train.phases.image_size, (std::vector<ImageSize>{{48, 32}, 96}));
  EXPECT_EQ(to_json(phases)["train"]["phases"]["image_size"].dump(), "[\"48x32\",96.0]")
      << "a list of numbers, as ever";
  EXPECT_EQ(
      refusal("", {"data.image_size=96x4"}),
      "-o data.image_size=96x4: data.image_size: expected an integer from 8 to 4096, or HEIGHTxWIDTH of such, got "
      "\"96x4\"");
  for (const char* wrong : {"x64", "96x", "96x064", "96x64x3", "96x6.5", "[96]", "[96, 64, 3]", "[96, 4]"}) {
    EXPECT_NE(
        refusal("", {fmt::format("data.image_size={}", wrong)}).find("data.image_size: expected an integer from 8"),
        std::string::npos)
        << wrong;
  }
}

TEST(ConfigValues, WholeNumbersMayHaveAPoint) {
  EXPECT_EQ(parse("train: {steps: 16.0}\n").config.train.steps, 16);
  EXPECT_EQ(parse("", {"train.steps=1e3"}).config.train.steps, 1000);
  EXPECT_NE(refusal("train: {steps: 16.5}\n").find("expected an integer, got \"16.5\""), std::string::npos);
  EXPECT_NE(refusal("train: {steps: 1e300}\n").find("expected an integer"), std::string::npos);
}

TEST(ConfigValues, GroupsOfParametersAreATableWithTrueAndFalse) {
  const Config rows =
      parse("train:\n  groups:\n    - {match: \"fc.*\", trainable: true}\n    - {match: \"*\", trainable: false}\n")
          .config;
  EXPECT_EQ(rows.train.groups.match, (std::vector<std::string>{"fc.*", "*"}));
  EXPECT_EQ(rows.train.groups.trainable, (std::vector<bool>{true, false}));
  EXPECT_EQ(to_json(parse("", {"train.groups.match=fc.*,*", "train.groups.trainable=[true, false]"}).config),
            to_json(rows));
  EXPECT_EQ(refusal("train: {groups: {match: [a], trainable: [maybe]}}\n"),
            "x.yaml:3: train.groups.trainable: expected a list of true and false, got \"maybe\"");
  EXPECT_EQ(refusal("train: {groups: {match: [\"\"]}}\n"), "x.yaml:3: train.groups.match: a pattern is empty");
}

TEST(ConfigBase, GivesWhatAFileDoesNotSet) {
  const TemporaryDirectory directory;
  const auto write = [&](const char* name, const std::string& text) {
    std::filesystem::create_directories((directory.path() / name).parent_path());
    std::ofstream(directory.path() / name) << text;
    return directory.path() / name;
  };
  write("base.yaml", "model: {name: resnet18, classes: 10}\ndata: {source: synthetic, batch_size: 8}\n");
  write("middle/one.yaml", "base: ../base.yaml\nseed: 7\ndata: {batch_size: 16}\n");
  const auto file = write("top.yaml", "base: middle/one.yaml\nseed: 8\n");
  const LoadedConfig loaded = load_config(file, test_catalogs(), {}, no_environment);
  EXPECT_EQ(loaded.config.model.entry.name, "resnet18");
  EXPECT_EQ(loaded.config.data.batch_size, 16);
  EXPECT_EQ(loaded.config.seed, 8);
  EXPECT_EQ(loaded.origins.at("seed"), file.string() + ":2");
  EXPECT_EQ(loaded.origins.at("data.batch_size"), (directory.path() / "middle/one.yaml").string() + ":3");

  const auto refused = [&](const std::filesystem::path& path) {
    return get_error([&] { load_config(path, test_catalogs(), {}, no_environment); }, ExitCode::usage);
  };
  const auto missing = write("missing.yaml", "seed: 1\nbase: none.yaml\n");
  EXPECT_EQ(refused(missing), missing.string() + ":2: base: no file " + (directory.path() / "none.yaml").string());
  const auto circle = write("circle.yaml", "base: circle.yaml\n");
  EXPECT_EQ(refused(circle), circle.string() + ":1: base: chain of more than 8 base files");
  write("bad.yaml", "sed: 1\n");
  EXPECT_EQ(refused(write("on_bad.yaml", "base: bad.yaml\n")),
            (directory.path() / "bad.yaml").string() + ":1: sed: unknown key; did you mean seed?");
  const auto list = write("list.yaml", "base: [a.yaml]\n");
  EXPECT_EQ(refused(list), list.string() + ":1: base: expected the file of another configuration");
}

TEST(ConfigErrors, NameTheRowOfATable) {
  const auto refused = [](const std::string& second) {
    return refusal("train:\n  phases:\n    - {until: 0.5, image_size: 16}\n    - " + second + "\n");
  };
  EXPECT_EQ(refused("{until: 1}"), "x.yaml:6: train.phases: \"image_size\" is missing, which the first row has");
  EXPECT_EQ(refused("{until: 1, image_size: 32, lr_scale: 2}"),
            "x.yaml:6: train.phases: \"lr_scale\" is not in the first row; expected the same keys in all rows");
  EXPECT_EQ(refused("1"), "x.yaml:6: train.phases: expected a list of mappings");
  EXPECT_EQ(refused("{until: 1, image_size: big}"),
            "x.yaml:5: train.phases.image_size: expected a number, got \"big\"");
  EXPECT_EQ(refusal("train: {phases: [{untill: 1}]}\n"),
            "x.yaml:3: train.phases.untill: unknown key; did you mean train.phases.until?");
  EXPECT_EQ(refusal("train: {optimizer: [{lr: 1}]}\n"),
            "x.yaml:3: train.optimizer: expected a mapping of its keys, got a list");
}

TEST(ConfigErrors, PhasesThatContradictThemselves) {
  const auto refused = [](const std::string& phases) { return refusal("train: {phases: {" + phases + "}}\n"); };
  EXPECT_EQ(refused("image_size: [16, 32]"),
            "x.yaml:3: train.phases.image_size: the phases' ends are missing: train.phases.until, until_epoch or "
            "until_step");
  EXPECT_EQ(refused("until: [0.5, 1], image_size: [16]"),
            "x.yaml:3: train.phases.image_size: has 1 entries for the 2 phases of train.phases.until");
  EXPECT_EQ(refused("until: [0.5, 0.5, 1]"), "x.yaml:3: train.phases.until: expected increasing ends");
  EXPECT_EQ(refused("until: [0.5, 0.9]"), "x.yaml:3: train.phases.until: the last phase ends at 1, got 0.9");
  EXPECT_EQ(refused("until: [1], until_step: [5]"),
            "x.yaml:3: train.phases.until_step: set this or train.phases.until, not both");
  EXPECT_EQ(refused("until: [1], batch_size: [8.5]"),
            "x.yaml:3: train.phases.batch_size: expected whole numbers, got 8.5");
  EXPECT_EQ(refusal("train: {phases: {until: [1]}, resize: {from: 0.5}}\n"),
            "x.yaml:3: train.resize.from: set this or train.phases, not both");
  EXPECT_EQ(refusal("train: {resize: {from: 0.5, delay: 0.7, finetune: 0.4}}\n"),
            "x.yaml:3: train.resize.finetune: 0.4 and train.resize.delay 0.7 are more than the whole training");
  EXPECT_EQ(refusal("", {"model.name=bert", "train.resize.from=0.5"}),
            "command line: train.resize.from: bert reads text");
}

TEST(ConfigNotes, NameWhatIsNotRead) {
  EXPECT_TRUE(parse("").notes.empty());
  EXPECT_EQ(parse("eval: {every_epochs: 0, amp: O1}\n").notes,
            (std::vector<std::string>{"x.yaml:3: eval.amp: not read with eval.every_epochs 0"}));
  EXPECT_EQ(
      parse("", {"train.optimizer.beta1=0.8"}).notes,
      (std::vector<std::string>{"command line: train.optimizer.beta1: not read with train.optimizer.name momentum"}));
}

TEST(ConfigNotes, NameADefaultLearningRateThatSuitsAnotherOptimizer) {
  const std::string adamw = "train.optimizer.name=adamw";
  EXPECT_EQ(parse("", {adamw}).notes,
            (std::vector<std::string>{
                "default: train.optimizer.lr: is 0.05, which suits momentum; adamw mostly diverges above 0.001"}));
  EXPECT_TRUE(parse("", {adamw, "train.optimizer.lr=0.05"}).notes.empty()) << "who asks for it gets it";
  EXPECT_TRUE(parse("", {"train.optimizer.name=sgd"}).notes.empty());
}

TEST(ConfigNotes, NameWhatLeavesTheLearningRateAsItIs) {
  const auto note = [](const std::vector<std::string>& assignments) {
    std::vector<std::string> all = assignments;
    all.insert(all.end(), {"train.epochs=10", "train.steps=0"});
    const std::vector<std::string> notes = parse("", all).notes;
    return notes.size() == 1 ? notes.front() : fmt::format("{} notes", notes.size());
  };
  const std::string piecewise = "train.schedule.name=piecewise";
  EXPECT_EQ(note({"train.optimizer.lr=0"}), "command line: train.optimizer.lr: is 0: no parameter is ever changed");
  EXPECT_EQ(note({"train.schedule.warmup_ratio=1"}),
            "command line: train.schedule.warmup_ratio: is 1: the warm-up takes all steps, lr reaches its peak at the "
            "last one");
  EXPECT_EQ(note({piecewise, "train.schedule.milestones=3,30"}),
            "command line: train.schedule.milestones: 30 is not below train.epochs 10: lr does not change there");
  EXPECT_EQ(note({piecewise, "train.schedule.milestones=3", "train.schedule.gamma=1"}),
            "command line: train.schedule.gamma: is 1: lr does not change at the milestones");
  EXPECT_EQ(note({piecewise, "train.schedule.milestones=3"}), "0 notes");
}

TEST(ConfigErrors, NameATargetThatNoValueReaches) {
  EXPECT_EQ(refusal("train: {target: 76.5}\n"),
            "x.yaml:3: train.target: top1 is at most 1, got 76.5: it would never be reached");
  EXPECT_EQ(parse("train: {target: 0.765}\n").config.train.target, 0.765);
}

TEST(ConfigNotes, NameAGuardWithNothingToGuard) {
  EXPECT_EQ(parse("", {"batch_norm_guard_every_steps=100", "flags.cudnn_batchnorm_spatial_persistent=false"}).notes,
            (std::vector<std::string>{"command line: batch_norm_guard_every_steps: not read with "
                                      "flags.cudnn_batchnorm_spatial_persistent false"}));
}

TEST(ConfigEcho, ParsesBackToTheSameConfig) {
  const Config config = parse("", {"amp.level=O1", "amp.custom_white_list=softmax",
                                   "train.optimizer.lr=0.1234567890123", "train.schedule.name=piecewise",
                                   "train.schedule.milestones=1,2", "tf32=true", "amp.scaler.enabled=false"})
                            .config;
  const nlohmann::json echo = to_json(config);
  const Config again = parse_config(echo.dump(), "echo", test_catalogs(), {}, no_environment).config;
  EXPECT_EQ(to_json(again), echo);
  EXPECT_EQ(config_hash(again), config_hash(config));
}

TEST(ConfigHash, ChangesWithTheWorkOnly) {
  const std::string hash = config_hash(parse("").config);
  EXPECT_EQ(hash.size(), std::string("fnv1a64:").size() + 16);
  EXPECT_EQ(config_hash(parse("", {"output.dir=elsewhere", "resume=auto"}).config), hash);
  EXPECT_NE(config_hash(parse("", {"seed=43"}).config), hash);
}

TEST(ConfigKeys, AreUniqueDescribedAndTheirDefaultsPass) {
  std::set<std::string> names;
  for (const Key& key : config_keys()) {
    EXPECT_TRUE(names.insert(key.name).second) << key.name;
    EXPECT_FALSE(is_section(key.name)) << key.name;
    EXPECT_FALSE(key.help.empty()) << key.name;
    EXPECT_FALSE(describe(key).empty()) << key.name;
    Config config;
    key.set(config, default_value(key));
    EXPECT_EQ(to_json(config), to_json(Config{})) << key.name;
  }
}

TEST(ConfigKeys, HiddenOnesAreSetButNeitherListedNorSuggested) {
  const std::string name = "train.test_delay_percent";
  EXPECT_NE(find_key(name), nullptr);
  EXPECT_TRUE(std::ranges::none_of(config_keys(), [&](const Key& key) { return key.name == name; }));
  EXPECT_FALSE(
      make_config_schema(test_catalogs().keys())["properties"]["train"]["properties"].contains("test_delay_percent"));
  EXPECT_FALSE(to_json(parse("").config)["train"].contains("test_delay_percent"));
  EXPECT_EQ(refusal("", {"train.test_delay_percen=1"}).find(name), std::string::npos);

  const Config slowed = parse("", {name + "=20"}).config;
  EXPECT_EQ(slowed.train.test_delay_percent, 20);
  EXPECT_EQ(to_json(slowed)["train"]["test_delay_percent"], 20.0);
  EXPECT_EQ(config_hash(slowed), config_hash(parse("").config));
}

TEST(ConfigSchema, HoldsEveryKeyWithItsDefault) {
  const nlohmann::json schema = make_config_schema(test_catalogs().keys());
  for (const Key& key : config_keys()) {
    std::string pointer = "/properties/" + key.name;
    for (std::size_t dot; (dot = pointer.find('.')) != std::string::npos;) pointer.replace(dot, 1, "/properties/");
    ASSERT_TRUE(schema.contains(nlohmann::json::json_pointer(pointer))) << pointer;
  }
  EXPECT_EQ(schema["/properties/train/properties/optimizer/properties/lr/default"_json_pointer], 0.05);
  EXPECT_EQ(schema["additionalProperties"], false);
  const auto matches = [&](const char* key, const char* value) {
    const nlohmann::json& pattern = schema[nlohmann::json::json_pointer(key)]["anyOf"][1]["pattern"];
    return std::regex_match(value, std::regex(pattern.get<std::string>(), std::regex::ECMAScript));
  };
  EXPECT_TRUE(matches("/properties/device", "cuda:3"));
  EXPECT_FALSE(matches("/properties/device", "cuda:"));
  for (const char* name : {"bert", "BERT_finetune", "ResNet50", "RESNET50"}) {
    EXPECT_TRUE(matches("/properties/model/properties/name", name)) << name;
  }
  EXPECT_FALSE(matches("/properties/model/properties/name", "resnet5"));
  const nlohmann::json& labels = schema["/properties/data/properties/labels/items/type"_json_pointer];
  EXPECT_NE(std::find(labels.begin(), labels.end(), "number"), labels.end()) << "labels: [0, 1]";
  const nlohmann::json& phases = schema["/properties/train/properties/phases"_json_pointer];
  EXPECT_EQ(phases["type"], (nlohmann::json{"object", "array"}));
  EXPECT_EQ(phases["/items/properties/smallest_crop/type"_json_pointer], "number");
  EXPECT_EQ(phases["/items/properties/image_size/anyOf/1/type"_json_pointer], "string");
  EXPECT_EQ(schema["/properties/train/properties/groups/items/properties/trainable/type"_json_pointer], "boolean");
}

TEST(ShippedConfigs, AllValidateWithoutNotes) {
  int count = 0;
  const std::filesystem::path configs = PTRAIN_SOURCE_DIR "/configs";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(configs)) {
    const std::filesystem::path folder = *entry.path().lexically_relative(configs).begin();
    if (entry.path().extension() != ".yaml" || folder == "bench" || folder == "links" || folder == "expected") continue;
    ++count;
    const LoadedConfig loaded = load_config(entry.path(), test_catalogs(), {}, no_environment);
    EXPECT_TRUE(loaded.notes.empty()) << loaded.notes.front();
  }
  EXPECT_GE(count, 8);
}

TEST(Text, EditDistanceCountsSwapsOnce) {
  EXPECT_EQ(edit_distance("train", "train"), 0);
  EXPECT_EQ(edit_distance("trian", "train"), 1);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
}

TEST(Text, Utf8RefusesOverlongSurrogatesAndCutSequences) {
  EXPECT_TRUE(is_utf8("aé中😀"));
  for (const char* bad : {"\xff", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe4\xb8"}) {
    EXPECT_FALSE(is_utf8(bad));
  }
}

TEST(Text, ShownStaysOnOneShortLine) {
  EXPECT_EQ(shown("a\nb\x01"), "\"a\\nb\\x01\"");
  EXPECT_LT(shown(std::string(1000, 'x')).size(), 70u);
}

}  // namespace
}  // namespace ptrain
