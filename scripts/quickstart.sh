#!/usr/bin/env bash
# From a fresh clone to a trained ResNet-50: installs packages, builds build/release/bin/ptrain, trains for a third of an
# epoch on Fashion-MNIST, makes the report's page and says where both are. Arguments go to `ptrain run`.
set -euo pipefail
. "$(dirname "$0")/usage.sh"
cd "$(dirname "$0")/.."

ptrain=build/release/bin/ptrain
out=runs/quickstart

scripts/install_deps.sh
# Tests are compiled only on request: the earlier configuration is kept.
if [[ ! -f build/release/CMakeCache.txt ]]; then cmake --preset release -DPTRAIN_TESTS=OFF; fi
cmake --build build/release --target ptrain
echo "built after $SECONDS s"
mkdir -p "$out"
"$ptrain" run configs/quick/resnet50_fashion_mnist.yaml --out "$out" --fresh "$@"
"$ptrain" table "$out/report.json" --columns run,work,precision,precision_reason,speed,memory,accuracy \
  --format html --out "$out/index.html"
cat <<END
done after $SECONDS s
Report: $PWD/$out/report.json
Page:   $PWD/$out/index.html
Next, a whole epoch at full resolution: $ptrain run configs/resnet50.yaml
END
