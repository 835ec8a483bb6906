"""Ranks that exchange by NCCL, on emulated GPUs: what is captured, joined and summed is what one GPU computes."""
import signal
import unittest

from test_distributed import RanksTest, has_mpi


@unittest.skipUnless(has_mpi(), "needs mpirun and a build with MPI")
class Nccl(RanksTest):
    CUDA = ["--device", "cuda", "-o", "flags.cudnn_exhaustive_search=false"]
    SHORT = ["-o", "train.steps=6", "-o", "eval.every_epochs=0", "-o", "output.save=false"]

    def train_on(self, gpus, output, *arguments, mpi=True):
        result = self.on_ranks(gpus, output, *self.CUDA, *self.SHORT, *arguments, mpi=mpi)
        self.assertEqual(result.returncode, 0, result.stderr)
        return self.losses(output)

    def test_a_world_of_one_is_no_distribution(self):
        for level in ("O0", "O1", "O2"):
            plain = self.train_on(1, f"plain-{level}", "--amp", level, mpi=False)
            self.assertEqual(self.train_on(1, f"nccl-{level}", "--amp", level), plain)
            self.assertEqual(self.report(f"nccl-{level}")["distributed"]["world_size"], 1)

    def test_two_train_what_one_trains(self):
        one = self.train_on(1, "one")
        for graphs in ("true", "false"):
            self.train_on(2, f"two-{graphs}", "-o", f"cuda_graphs={graphs}")
            self.assert_losses_agree(f"two-{graphs}", one)
            self.train_on(2, f"accumulated-{graphs}", "-o", f"cuda_graphs={graphs}", "-o", "data.batch_size=2",
                          "-o", "train.accumulate_steps=2")
            self.assert_losses_agree(f"accumulated-{graphs}", one)

    def test_sharded_optimizer_state_trains_the_same_bits(self):
        for level in ("O0", "O2"):
            options = ["--amp", level, "-o", "data.batch_size=4"]
            whole = self.train_on(2, f"whole-{level}", *options)
            self.assertEqual(self.train_on(2, f"sharded-{level}", *options, "-o", "dist.shard=optimizer"), whole)

    def test_a_rank_that_is_lost_ends_all(self):
        for by in (signal.SIGKILL, signal.SIGSTOP):
            for graphs in ("true", "false"):
                self.lose_a_rank(f"{by.name}-{graphs}", 1, by, 5, *self.CUDA, "-o", f"cuda_graphs={graphs}")


if __name__ == "__main__":
    unittest.main()
