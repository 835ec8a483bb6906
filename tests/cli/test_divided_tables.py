"""Tables whose rows the ranks divide: threads and processes alike, and runs that are killed, in all exchanges, and those that
grow.

PTRAIN_TABLE_KILLS says how many moments a run is killed at (default 30). What needs mpirun is skipped without it, and in
builds without MPI.
"""
import json
import os
import random
import signal
import struct
import subprocess
import time
import unittest

from program import get_figures, run
from test_distributed import RanksTest, environment, has_mpi

CLICKS = """\
model: {name: wide_deep, hash_buckets: 1001}
data: {source: synthetic, batch_size: 8, synthetic_samples: 100, workers: 1}
train:
  steps: 20
  optimizer: {name: adam, lr: 1.0e-3}
  schedule: {name: constant}
  log_every_steps: 1
eval: {every_steps: 10}
dist: {tables: rows, timeout_seconds: 6}
output: {dir: runs/tiny}
"""
LINKS = """\
ranks_per_node: 2
inside_node: {latency_us: 10, bandwidth_gb_s: 10}
between_nodes: {latency_us: 20, bandwidth_gb_s: 1}
"""
IN_ORDER = ["-o", "dist.reproducible=true"]
DELAYED = ["-o", "dist.updates=delayed"]
GROWING = ["-o", "model.dynamic_table=true"]
EXCHANGES = {"all_to_all": [], "delayed": DELAYED, "in_order": IN_ORDER, "growing": GROWING,
             "growing_delayed": GROWING + DELAYED}


class TablesTest(RanksTest):
    def setUp(self):
        super().setUp()
        self.config = self.folder / "clicks.yaml"
        self.config.write_text(CLICKS)

    def train_on(self, ranks, output, *options, **how):
        result = self.on_ranks(ranks, output, *options, **how)
        self.assertEqual(result.returncode, 0, result.stderr)

    def saved_step(self, output):
        """The step of the last checkpoint that is complete; 0: there is none."""
        files = (self.folder / output).glob("ckpt-*.safetensors")
        return max((int(file.stem.removeprefix("ckpt-")) for file in files), default=0)


class Estimates(TablesTest):
    def estimate(self, *arguments, json_output=True):
        answer = run("estimate", self.config, *arguments, *(["--json"] if json_output else []))
        self.assertEqual(answer.returncode, 0, answer.stderr)
        return json.loads(answer.stdout) if json_output else answer.stdout

    def test_of_more_ranks_say_what_tables_exchange(self):
        links = self.folder / "links.yaml"
        links.write_text(LINKS)
        self.train_on(1, "one")
        scaling = ["--ranks", "1,2,4", "--links", links, "--measured", self.folder / "one/report.json"]
        one, two, four = self.estimate(*scaling)
        ids = 8 * 26
        different = 1002 * (1 - (1 - 1 / 1002) ** ids)  # a row more than hash_buckets: each of 2 ranks has as many
        self.assertAlmostEqual(two["tables"]["different_ids"], different)
        self.assertEqual(one["tables"]["row_bytes"], 0)
        self.assertAlmostEqual(two["tables"]["id_bytes"], different * 4 / 2)
        self.assertAlmostEqual(two["tables"]["row_bytes"], different * 4 * (1 + 9) / 2)
        self.assertAlmostEqual(two["tables"]["gradient_bytes"], two["tables"]["row_bytes"])
        sent = 8 + sum(two["tables"][part] for part in ("id_bytes", "row_bytes", "gradient_bytes"))
        self.assertAlmostEqual(two["tables"]["exchange_ms"], 4 * 10e-3 + sent / 10e6)
        self.assertGreater(four["tables"]["exchange_ms"], 4 * (10 + 2 * 20) * 1e-3)
        self.assertIn("2 ranks: of 208 ids in a rank's batch at most 188 differ", self.estimate(*scaling, json_output=False))
        self.assertNotIn("tables", self.estimate(*scaling, *IN_ORDER)[1])
        skewed, slow = self.estimate(*scaling, "--zipf", 1.1)[1], self.estimate(*scaling, "--straggler", 2)[1]
        self.assertLess(skewed["tables"]["different_ids"], different)
        self.assertGreater(skewed["tables"]["busiest"], two["tables"]["busiest"])
        self.assertIn("the busiest rank 1.", self.estimate(*scaling, "--zipf", 1.1, json_output=False))
        self.assertGreater(slow["step_ms"], 1.5 * two["step_ms"])
        self.assert_one_line_error(run("estimate", self.config, *scaling, "--straggler", 0.5), 2, "--straggler")
        for option in (["--zipf", 1], ["--straggler", 2], scaling[2:4]):
            self.assert_one_line_error(run("estimate", self.config, *option), 2, f"{option[0]} requires --ranks")

    def test_have_the_activations_that_the_exchange_adds(self):
        alone = self.estimate("-o", "data.batch_size=512")["memory"]
        ranks = self.estimate("-o", "data.batch_size=512", "-o", "dist.ranks=4")["memory"]
        more = {name: ranks[f"{name}_bytes"] - alone[f"{name}_bytes"] for name in ("variable", "activation")}
        self.assertGreater(more["activation"], 0)
        self.assertLess(more["variable"], 0)


class DelayedUpdates(TablesTest):
    def test_hide_the_exchange_in_predictions(self):
        """0.5 MB of gradients, 8 ms on these links, and the tables' take less than a step of 1 s."""
        (self.folder / "links.yaml").write_text(LINKS)
        (self.folder / "one.json").write_text(json.dumps({"latency_ms": {"step": {"mean": 1000, "stdev": 0}}}))
        predicted = {}
        for name, options in (("synchronous", []), ("delayed", DELAYED)):
            answer = run("estimate", self.config, "--ranks", "4", "--links", self.folder / "links.yaml", "--measured",
                         self.folder / "one.json", "--json", *options)
            self.assertEqual(answer.returncode, 0, answer.stderr)
            predicted[name] = json.loads(answer.stdout)[0]
        self.assertGreater(predicted["synchronous"]["exposed_ms"], 0.9 * predicted["synchronous"]["exchange_ms"])
        self.assertLess(predicted["delayed"]["exposed_ms"], 0.1 * predicted["synchronous"]["exposed_ms"])

    def test_cost_little_accuracy(self):
        options = ["-o", "data.synthetic_samples=4000", "-o", "train.steps=400", "-o", "eval.every_steps=400",
                   "-o", "train.optimizer.lr=0.003"]
        auc = {}
        for name, more in (("synchronous", []), ("delayed", DELAYED)):
            self.train_on(2, name, *options, *more, batch=32)
            auc[name] = self.report(name)["evaluation"]["metrics"]["auc"]["value"]
        self.assertGreater(auc["synchronous"], 0.6)
        self.assertGreater(auc["delayed"], auc["synchronous"] - 0.02)

    def test_are_refused_where_they_are_not_defined(self):
        for option, expected in (("dist.shard=optimizer", "dist.updates: expected synchronous: dist.shard divides"),
                                 ("dist.reproducible=true", "dist.updates: expected synchronous: dist.reproducible has"),
                                 ("dist.tables=replicated", "dist.tables: expected rows with dist.updates delayed")):
            result = self.on_ranks(2, "refused", *DELAYED, "-o", option)
            self.assertEqual(result.returncode, 2, option)
            self.assertIn(expected, result.stderr)
            self.assertFalse((self.folder / "refused").exists(), option)


class Growing(TablesTest):
    def read_rows(self, folder):
        """The embedding rows of the weights file in a folder, by their keys."""
        data = (self.folder / folder / "model.safetensors").read_bytes()
        start = 8 + int.from_bytes(data[:8], "little")
        tensors = json.loads(data[8:start])
        values = {name: data[slice(*(start + at for at in tensors[name]["data_offsets"]))]
                  for name in ("row_index.keys", "deep.words.weight")}
        count = len(values["row_index.keys"]) // 8
        keys = struct.unpack(f"<{count}q", values["row_index.keys"])
        floats = struct.unpack(f"<{count * 9}f", values["deep.words.weight"])
        return {key: floats[9 * row:9 * row + 9] for row, key in enumerate(keys)}

    def test_ranks_have_the_rows_of_one(self):
        for ranks in (1, 2, 4):
            self.train_on(ranks, f"on-{ranks}", *GROWING)
        rows = self.read_rows("on-1")
        self.assertGreater(len(rows), 400)
        for ranks in (2, 4):
            output = f"on-{ranks}"
            self.assert_losses_agree(output, self.losses("on-1"))
            own = self.read_rows(output)
            self.assertEqual(own.keys(), rows.keys())
            for key, row in rows.items():
                for value, other in zip(own[key], row):
                    self.assertAlmostEqual(value, other, places=4)
            tables = [self.report(name)["model"]["table"] for name in (output, "on-1")]
            self.assertEqual(*tables)
        model = self.folder / "copy"
        self.assertEqual(run("export", self.folder / "on-2", "--out", model).returncode, 0)
        self.assertEqual(self.read_rows("copy"), self.read_rows("on-2"))
        scores = [get_figures(self.report(name)) for name in ("on-1", "on-2")]
        weights = f"model.weights={self.folder / 'on-2/model.safetensors'}"
        again = run("eval", self.config, *GROWING, "-o", weights, "--out", self.folder / "again", "--progress", "none")
        self.assertEqual(again.returncode, 0, again.stderr)
        scores.append(get_figures(self.report("again")))
        for score in scores[1:]:
            self.assertAlmostEqual(score["auc"], scores[0]["auc"], places=4)

    def test_they_resume_on_other_numbers_of_ranks(self):
        options = [*GROWING, "-o", "eval.every_steps=0", "-o", "model.admit_after=2"]
        rows = []
        for steps, ranks in ((8, 2), (12, 3), (16, 1)):
            self.train_on(ranks, "parts", *options, "-o", f"train.steps={steps}", "--resume", "auto", batch=12)
            if ranks != 2:
                self.assertIn(f"ckpt-{steps - 4}.", self.report("parts")["progress"]["resumed_from"])
            table = self.report("parts")["model"]["table"]
            self.assertEqual(len(self.read_rows("parts")), table["rows"])
            rows.append(table["rows"])
        self.assertEqual(sorted(rows), rows)
        self.assertGreater(rows[0], 50)

    def test_a_share_that_is_full_ends_all(self):
        full = self.on_ranks(2, "full", *GROWING, "-o", "model.hash_buckets=100")
        self.assertEqual(full.returncode, 1, full.stderr)
        self.assertIn("share of 100 rows (model.hash_buckets)", full.stderr)

    def test_may_have_more_rows_than_32_bits_number(self):
        large = [*GROWING, "-o", "model.hash_buckets=10000000000"]
        answer = run("estimate", self.config, *large, "-o", "dist.ranks=100", "--json")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        rows = 10**8 + 2 * 10**6 + 1024
        row = (1 + 9) * 3 * 4 + 8  # of two tables, two moments and the key
        self.assertAlmostEqual(json.loads(answer.stdout)["memory"]["variable_bytes"], rows * row + 2**28 * 4, delta=2**23)
        self.train_on(1, "one", *GROWING)
        links = self.folder / "links.yaml"
        links.write_text(LINKS)
        scaling = ["--ranks", "100", "--links", links, "--measured", self.folder / "one/report.json"]
        scaled = json.loads(run("estimate", self.config, *large, "-o", "dist.ranks=100", *scaling, "--json").stdout)[0]
        self.assertAlmostEqual(scaled["tables"]["different_ids"], 8 * 26, places=3)
        self.assertAlmostEqual(scaled["tables"]["id_bytes"], 8 * 26 * 8 * 0.99, delta=0.1)
        few = run("validate", self.config, *large, "-o", "dist.ranks=4")
        self.assertEqual(few.returncode, 2)
        self.assertIn("model.hash_buckets: 10000000000 are 2550001024 for each of dist.ranks 4", few.stderr)

    def test_what_ranks_cannot_do_is_refused(self):
        for option, message in (("dist.tables=replicated", "dist.tables: expected rows with model.dynamic_table"),
                                ("dist.reproducible=true", "dist.reproducible: expected false with model.dynamic_table")):
            refused = run("validate", self.config, *GROWING, "-o", "dist.ranks=2", "-o", option)
            self.assertEqual(refused.returncode, 2)
            self.assertIn(message, refused.stderr)
        accepted = run("validate", self.config, *GROWING, "-o", "dist.ranks=2", "-o", "output.whole_checkpoint_every=4")
        self.assertNotIn("whole_checkpoint_every", accepted.stderr)


class Killed(TablesTest):
    def start(self, output, *options):
        command = self.command(output, "-o", "train.steps=300", "-o", "output.checkpoint_every_steps=3", "-o",
                               "data.batch_size=16", "-o", "data.synthetic_samples=1000", "-o", "eval.every_steps=0",
                               "-o", "dist.ranks=2", "--resume", "auto", *options)
        launched = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                    text=True, env=environment())
        self.addCleanup(launched.kill)
        return launched

    def finish(self, output, *options):
        launched = self.start(output, *options)
        _, errors = launched.communicate(timeout=120)
        self.assertEqual(launched.returncode, 0, errors)

    def logged_steps(self, output):
        log = self.folder / output / "metrics.jsonl"
        return log.read_text().count("\n") if log.exists() else 0

    def kill_at(self, moment, output, *options):
        """Kills the run, after some more steps or at any time; whether it was still running then."""
        launched = self.start(output, *options)
        if moment.random() < 0.5:
            goal = self.logged_steps(output) + moment.randrange(1, 8)
            while launched.poll() is None and self.logged_steps(output) < goal:
                time.sleep(0.002)
        time.sleep(moment.uniform(0, 0.3))
        was_running = launched.poll() is None
        launched.send_signal(signal.SIGKILL)
        launched.communicate()
        return was_running

    def test_runs_that_are_killed_at_many_moments_lose_nothing_that_was_saved(self):
        kills = int(os.environ.get("PTRAIN_TABLE_KILLS", "30"))
        moment = random.Random(7)
        for name, options in EXCHANGES.items():
            whole = f"whole-{name}"
            self.finish(whole, *options)
            for run in range(2):
                output, saved = f"killed-{name}-{run}", 0
                for _ in range(kills // (2 * len(EXCHANGES))):
                    self.assertTrue(self.kill_at(moment, output, *options))
                    self.assertGreaterEqual(self.saved_step(output), saved)
                    saved = self.saved_step(output)
                self.assertGreater(saved, 0)
                self.finish(output, *options)
                self.assertIn(f"ckpt-{saved}.", self.report(output)["progress"]["resumed_from"])
                self.assertEqual(self.losses(output), self.losses(whole))
                self.assertEqual(self.weights(output), self.weights(whole))


@unittest.skipUnless(has_mpi(), "needs mpirun and a build with MPI")
class Processes(TablesTest):
    def test_processes_divide_tables_as_threads_do(self):
        for ranks in (2, 4):
            for name, options in EXCHANGES.items():
                threads, processes = f"threads-{name}-{ranks}", f"processes-{name}-{ranks}"
                self.train_on(ranks, threads, *options)
                self.train_on(ranks, processes, *options, mpi=True)
                self.assertEqual(self.losses(processes), self.losses(threads))
                self.assertEqual(self.weights(processes), self.weights(threads))
            whole = f"replicated-{ranks}"
            self.train_on(ranks, whole, *IN_ORDER, "-o", "dist.tables=replicated", mpi=True)
            self.assertEqual(self.losses(f"processes-in_order-{ranks}"), self.losses(whole))
            self.assertEqual(self.weights(f"processes-in_order-{ranks}"), self.weights(whole))
            self.assert_losses_agree(f"processes-all_to_all-{ranks}", self.losses(whole))

    def test_a_process_killed_in_an_exchange_ends_all(self):
        """The others then wait in an exchange of rows."""
        for lost in (0, 2):
            self.lose_a_rank(f"killed{lost}", lost, signal.SIGKILL, 8, "-o", "data.batch_size=64", "-o",
                             "data.synthetic_samples=100000")

    def test_processes_that_are_killed_resume_on_another_number(self):
        self.lose_a_rank("killed", 1, signal.SIGKILL, 12, "-o", "eval.every_steps=0")
        saved = self.saved_step("killed")
        again = self.start("killed", "--resume", "auto", "-o", "data.batch_size=6", "-o", "eval.every_steps=0", ranks=2,
                           steps=saved + 5)
        _, errors = again.communicate(timeout=120)
        self.assertEqual(again.returncode, 0, errors)
        whole = self.start("whole", "-o", "eval.every_steps=0", ranks=3, steps=saved + 5)
        whole.communicate(timeout=120)
        self.assert_losses_agree("killed", self.losses("whole"))


if __name__ == "__main__":
    unittest.main()
