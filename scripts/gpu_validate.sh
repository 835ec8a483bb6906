#!/usr/bin/env bash
# Validates ptrain on an NVIDIA GPU, without a network, from the folder that scripts/package.sh makes or from the source tree.
#   gpu_validate.sh --part fast|search|peers [--out DIR] [--minutes N] [--cache ARCHIVE] [--tiny]
# Each part takes at most ten minutes, does what is worth most first, and leaves DIR/PART.tar.gz: reports, logs and what
# searches chose and compiled, also when it is stopped (SIGTERM, SIGINT) or its time is over.
#   fast    doctor, and cuDNN's description of the GPU; ResNet-50 224 px and BERT-base 128 in O1 and O2 without search; short device tests; times by op;
#           bf16; BERT-large 384; inference of the first two; out of memory
#   search  exhaustive search; fusion; persistent batch norm on and off; both flags at every level; packed sequences
#   peers   the same work in ptrain and PyTorch, eager, then compiled (python3 with torch, torchvision, transformers);
#           compute-sanitizer on short device tests
#   --minutes N       the part's time (fast 8.5, search and peers 9.5)
#   --cache ARCHIVE   begin with what an earlier part's archive holds of searches and compiled plans
#   --tiny            small models, few steps and no limits but N, to try this script
# DIR is results/<gpu>. Environment: PTRAIN_BUILD, the build folder (build/cuda); PTRAIN_PROGRAM and PTRAIN_DEVICE_TEST,
# other programs than that folder's; PTRAIN_PYTHON, the Python for the peers.
set -uo pipefail
root=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
. "$root/scripts/usage.sh"
cd "$root" || exit 1

part='' out='' minutes='' cache='' tiny=0
while (($#)); do
  case "$1" in
    --part | --out | --minutes | --cache)
      (($# > 1)) || refuse
      printf -v "${1#--}" %s "$2"
      shift
      ;;
    --tiny) tiny=1 ;;
    *) refuse ;;
  esac
  shift
done
case "$part" in
  fast) seconds=510 ;;
  search | peers) seconds=570 ;;
  *) refuse ;;
esac
((tiny)) && seconds=3000
[[ -z $minutes ]] || seconds=$(awk -v m="$minutes" 'BEGIN { printf "%d", 60 * m }')

# shellcheck source=scripts/cuda_paths.sh
. scripts/cuda_paths.sh
bin=$root/bin
[[ -x $bin/ptrain ]] || bin=${PTRAIN_BUILD:-$root/build/cuda}/bin
ptrain=${PTRAIN_PROGRAM:-$bin/ptrain} device_test=${PTRAIN_DEVICE_TEST:-$bin/device_test} python=${PTRAIN_PYTHON:-python3}
export PTRAIN_SOURCE_DIR=$root # the goldens of device_test
if [[ -z $out ]]; then
  gpu=$(nvidia-smi --id=0 --query-gpu=name --format=csv,noheader 2>/dev/null | tr 'A-Z ' 'a-z-')
  out=results/${gpu:-no-gpu}
fi
mkdir -p "$out" || exit 1
out=$(cd "$out" && pwd)
export PTRAIN_CACHE_DIR=$out/cache
if [[ -n $cache ]]; then tar -C "$out" -xzf "$cache" ./cache || exit 1; fi
work=$(mktemp -d)
failed=() skipped=() running=0 stopped=''
deadline=$((SECONDS + seconds - 15)) # leaves time for packing

pack() {
  # Packs a copy, since the folder changes meanwhile; status 1 (a file changed while it was read) is accepted.
  tar -C "$out" --exclude='*.tar.gz' -czf "$work/$part.tar.gz" . || (($? == 1)) || return
  mv "$work/$part.tar.gz" "$out/$part.tar.gz"
  rm -rf "$work"
  echo "$out/$part.tar.gz"
}
trap pack EXIT
# Ends the program, which still writes a report if it can; nothing starts after it. By SIGTERM: what a script starts in
# the background ignores SIGINT.
stop() {
  stopped=$1
  ((running)) && kill -TERM "$running" 2>/dev/null
}
trap 'stop TERM' TERM
trap 'stop INT' INT

# limited SECONDS COMMAND...: runs it for at most that long, and at most for the remaining time (124).
limited() {
  local limit=$1 left=$((deadline - SECONDS)) status
  shift
  ((tiny)) && limit=3000
  [[ -z $stopped ]] && ((left > 3)) || return 124
  timeout --signal=TERM --kill-after=10 $((limit < left ? limit : left)) "$@" &
  running=$!
  wait "$running"
  status=$?
  if [[ -n $stopped ]]; then # wait returned for the signal
    wait "$running"
    status=124
  fi
  running=0
  return "$status"
}

# check NAME STATUS: records failures for the end.
check() {
  case "$2" in
    0) echo "ok       $1" ;;
    124) skipped+=("$1") && echo "no time  $1" ;;
    77) skipped+=("$1") && echo "skipped  $1" ;;
    *) failed+=("$1") && echo "FAILED   $1 ($2)" ;;
  esac
}

# train NAME SECONDS CONFIG KEY=VALUE...: one run on synthetic data; its report is $out/NAME.json.
train() {
  local name=$1 limit=$2 overrides=() key
  printf '%s\n' "$3" >"$work/$name.yaml"
  shift 3
  for key in "$@"; do overrides+=(-o "$key"); done
  limited "$limit" "$ptrain" run "$work/$name.yaml" --device cuda --progress none --report "$out/$name.json" \
    --out "$work/$name" --fresh -o eval.every_epochs=0 -o output.save=false -o train.schedule.name=constant \
    -o data.workers="$(($(nproc) > 3 ? $(nproc) - 2 : 2))" "${overrides[@]}" >"$out/$name.log" 2>&1
  check "$name" $?
}

# resnet NAME LEVEL DTYPE KEY=VALUE... and bert NAME SIZE LENGTH BATCH LEVEL DTYPE KEY=VALUE...: long enough for a measured
# peak and steady power.
resnet() {
  local name=$1 size=(data.image_size=224 data.batch_size=256 train.steps=400 data.synthetic_samples=1024) model=resnet50
  ((tiny)) && model=mobilenet_v2 size=(data.image_size=32 data.batch_size=2 train.steps=4 data.synthetic_samples=8)
  train "resnet50_$name" 90 "model: {name: $model, classes: 1000}
data: {source: synthetic, augment: none}
train: {measure_after_steps: $((tiny ? 2 : 40)), optimizer: {name: momentum}}" \
    "${size[@]}" amp.level="$2" amp.dtype="$3" "${@:4}"
}
bert() {
  local name=$1 size=(model.size="$2" data.max_length="$3" data.batch_size="$4" train.steps=400 data.synthetic_samples=2048)
  ((tiny)) && size=(model.size=tiny model.vocab_size=200 data.max_length=16 data.batch_size=2 train.steps=4 data.synthetic_samples=8)
  train "bert_$name" 90 "model: {name: bert, classes: 2, vocab_size: 30522}
data: {source: synthetic}
train: {measure_after_steps: $((tiny ? 2 : 40)), optimizer: {name: adamw, lr: 2.0e-5}}" \
    "${size[@]}" amp.level="$5" amp.dtype="$6" "${@:7}"
}
# answer NAME MODEL LEVEL BATCH SCENARIO: throughput or latency of a model that was trained for a step.
answer() {
  local name=infer_$1_$5 status
  limited 40 "$ptrain" bench infer "$work/$2" --device cuda --amp "$3" --batch "$4" --scenario "$5" \
    --seconds "$((tiny ? 0 : 5))" --json >"$work/answer.json" 2>"$out/$name.log"
  status=$?
  ((status)) || mv "$work/answer.json" "$out/$name.json"
  check "$name" $status
}
answers() {
  local level scenario
  resnet for_answers O0 fp16 "${quick[@]}" train.steps=1 train.measure_after_steps=0 output.save=true
  bert for_answers base 128 32 O0 fp16 "${quick[@]}" train.steps=1 train.measure_after_steps=0 output.save=true
  for level in O2 O0; do
    for scenario in offline single_stream; do
      answer "resnet50_$level" resnet50_for_answers $level $((tiny ? 2 : 128)) $scenario
      answer "bert_base_$level" bert_for_answers $level $((tiny ? 2 : 128)) $scenario
      ((tiny)) && return
    done
  done
}
quick=(flags.cudnn_exhaustive_search=false fusion=off) # nothing is timed before training

short_tests='Agreement.*:*BatchNorm*:*Accumulate*:*LossScale*:*OptimizerUpdate*:*Embedding*:*SoftmaxCrossEntropy*:*LayerNorm*'
((tiny)) && short_tests='Agreement.GlobalAveragePool:Agreement.SelectToken'
# device_tests NAME SECONDS LAUNCHER...
device_tests() {
  limited "$2" "${@:3}" "$device_test" --gtest_filter="$short_tests" >"$out/$1.log" 2>&1
  check "$1" $?
}

out_of_memory() {
  local text status
  text=$("$ptrain" run configs/quick/resnet18_synthetic.yaml --device cuda --progress none --out "$work/memory" \
    -o data.image_size=224 -o data.batch_size=1000000 2>&1)
  status=$?
  echo "$text" >"$out/out_of_memory.log"
  [[ $status == 1 && $text == *"by the memory plan"* && $text == *"would fit"* ]]
  check out_of_memory $?
}

part_fast() {
  local model
  "$ptrain" doctor >"$out/doctor.txt"
  check doctor $?
  "$ptrain" doctor --describe-gpu >"$out/device_description.json" # input of scripts/compile_plans.sh
  check device_description $?
  nvidia-smi -q -i 0 >"$out/nvidia-smi.txt" 2>&1 || true
  resnet O1_fp16 O1 fp16 "${quick[@]}"
  bert base_O1_fp16 base 128 128 O1 fp16 "${quick[@]}"
  resnet O2_fp16 O2 fp16 "${quick[@]}"
  bert base_O2_fp16 base 128 128 O2 fp16 "${quick[@]}"
  device_tests device_tests 120
  resnet O1_fp16_fused O1 fp16 "${quick[@]}" fusion=always
  for model in resnet "bert base 128 128"; do
    # shellcheck disable=SC2086
    set -- $model
    "$1" "${2:+$2_}O1_fp16_ops" "${@:2}" O1 fp16 "${quick[@]}" output.per_op=true
  done
  bert large_O1_fp16 large 384 64 O1 fp16 "${quick[@]}"
  resnet O1_bf16 O1 bf16 "${quick[@]}"
  bert base_O1_bf16 base 128 128 O1 bf16 "${quick[@]}"
  resnet O2_bf16 O2 bf16 "${quick[@]}"
  bert base_O2_bf16 base 128 128 O2 bf16 "${quick[@]}"
  bert large_O2_fp16 large 384 64 O2 fp16 "${quick[@]}"
  answers
  ((tiny)) || out_of_memory
}

part_search() {
  local fusion level search persistent levels="O1 O2 O0"
  resnet search O1 fp16
  bert base_search base 128 128 O1 fp16
  for fusion in off always; do resnet "fusion-$fusion" O1 fp16 fusion=$fusion; done
  resnet persistent-false O1 fp16 fusion=off flags.cudnn_batchnorm_spatial_persistent=false
  bert base_packed base 128 128 O1 fp16 data.padding=none
  bert base_math base 128 128 O1 fp16 model.attention=math
  ((tiny)) && levels=O1
  for level in $levels; do
    for search in true false; do
      for persistent in true false; do
        resnet "matrix_${level}_search-${search}_persistent-${persistent}" "$level" fp16 \
          flags.cudnn_exhaustive_search=$search flags.cudnn_batchnorm_spatial_persistent=$persistent
      done
    done
  done
  bert large_search large 384 64 O1 fp16
  bert large_mask large 384 64 O1 fp16 model.attention=flash_mask
}

part_peers() {
  local variant tool sanitizer
  if "$python" -c 'import torch, torchvision, transformers; assert torch.cuda.is_available()' 2>/dev/null; then
    for variant in eager compiled; do # in this order, separately: compiling takes minutes
      limited 3600 "$python" scripts/peers/compare.py --device cuda --ptrain "$ptrain" --python "$(command -v "$python")" \
        --precisions O1 --variants $variant --repeats 1 --preload '' --out "$out/peers_$variant.json" \
        >"$out/peers_$variant.md" 2>"$out/peers_$variant.log"
      check "peers_$variant" $?
    done
  else
    check "peers (no PyTorch with CUDA in $python)" 77
  fi
  if ! sanitizer=$(PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin command -v compute-sanitizer); then
    check 'compute-sanitizer (not installed)' 77
    return
  fi
  for tool in memcheck racecheck initcheck; do
    device_tests "sanitizer_$tool" 90 "$sanitizer" --tool $tool --error-exitcode 9
  done
}

"part_$part"
shopt -s nullglob
reports=("$out"/{resnet50,bert}_*.json)
if ((${#reports[@]})); then
  columns=run,precision,speed,step,memory,mfu,datasheet,search,exhaustive_search,persistent_batch_norm,status
  "$ptrain" table "${reports[@]}" --columns $columns --format markdown --out "$out/table.md"
  check table $?
  cat "$out/table.md"
fi
echo "${part}: ${SECONDS} s. ${#failed[@]} failed${failed[*]:+: ${failed[*]}}; ${#skipped[@]} skipped${skipped[*]:+: ${skipped[*]}}" |
  tee "$out/$part.txt"
[[ -z $stopped ]] || exit "$([[ $stopped == TERM ]] && echo 143 || echo 130)"
((${#failed[@]} == 0))
