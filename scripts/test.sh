#!/usr/bin/env bash
# Installs dependencies, builds, and runs every test. Ends with ctest's summary of all tests.
# If nvcc is installed, the CUDA build is compiled too; its tests run on a GPU if there is one, else on emulated
# libraries.
#   --asan  also builds with the address and undefined-behaviour sanitizers and runs the unit and op tests there
#   --fuzz  also runs each fuzz target for a fixed number of inputs (20000, 4000 of slow ones)
#   --tsan  also builds with the thread sanitizer and trains there on two ranks, once to a signal, and serves (minutes)
#   --tidy  also runs clang-tidy over the sources, and codespell over all text
#   --share  of what takes long and seldom finds anything, an eighth alone, by the number of commits: of the sources for
#           clang-tidy, and the steps that `is_due SHARES` begins with one of its shares
#   --clients  also tries other people's clients and readers (Triton's, KServe's, Slurm, promtool, ...), where they install
# While working, instead of all that:
#   --op NAME       builds what tests/ops/.../NAME_test.cpp needs and nothing else, and runs its cases: --op conv2d
#   --only PATTERN  builds the release preset and runs the tests whose names match: --only 'cli.table|source'
set -euo pipefail
. "$(dirname "$0")/usage.sh"
cd "$(dirname "$0")/.."

asan=0 fuzz=0 tsan=0 tidy=0 clients=OFF op='' only='' share=0
while (($#)); do
  case "$1" in
    --asan) asan=1 ;;
    --fuzz) fuzz=1 ;;
    --tsan) tsan=1 ;;
    --tidy) tidy=1 ;;
    --clients) clients=ON ;;
    --share) share=1 ;;
    --op | --only)
      (($# > 1)) || refuse
      if [[ $1 == --op ]]; then op=$2; else only=$2; fi
      shift
      ;;
    *) refuse ;;
  esac
  shift
done
shares=1 turn=0
if ((share)); then
  shares=8
  turn=$(($(git rev-list --count HEAD) % shares)) # of a commit, so that what failed fails again
fi
# is_due SHARES...: whether this commit's share is one of them, of 0 to 7.
is_due() { ((!share)) || [[ " $* " == *" $turn "* ]]; }
variants=OFF
if is_due 3; then variants=ON; fi
# The tests that run with sanitizers, as PROGRAM HALF: of what reads and reports, of what trains and infers, of all other
# libraries, and of the operators.
sanitized=()
for folder in tests/unit/*/; do
  library=$(basename "$folder")
  case "$library" in
    base | config | io | data | report | analysis | bench) part=1 ;;
    runtime | train | infer) part=5 ;;
    *) part=3 ;;
  esac
  if is_due $part; then sanitized+=("unit_$library 0" "unit_$library 1"); fi
done
if is_due 7; then sanitized+=("ops_test 0" "ops_test 1"); fi
jobs=$(nproc)
: "${CUDAARCHS:=80-virtual}" # PTX alone: quick to compile, and every GPU from compute capability 8.0 on can run it
export CUDAARCHS
export OMP_WAIT_POLICY=passive # tests share the cores: a thread that waits leaves its core to those that compute
formatter=14 # the clang-format version of the sources; other versions differ in detail

step() { printf '\n== %s (after %s s)\n' "$1" "$SECONDS"; }

# run_half PROGRAM HALF: runs every other case from HALF (0 or 1) on in one process, in half the time of one process per
# case.
run_half() {
  local output begin=$SECONDS
  output=$(GTEST_TOTAL_SHARDS=2 GTEST_SHARD_INDEX=$2 "$1" --gtest_brief=1 2>&1) || { echo "$output" && return 1; }
  echo "$1: $(grep -F PASSED <<<"$output") $((SECONDS - begin)) s"
}

check_format() {
  if ! clang-format --version | grep -q "version $formatter\."; then
    echo "skipped: needs clang-format $formatter"
    return
  fi
  git ls-files -z '*.h' '*.cpp' '*.cu' '*.cuh' | xargs -0 clang-format --dry-run -Werror
}

# test_op NAME: a build folder of its own, whose libraries are compiled twenty sources at once: it begins with nothing.
test_op() {
  local known
  known=$(find tests/ops -name '*_test.cpp' -printf '%f\n' | sed 's/_test.cpp$//' | sort)
  if ! grep -qx -- "$1" <<<"$known"; then
    echo "no tests/ops/.../$1_test.cpp; there are: ${known//$'\n'/ }" >&2
    exit 2
  fi
  cmake --preset dev -B build/op -DPTRAIN_UNITY=ON >/dev/null
  cmake --build build/op --parallel "$jobs" --target "op_$1"
  export -f run_half
  # shellcheck disable=SC2016
  printf '%s\n' 0 1 | xargs -P "$jobs" -I '{}' bash -c 'run_half "$1" "$2"' - "build/op/bin/op_$1" '{}'
}

if [[ -n $op ]]; then
  test_op "$op"
  exit
fi
if [[ -n $only ]]; then
  cmake --preset release -DPTRAIN_TESTS=ON
  cmake --build build/release --parallel "$jobs"
  ctest --test-dir build/release --parallel "$jobs" --output-on-failure --no-tests=error -R "$only"
  exit
fi

step "packages"
scripts/install_deps.sh --dev
step "format"
check_format
if ((tidy)); then
  step "spelling"
  git ls-files -z | xargs -0 codespell # .codespellrc has the words that it is to pass
fi
step "release build"
cmake --preset release -DPTRAIN_TESTS=ON -DPTRAIN_TEST_VARIANTS=$variants -DPTRAIN_TEST_CLIENTS=$clients
cmake --build build/release --parallel "$jobs"
if ((fuzz)) && is_due 1; then
  step "fuzz targets"
  cmake --preset asan
  cmake --build build/asan --parallel "$jobs" --target tests/fuzz/all
  cmake --build build/asan --target fuzz_run
fi
if ((asan && ${#sanitized[@]})); then
  mapfile -t programs < <(printf '%s\n' "${sanitized[@]% *}" | sort -u)
  step "sanitizers: ${programs[*]}"
  cmake --preset asan
  cmake --build build/asan --parallel "$jobs" --target "${programs[@]}"
  # The largest first. Excludes runs of many steps that compare losses, and hundreds of random samples: shorter tests
  # run the same code.
  export -f run_half
  export LSAN_OPTIONS=suppressions=$PWD/tests/lsan_suppressions.txt:print_suppressions=0
  GTEST_FILTER='-DataParallel.Losses*:DataParallel.Reproducible*:DataParallel.Resumes*:Phases.Resume*:Mix.*Resumes'
  GTEST_FILTER+=':Mix.Learns*:Evaluator.GivesAnImageAndItsMirrorImage*:Effects.*CoverTheTruth*'
  GTEST_FILTER+=':ParameterGroupsTraining.AScaledRate*:ParameterGroupsTraining.AGroupsDecay*:Training.BertLearns*'
  GTEST_FILTER+=':ParameterGroupsTraining.UpdatesMadeEarly*:PackedText.DropoutLearns*:Training.ResNetLearns*'
  GTEST_FILTER+=':Training.TheMemoryPlan*:Weights.OfTheBodyAlone*:Deployment.NetworksWithLayerNorms*:Deployment.ResNets*'
  export GTEST_FILTER
  # shellcheck disable=SC2016
  (cd build/asan/bin && for test in "${sanitized[@]}"; do echo "$(stat -c %s "${test% *}") $test"; done) | sort -rn |
    cut -d ' ' -f 2- | xargs -n 2 -P "$jobs" bash -c 'run_half "build/asan/bin/$1" "$2"' -
  unset GTEST_FILTER LSAN_OPTIONS
fi
if ((tidy)); then
  step "clang-tidy, a share of 1/$shares"
  # The sources as clang compiles them, twenty at once. Without CUDA, or without MPI, stubs replace some.
  cmake --preset asan
  cmake --build build/asan --parallel "$jobs" --target ptrain_headers ptrain_commit
  # Headers are parsed again for each source, so core/cpu's sources are combined twenty at a time too.
  sed -n 's/^ *"file": "\(.*\)",\{0,1\}$/\1/p' build/asan/compile_commands.json | sort -u |
    grep -E "/(core|models|cli)/|/cpu_syntax.dir/" | grep -vE "/core/cpu/|/tests/(unit|ops)/" |
    awk -v share=$turn -v of=$shares 'NR % of == share' |
    xargs -n 1 -P "$jobs" clang-tidy --quiet -p build/asan
fi
if ((tsan)); then
  step "thread sanitizer: ranks, loaders, signals, serving"
  cmake --preset tsan
  cmake --build build/tsan --parallel "$jobs" --target ptrain unit_comm
  # One thread per team: the sanitizer does not know libgomp's barriers. Without address randomisation, if permitted:
  # the sanitizer needs fixed addresses.
  watched=(env OMP_NUM_THREADS=1 "TSAN_OPTIONS=exitcode=66 suppressions=$PWD/tests/tsan_suppressions.txt")
  if setarch -R true 2>/dev/null; then watched=(setarch -R "${watched[@]}"); fi
  "${watched[@]}" build/tsan/bin/unit_comm
  runs=$(mktemp -d)
  train=("${watched[@]}" build/tsan/bin/ptrain run configs/quick/bert_synthetic.yaml -o threads=2 -o dist.ranks=2
    -o data.workers=2 --progress none)
  "${train[@]}" -o train.steps=10 --out "$runs/whole"
  "${train[@]}" -o train.steps=1000000 --out "$runs/ended" &
  until grep -qs '"loss"' "$runs/ended/metrics.jsonl"; do
    kill -0 $! || break
    sleep 1
  done
  kill -TERM $! || true
  code=0
  wait $! || code=$?
  ((code == 143)) || { echo "expected an end by SIGTERM without a race, got exit code $code"; exit 1; }
  grep -q '"interrupted"' "$runs/ended/report.json"
  rm -r "$runs"
  (cd tests/cli && PTRAIN_BIN=$OLDPWD/build/tsan/bin/ptrain "${watched[@]}" python3 -m unittest test_serve)
fi
# build_cuda TARGETS...: of the preset cuda.
build_cuda() {
  scripts/install_deps.sh --cuda
  cmake --preset cuda
  cmake --build build/cuda --parallel "$jobs" --target "$@"
}
test_cuda() { ctest --test-dir build/cuda --parallel "$jobs" --output-on-failure --progress "$@"; }

if command -v nvcc >/dev/null || [[ -x /usr/local/cuda/bin/nvcc ]]; then
  if is_due 0 4; then
    step "CUDA, as nvcc compiles it"
    build_cuda ptrain libptrain device_test cuda_registry_test plans_test
    seldom=()
    if ! is_due 4; then seldom=(-E kernel_resources); fi
    test_cuda -L cuda -LE emulated "${seldom[@]}"
  fi
  if is_due 2; then
    step "CUDA on emulated libraries: training and the program"
    build_cuda emulated_device_test emulated_ptrain
    test_cuda -L emulated -R 'DeviceTraining|emulated_'
  fi
  if is_due 6; then
    step "CUDA on emulated libraries: operators, networks, what runs on a new GPU"
    build_cuda emulated_device_test emulated_ptrain checked_device_test
    test_cuda -L emulated -E 'DeviceTraining|emulated_'
  fi
fi
step "all tests"
skipped=()
if ! is_due 5; then skipped+=(-LE '^packages$'); fi
if ((share)); then
  # Three quarters of the long tests, of four commits in a row others each: which, their place among all of them says.
  others=$(ctest --test-dir build/release -N -L '^long$' | sed -n 's/^ *Test *#[0-9]*: //p' |
    awk -v turn=$turn 'NR % 4 != turn % 4' | sed 's/\./\\./g' | paste -sd '|')
  skipped+=(-E "^($others)\$")
fi
ctest --test-dir build/release "${skipped[@]}" --parallel "$jobs" --output-on-failure
