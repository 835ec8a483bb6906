// Who launched this process, by the variables it left.
#include "core/comm/launch.h"

#include "tests/error_message.h"

#include <gtest/gtest.h>

#include <map>

namespace ptrain {
namespace {

using Environment = std::map<std::string, std::string>;

std::optional<Launch> detect(const Environment& environment) {
  return detect_launch([&](const char* name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    return found == environment.end() ? std::nullopt : std::optional(found->second);
  });
}

std::string refusal(const Environment& environment) {
  return get_error([&] { detect(environment); }, ExitCode::usage);
}

const Environment open_mpi{
    {"OMPI_COMM_WORLD_RANK", "5"}, {"OMPI_COMM_WORLD_SIZE", "8"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}};
const Environment torchrun{{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}};
const Environment paddle{{"PADDLE_TRAINER_ID", "5"}, {"PADDLE_TRAINERS_NUM", "8"}, {"PADDLE_RANK_IN_NODE", "1"}};
const Environment slurm{
    {"SLURM_PROCID", "5"}, {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_LOCALID", "1"}, {"SLURM_NTASKS", "8"}};
const Environment pmi{{"PMI_RANK", "5"}, {"PMI_SIZE", "8"}, {"MPI_LOCALRANKID", "1"}};

Environment both(const Environment& a, const Environment& b) {
  Environment all = a;
  all.insert(b.begin(), b.end());
  return all;
}

Environment replaced(const Environment& environment, const Environment& values) { return both(values, environment); }

TEST(Launch, IsReadFromEachLaunchersVariables) {
  for (const Environment& environment : {open_mpi, torchrun, paddle, slurm, pmi}) {
    const std::optional<Launch> launch = detect(environment);
    ASSERT_TRUE(launch) << environment.begin()->first;
    EXPECT_EQ(launch->rank, 5) << launch->source;
    EXPECT_EQ(launch->world_size, 8) << launch->source;
    EXPECT_EQ(launch->local_rank, 1) << launch->source;
  }
  EXPECT_TRUE(detect(open_mpi)->by_mpi);
  EXPECT_FALSE(detect(torchrun)->by_mpi);
}

TEST(Launch, IsNoneWithoutVariables) {
  EXPECT_FALSE(detect({}));
  EXPECT_FALSE(detect({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}})) << "a batch script is no srun task";
}

TEST(Launch, TakesLaunchersThatAgree) { EXPECT_EQ(detect(both(open_mpi, paddle))->rank, 5); }

TEST(Launch, SaysWhoDisagrees) {
  const Environment other = replaced(torchrun, {{"RANK", "4"}});
  const std::string message = refusal(both(open_mpi, other));
  EXPECT_NE(message.find("Open MPI says this is rank 5 of 8"), std::string::npos) << message;
  EXPECT_NE(message.find("torchrun says rank 4 of 8"), std::string::npos) << message;
  const Environment fewer = replaced(paddle, {{"PADDLE_TRAINERS_NUM", "6"}});
  EXPECT_NE(refusal(both(slurm, fewer)).find("Paddle"), std::string::npos);
}

TEST(Launch, LeavesSlurmsDaemonsToMpi) {
  const Environment daemon = replaced(slurm, {{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}});
  EXPECT_EQ(detect(both(open_mpi, daemon))->rank, 5);
}

TEST(Launch, RefusesValuesThatCannotBe) {
  EXPECT_NE(refusal({{"RANK", "two"}, {"WORLD_SIZE", "8"}}).find("RANK"), std::string::npos);
  EXPECT_NE(refusal({{"RANK", "-1"}, {"WORLD_SIZE", "8"}}).find("RANK"), std::string::npos);
  EXPECT_NE(refusal({{"RANK", "8"}, {"WORLD_SIZE", "8"}}).find("not below"), std::string::npos);
  EXPECT_NE(refusal({{"WORLD_SIZE", "8"}}).find("RANK is not set"), std::string::npos);
}

TEST(Launch, ComparesWithMpiItself) {
  EXPECT_NO_THROW(require_agreement(*detect(open_mpi), 5, 8));
  EXPECT_THROW(require_agreement(*detect(open_mpi), 4, 8), Error);
  const std::string message = get_error([] { require_agreement(*detect(torchrun), 0, 1); }, ExitCode::usage);
  EXPECT_NE(message.find("mpirun"), std::string::npos) << message;
}

}  // namespace
}  // namespace ptrain
