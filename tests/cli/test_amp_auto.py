"""amp.level auto: what doctor measures decides, every command takes it, and the report says why."""
import json
import os
import shutil
import tempfile
import unittest

from program import ProgramTest, run


class AmpAuto(ProgramTest):
    @classmethod
    def setUpClass(cls):
        """The doctor measures once for all tests."""
        holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(holder.cleanup)
        cls.measured = holder.name
        cls.doctor = run("doctor", "--json", env={**os.environ, "PTRAIN_CACHE_DIR": cls.measured})

    def setUp(self):
        super().setUp()
        shutil.copytree(self.measured, self.folder / "cache")
        self.environment = {**os.environ, "PTRAIN_CACHE_DIR": str(self.folder / "cache")}

    def rates_file(self):
        (file,) = (self.folder / "cache").glob("rates-*.json")
        return file

    def auto(self, output, *arguments):
        result = self.train(output, "--amp", "auto", "-o", "train.steps=2", *arguments, env=self.environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        return self.report(output)

    def test_a_run_follows_the_doctors_figures(self):
        self.assertEqual(self.doctor.returncode, 0, self.doctor.stderr)
        found = json.loads(self.doctor.stdout)
        self.assertGreater(found["rates"]["fp32"]["product"], 0)
        self.assertGreater(found["rates"]["memory_bandwidth"], 0)
        report = self.auto("out")
        self.assertEqual(report["amp"]["level"], found["amp"]["text"]["level"])
        self.assertEqual(report["amp"]["requested"], "auto")
        self.assertEqual(report["amp"]["reason"], found["amp"]["text"]["reason"])
        self.assertTrue(any(report["amp"]["reason"] in note for note in report["notes"]), report["notes"])
        self.assertEqual(report["environment"]["rates"], found["rates"])
        self.assertEqual(report["config"]["amp"]["level"], report["amp"]["level"])

    def test_the_choice_changes_with_the_figures(self):
        for gain, level in ((0.5, "O0"), (2, "O1")):
            known = json.loads(self.rates_file().read_text())
            known["rates"]["bf16"]["product_one_thread"] = gain * known["rates"]["fp32"]["product_one_thread"]
            known["rates"]["fp16"]["product"] = known["rates"]["fp16"]["product_one_thread"] = None
            self.rates_file().write_text(json.dumps(known))
            report = self.auto(level)
            self.assertEqual(report["amp"]["level"], level)
            self.assertIn(f"{gain:.2f} of fp32's rate", report["amp"]["reason"])
            self.assertEqual(self.auto(level + "2", "-o", "dist.ranks=1")["config_hash"], report["config_hash"])

    def test_a_cache_that_is_broken_is_measured_anew(self):
        self.rates_file().write_text("{")
        self.assertGreater(self.auto("second")["environment"]["rates"]["fp32"]["product"], 0)

    def test_a_resumed_run_keeps_the_level(self):
        self.auto("out", "-o", "output.checkpoint_every_steps=1")
        known = json.loads(self.rates_file().read_text())
        fp32 = known["rates"]["fp32"]["product_one_thread"]
        before = self.report("out")["amp"]["level"]
        known["rates"]["bf16"]["product_one_thread"] = (2 if before == "O0" else 0.1) * fp32
        known["rates"]["fp16"]["product_one_thread"] = 0.1 * fp32
        self.rates_file().write_text(json.dumps(known))
        report = self.auto("out", "--resume", "auto", "-o", "train.steps=4")
        self.assertEqual((report["amp"]["level"], report["amp"]["reason"]), (before, "the checkpoint's"))
        self.assertEqual(report["progress"]["steps"], 4)

    def test_ranks_agree(self):
        report = self.auto("out", "-o", "dist.ranks=2", "-o", "data.batch_size=4")
        self.assertEqual(report["distributed"]["world_size"], 2)

    def test_every_command_takes_it(self):
        validated = run("validate", self.config, "--amp", "auto", "--json", env=self.environment)
        self.assertEqual(json.loads(validated.stdout)["amp"]["level"], "auto")
        planned = run("estimate", self.config, "--amp", "auto", "--json", env=self.environment)
        self.assertIn(json.loads(planned.stdout)["amp"]["level"], ("O0", "O1"))


if __name__ == "__main__":
    unittest.main()
