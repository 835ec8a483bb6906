#!/usr/bin/env bash
# Validates ptrain on an NVIDIA GPU, without a network, from the folder that scripts/package.sh makes or from the source tree.
#   gpu_validate.sh [--out DIR] [--minutes N] [PART...]
# Parts, in order; all of them by default, within N minutes (10). What there is no time for is said: the first run on a
# machine compiles and times cuDNN's plans, which DIR/cache keeps, and may want --minutes 30.
#   doctor     what is there
#   tests      the device tests
#   memory     out of memory: exit code 1 and the plan's figure
#   sanitizer  compute-sanitizer on the short tests
#   resnet     ResNet-50, 224 px: AMP level x cudnn_exhaustive_search x cudnn_batchnorm_spatial_persistent; fusion
#   bert       BERT-base, length 128: AMP level x attention; packed sequences
#   peers      the same work in ptrain and PyTorch, by turns (wants python3 with torch, torchvision, transformers)
# Reports and a table go to DIR (results/<gpu>). Environment: PTRAIN_BUILD is the build folder (build/cuda),
# PTRAIN_PYTHON the Python for the peers.
set -uo pipefail
root=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
cd "$root" || exit 1

out='' minutes=10 parts=()
while (($#)); do
  case "$1" in
    --out) out=$2 && shift ;;
    --minutes) minutes=$2 && shift ;;
    doctor | tests | memory | sanitizer | resnet | bert | peers) parts+=("$1") ;;
    *)
      sed -n '2,15s/^# \{0,1\}//p' "$0"
      exit 2
      ;;
  esac
  shift
done
((${#parts[@]})) || parts=(doctor tests memory sanitizer resnet bert peers)

# shellcheck source=scripts/cuda_paths.sh
. scripts/cuda_paths.sh
bin=$root/bin
[[ -x $bin/ptrain ]] || bin=${PTRAIN_BUILD:-$root/build/cuda}/bin
python=${PTRAIN_PYTHON:-python3}
export PTRAIN_SOURCE_DIR=$root # the goldens of device_test
if [[ -z $out ]]; then
  gpu=$(nvidia-smi --id=0 --query-gpu=name --format=csv,noheader 2>/dev/null | tr 'A-Z ' 'a-z-')
  out=results/${gpu:-no-gpu}
fi
mkdir -p "$out"
out=$(cd "$out" && pwd)
export PTRAIN_CACHE_DIR=$out/cache
failed=() skipped=()
deadline=$((SECONDS + 60 * minutes))

# limited SECONDS COMMAND...: no longer than that, nor than the time that is left.
limited() {
  local limit=$1 left=$((deadline - SECONDS))
  shift
  ((left > 5)) || return 124
  timeout --signal=INT --kill-after=20 $((limit < left ? limit : left)) "$@"
}

# check NAME STATUS: keeps what failed for the end.
check() {
  case "$2" in
    0) echo "ok       $1" ;;
    124) skipped+=("$1") && echo "no time  $1" ;;
    77) skipped+=("$1") && echo "skipped  $1" ;;
    *) failed+=("$1") && echo "FAILED   $1 ($2)" ;;
  esac
}

# train NAME SECONDS MODEL KEY=VALUE...: one short run on synthetic data; its report is $out/NAME.json.
train() {
  local name=$1 limit=$2 model=$3 overrides=() key
  shift 3
  for key in "$@"; do overrides+=(-o "$key"); done
  local work
  work=$(mktemp -d)
  local classes=1000
  [[ $model == bert ]] && classes=2
  printf 'model: {name: %s, classes: %d}\ndata: {source: synthetic}\n' "$model" "$classes" >"$work/run.yaml"
  limited "$limit" "$bin/ptrain" run "$work/run.yaml" --device cuda --progress none --report "$out/$name.json" \
    --output-dir "$work" -o eval.every_epochs=0 -o output.save=false -o train.schedule.name=constant \
    -o data.workers="$(($(nproc) > 3 ? $(nproc) - 2 : 2))" "${overrides[@]}" >"$out/$name.log" 2>&1
  local status=$?
  rm -rf "$work"
  check "$name" "$status"
  return "$status"
}

part_doctor() {
  "$bin/ptrain" doctor | tee "$out/doctor.txt"
  check doctor "${PIPESTATUS[0]}"
  nvidia-smi -q -i 0 >"$out/nvidia-smi.txt" 2>&1 || true
}

part_tests() {
  limited 900 "$bin/device_test" >"$out/device_test.log" 2>&1
  local status=$?
  tail -n 12 "$out/device_test.log"
  check "device tests" "$status"
}

part_memory() {
  local text status
  text=$("$bin/ptrain" run configs/quick/resnet18_synthetic.yaml --device cuda --progress none \
    --output-dir "$(mktemp -d)" -o data.image_size=224 -o data.batch_size=1000000 2>&1)
  status=$?
  echo "$text" | tail -n 1
  [[ $status == 1 && $text == *"by the memory plan"* && $text == *"would fit"* ]]
  check "out of memory" $?
}

part_sanitizer() {
  local tool sanitizer filter='Agreement.*:Accumulate*:GradNorm*:LossScale*:OptimizerUpdate*:*BatchNorm*:Embedding*:SoftmaxCrossEntropy*:LayerNorm*'
  if ! sanitizer=$(PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin command -v compute-sanitizer); then
    check 'compute-sanitizer (not installed)' 77
    return
  fi
  for tool in memcheck racecheck initcheck; do
    limited 60 "$sanitizer" --tool "$tool" --error-exitcode 9 "$bin/device_test" --gtest_filter="$filter" \
      >"$out/sanitizer_$tool.log" 2>&1
    local status=$?
    grep -E 'ERROR SUMMARY|RACECHECK SUMMARY|not supported' "$out/sanitizer_$tool.log" | head -n 2
    check "compute-sanitizer $tool" "$status"
  done
}

part_resnet() {
  local level search persistent fusion
  for level in O0 O1 O2; do
    for search in true false; do
      for persistent in true false; do
        # The first search of a dtype compiles and times some 3000 plans; the others find its choices in the cache.
        train "resnet50_${level}_search-${search}_persistent-${persistent}" 240 resnet50 amp.level=$level amp.dtype=auto \
          data.image_size=224 data.batch_size=256 data.augment=none data.synthetic_samples=1024 train.steps=40 \
          train.measure_after_steps=12 flags.cudnn_exhaustive_search=$search \
          flags.cudnn_batchnorm_spatial_persistent=$persistent
      done
    done
  done
  for fusion in off always; do
    train "resnet50_O2_fusion-${fusion}" 240 resnet50 amp.level=O2 amp.dtype=auto fusion=$fusion data.image_size=224 \
      data.batch_size=256 data.augment=none data.synthetic_samples=1024 train.steps=40 train.measure_after_steps=12
  done
}

part_bert() {
  local level attention
  for level in O0 O1 O2; do
    for attention in flash math; do
      train "bert_base_${level}_${attention}" 60 bert model.size=base model.vocab_size=30522 \
        model.attention=$attention amp.level=$level amp.dtype=auto data.max_length=128 data.batch_size=128 \
        data.synthetic_samples=2048 train.steps=60 train.measure_after_steps=12 train.optimizer.name=adamw \
        train.optimizer.lr=2e-5
    done
  done
  for level in O0 O2; do
    train "bert_base_${level}_packed" 60 bert model.size=base model.vocab_size=30522 data.padding=none amp.level=$level \
      amp.dtype=auto data.max_length=128 data.batch_size=128 data.synthetic_samples=2048 train.steps=60 \
      train.measure_after_steps=12 train.optimizer.name=adamw train.optimizer.lr=2e-5
  done
}

part_peers() {
  if ! "$python" -c 'import torch, torchvision, transformers; assert torch.cuda.is_available()' 2>/dev/null; then
    check "peers (no PyTorch with CUDA in $python)" 77
    return
  fi
  limited 3600 "$python" scripts/peers/compare.py --device cuda --ptrain "$bin/ptrain" --python "$(command -v "$python")" \
    --precisions O1 fp32 --repeats 1 --preload '' --out "$out/peers.json" 2>"$out/peers.log" | tee "$out/peers.md"
  check peers "${PIPESTATUS[0]}"
}

for part in "${parts[@]}"; do
  echo "== $part (after $SECONDS s)"
  "part_$part"
done
shopt -s nullglob
reports=("$out"/{resnet,bert}*.json)
if ((${#reports[@]})); then
  columns=run,precision,speed,step,memory,mfu,datasheet,search,exhaustive_search,persistent_batch_norm,status
  "$bin/ptrain" table "${reports[@]}" --columns $columns --format markdown --output "$out/table.md"
  check table $?
  cat "$out/table.md"
fi
echo "Reports: $out. ${#failed[@]} failed${failed[*]:+: ${failed[*]}}; ${#skipped[@]} skipped${skipped[*]:+: ${skipped[*]}}"
((${#failed[@]} == 0))
