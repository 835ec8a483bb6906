"""What goes wrong is one clear line and the documented exit code."""
import json
import os
import pathlib
import re
import signal
import subprocess
import time
import unittest

from frozen import FROZEN
from program import BINARY, ROOT, ProgramTest, run


def threads_that_take(number, pid):
    """How many of a process's threads a signal may interrupt; oneDNN's products must not be among them."""
    masks = [status.read_text().split("SigBlk:")[1].split()[0] for status in pathlib.Path(f"/proc/{pid}/task").glob("*/status")]
    return sum(not int(mask, 16) >> (number - 1) & 1 for mask in masks)


class ExitCodes(ProgramTest):
    def test_unknown_key_names_the_nearest(self):
        self.assert_one_line_error(self.train("out", "-o", "train.stepz=3"), 2, "train.stepz", "train.steps")

    def test_unknown_command(self):
        self.assert_one_line_error(run("rnu"), 2, "run")

    def test_unknown_options_name_the_nearest(self):
        self.assert_one_line_error(run("run", self.config, "--amq", "O1"), 2, "--amq", "did you mean --amp?", "ptrain run --help")
        self.assert_one_line_error(run("bench", "comm", "--rank", "2"), 2, "--rank", "did you mean --ranks?")

    def test_an_empty_path_is_named(self):
        for command, name in ((("infer", ""), "MODEL"), (("run", ""), "CONFIG"), (("show", ""), "RUN"), (("runs", ""), "DIR"),
                              (("history", ""), "DIR"), (("compare", "x", ""), "NEW"), (("table", ""), "PATHS"),
                              (("baseline", "save", ""), "DIR"), (("serve", ""), "MODEL")):
            self.assert_one_line_error(run(*command), 2, name, 'expected a path or a name, got ""')

    def test_what_looks_like_a_folder_after_o_is_explained(self):
        self.assert_one_line_error(run("run", self.config, "-o", "runs/mine"), 2, "runs/mine", "key.path=value", "--out")

    def test_help_is_a_word_too(self):
        self.assertEqual(run("help", "run").stdout, run("run", "--help").stdout)
        self.assertEqual(run("help").stdout, run("--help").stdout)
        self.assert_one_line_error(run("help", "rnu"), 2, "did you mean run?")

    def test_a_renamed_command_keeps_its_old_name(self):
        self.assert_one_line_error(run("plan", self.config, "--ranks", 2), 2, "--links")
        self.assertEqual(run("help", "plan").stdout, run("estimate", "--help").stdout)

    def test_keys_are_listed_by_section(self):
        listed = run("list", "keys", "train").stdout
        self.assertIn("train.optimizer.lr\n", listed)
        self.assertNotIn("data.path", listed)
        self.assertIn("[train]\n", run("list", "keys").stdout)
        self.assert_one_line_error(run("list", "keys", "trian"), 2, "did you mean train?")

    def test_the_document_of_all_keys_is_what_the_program_lists(self):
        listed = run("list", "keys", "--markdown").stdout
        self.assertEqual((ROOT / "configs/keys.md").read_text(), listed, "ptrain list keys --markdown >configs/keys.md")
        self.assertLess(max(map(len, listed.split())), 80, "a word that no cell of a table can break")
        keys = [entry["key"] for entry in json.loads(run("list", "keys", "--json").stdout)]
        self.assertEqual(keys, re.findall(r"(?m)^\| `([\w.]+)` \|", listed))

    def test_the_documents_of_suites_are_what_the_program_lists(self):
        listed = run("list", "keys", "bench", "--markdown").stdout
        self.assertEqual((ROOT / "configs/bench/keys.md").read_text(), listed,
                         "ptrain list keys bench --markdown >configs/bench/keys.md")
        keys = [entry["key"] for entry in json.loads(run("list", "keys", "bench", "--json").stdout)]
        self.assertEqual(keys, re.findall(r"(?m)^\| `([\w.]+)` \|", listed))
        schema = run("schema", "suite").stdout
        self.assertEqual((ROOT / "configs/suite.schema.json").read_text(), schema,
                         "ptrain schema suite >configs/suite.schema.json")
        properties = json.loads(schema)["properties"]
        for key in keys:
            section, _, name = key.rpartition(".")
            inner = properties if not section else properties[section].get("items", properties[section])["properties"]
            self.assertIn(name, inner, key)
        for path in sorted((ROOT / "configs/bench").rglob("*.yaml")):
            first = path.read_text().splitlines()[0]
            self.assertTrue(first.startswith("# yaml-language-server: $schema="), path)
            self.assertEqual((path.parent / first.partition("=")[2]).resolve(), ROOT / "configs/suite.schema.json", path)

    def test_every_data_source_is_listed_with_its_files(self):
        names = re.search(r"one of ([\w|]+)", run("list", "keys", "data.source").stdout)[1].split("|")
        text = run("list", "data").stdout
        self.assertEqual(re.findall(r"(?m)^(\w+) +\S", text), names)
        self.assertIn("Criteo's form", text)
        entries = json.loads(run("list", "data", "--json").stdout)
        self.assertEqual([entry["name"] for entry in entries], names)
        keys = {entry["key"] for entry in json.loads(run("list", "keys", "data", "--json").stdout)}
        for entry in entries:
            self.assertLessEqual(set(entry["keys"]), keys)
            self.assertIn(entry["help"], text)
        gives = {entry["name"]: entry["gives"] for entry in entries}
        self.assertEqual((gives["idx"], gives["criteo"], gives["text"]), (["image"], ["table"], ["tokens"]))
        self.assertEqual(gives["synthetic"], ["image", "clip", "text", "table", "tokens", "parallel", "video"])
        self.assertEqual(re.findall(r"(?m)^\| `(\w+)`", run("list", "data", "--markdown").stdout), names)

    def test_the_table_of_models_is_what_the_program_lists(self):
        document = (ROOT / "models/README.md").read_text()
        listed = run("list", "models", "--markdown").stdout
        table = re.search(r"(?ms)^\| `model.name`.*?\n(?!\|)", document + "\n")[0]
        self.assertEqual(table, listed, "models/README.md: ptrain list models --markdown")
        entries = json.loads(run("list", "models", "--json").stdout)
        self.assertEqual([entry["name"] for entry in entries], re.findall(r"(?m)^\| `(\w+)`", listed))
        text = run("list", "models").stdout
        for entry in entries:
            self.assertRegex(text, rf"(?m)^{entry['name']}$")

    def test_models_have_the_parameters_of_those_they_are_named_after(self):
        """As torchvision and transformers count them, and the arithmetic that `ptrain estimate` says."""
        entries = {entry["name"]: entry for entry in json.loads(run("list", "models", "--json").stdout)}
        known = {"resnet50": 25557032, "resnext50_32x4d": 25028904, "mobilenet_v2": 3504872,
                 "mobilenet_v3_large": 5483032, "efficientnet_b0": 5288548, "regnet_y_400mf": 4344144, "convnext_tiny": 28589128,
                 "vit_b_16": 86567656, "deit_small": 22050664, "vgg16": 138357544, "vgg16_bn": 138365992,
                 "bert": 109483778, "distilbert": 66955010, "gpt2": 124439808}
        self.assertEqual({name: entries[name]["parameters"] for name in known}, known)
        entry = entries["mobilenet_v2"]
        answer = run("estimate", ROOT / "configs/zoo/mobilenet_v2.yaml", "--json", "-o", "data.source=synthetic",
                     "-o", "device=cpu", "-o", f"model.classes={entry['classes']}",
                     "-o", f"data.image_size={entry['image_size']}", "-o", "data.batch_size=2", "-o", "amp.level=O0",
                     "-o", "eval.every_epochs=0")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        flops = json.loads(answer.stdout)["flops_per_sample"]
        self.assertAlmostEqual(flops / entry["flops_per_sample"], 1, 3)

    def test_json_is_asked_for_by_one_word(self):
        table = run("table", FROZEN, "--json")
        self.assertEqual(json.loads(table.stdout), json.loads(run("table", FROZEN, "--format", "json").stdout))

    def test_where_results_go_has_one_name(self):
        for command in (["run"], ["eval"], ["bench"], ["compare"], ["table"], ["export-report"], ["data", "pack"]):
            shown = run(*command, "--help").stdout
            self.assertIn("--out ", shown, command)
            self.assertNotIn("--output", shown.replace("--output-dir runs", ""), command)
        for name in ("--out", "--output-dir"):
            result = run("run", self.config, name, self.folder / name, "--progress", "none", "-o", "train.steps=2")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertTrue((self.folder / name / "report.json").exists())

    def test_every_wrong_configuration_names_file_line_and_key(self):
        files = sorted((ROOT / "tests/cli/bad_configs").glob("*.yaml"))
        self.assertGreaterEqual(len(files), 40)
        for file in files:
            with self.subTest(file.name):
                self.assert_one_line_error(run("validate", file), 2, file.name)

    def test_images_that_a_model_leaves_nothing_of(self):
        result = run("validate", self.config, "-o", "model.name=vgg16", "-o", "data.image_size=28")
        self.assert_one_line_error(result, 2, "data.image_size", "vgg16", "32 px", "28")

    def test_missing_data(self):
        vocabulary = self.folder / "vocab.txt"
        vocabulary.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n")
        result = self.train("out", "-o", "data.source=tsv", "-o", f"data.path={self.folder}", "-o", f"data.vocab={vocabulary}")
        self.assertIn(result.returncode, (1, 2))
        self.assert_one_line_error(result, result.returncode, str(self.folder))

    def labelled(self, *labels):
        """A folder of sentences with these labels, and the configuration that reads it."""
        rows = "".join(f"a a\t{label}\n" for label in labels * 8)
        for name in ("train.tsv", "dev.tsv"):
            (self.folder / name).write_text(f"sentence\tlabel\n{rows}")
        (self.folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n")
        return ["-o", "data.source=tsv", "-o", f"data.path={self.folder}", "-o", f"data.vocab={self.folder}/vocab.txt",
                "-o", "train.steps=8"]

    def test_validate_checks_data_vocabulary_and_weights(self):
        data = self.labelled("no", "yes")
        result = run("validate", self.config, *data)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("16 training and 16 evaluation samples, 2 classes", result.stdout)
        self.assert_one_line_error(run("validate", self.config, *data, "-o", "data.vocab=none.txt"), 1, "none.txt")
        self.assert_one_line_error(run("validate", self.config, *data, "-o", "data.path=nowhere"), 1, "nowhere")
        self.assert_one_line_error(run("validate", self.config, *data, "-o", "model.weights=none.safetensors"), 1,
                                   "none.safetensors")

    def test_another_number_of_classes_names_keys_and_labels(self):
        self.assert_one_line_error(self.train("out", *self.labelled("cat", "dog", "horse")), 2, "cat, dog, horse",
                                   "model.classes is 2")

    def test_classes_are_the_datas_unless_they_are_given(self):
        data = self.labelled("cat", "dog", "horse")
        result = self.train("out", *data, "-o", "model.classes=0")
        self.assertEqual(result.returncode, 0, result.stderr)
        report = self.report("out")
        self.assertEqual(report["config"]["model"]["classes"], 3)
        self.assertEqual(report["model"]["labels"], ["cat", "dog", "horse"])
        labels = json.loads((self.folder / "out/config.json").read_text())["id2label"]
        self.assertEqual(labels, {"0": "cat", "1": "dog", "2": "horse"})

    def test_a_folder_that_may_not_be_made_says_why(self):
        def become_another_user():
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(64999)
                os.setuid(64999)
        self.folder.chmod(0o555)
        result = self.train("out", preexec_fn=become_another_user)
        self.folder.chmod(0o755)
        self.assert_one_line_error(result, 1, f"cannot write in {self.folder}/out: Permission denied")

    def test_output_folder_that_cannot_be_written(self):
        result = run("run", self.config, "--out", "/proc/nowhere", "--progress", "none")
        self.assert_one_line_error(result, 1, "/proc/nowhere")

    def test_a_batch_that_cannot_fit_is_refused_by_the_plan(self):
        result = self.train("out", "-o", "data.batch_size=1000000", "-o", "data.synthetic_samples=2000000", "-o",
                            "model.size=large")
        self.assert_one_line_error(result, 1, "data.batch_size", "would fit")
        self.assertEqual(self.report("out")["status"], "oom")

    def test_divergence(self):
        result = self.train("out", "-o", "train.optimizer.name=sgd", "-o", "train.optimizer.lr=1000")
        self.assert_one_line_error(result, 3, "diverged")
        self.assertEqual(self.report("out")["status"], "diverged")

    def test_checkpoint_of_another_model(self):
        self.assertEqual(self.train("out", "-o", "train.steps=3").returncode, 0)
        result = self.train("out", "-o", "train.steps=6", "-o", "model.vocab_size=300", "--resume", "auto")
        self.assert_one_line_error(result, 1, "vocab=200", "vocab=300")

    def test_checkpoints_of_which_none_can_be_read_stay(self):
        self.assertEqual(self.train("out", "-o", "train.steps=3").returncode, 0)
        checkpoint = self.folder / "out/ckpt-3.safetensors"
        checkpoint.write_bytes(checkpoint.read_bytes()[:-1])
        result = self.train("out", "-o", "train.steps=6", "--resume", "auto")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("no checkpoint is left to go on from; --fresh", result.stderr)
        self.assertTrue(checkpoint.exists())
        self.assertEqual(self.train("out", "-o", "train.steps=6", "--fresh").returncode, 0)

    def test_a_report_in_place_of_a_folder_is_refused_at_once(self):
        result = self.train("out", "--report", self.folder)
        self.assert_one_line_error(result, 2, "output.report", "is a folder")

    def test_a_signal_leaves_report_and_checkpoint(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.subTest(number.name):
                output = self.folder / number.name
                process = subprocess.Popen(
                    [BINARY, "run", self.config, "--out", output, "--progress", "none", "-o", "train.steps=100000"],
                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                deadline = time.monotonic() + 60
                while not (output / "metrics.jsonl").exists() or not (output / "metrics.jsonl").read_text():
                    self.assertLess(time.monotonic(), deadline, "no step was trained")
                    time.sleep(0.02)
                self.assertEqual(threads_that_take(number, process.pid), 1)
                process.send_signal(number)
                _, errors = process.communicate(timeout=60)
                self.assertEqual(process.returncode, code, errors)
                self.assertIn("--resume auto", errors)
                self.assertEqual(self.report(number.name)["status"], "interrupted")
                self.assertTrue(list(output.glob("ckpt-*.safetensors")))


if __name__ == "__main__":
    unittest.main()
