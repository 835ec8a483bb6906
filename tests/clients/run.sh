#!/usr/bin/env bash
# Asks ptrain serve by other people's clients, which it installs from PyPI into build/clients: tests/clients/run.sh
# PTRAIN_BIN is the program (default: build/release/bin/ptrain). Exit code 77 where the clients do not install.
set -euo pipefail
cd "$(dirname "$0")/../.."
environment=build/clients
if [ ! -x "$environment/bin/python" ]; then
  mkdir -p build
  python3 -m venv "$environment" || { echo "skipped: python3 -m venv does not work here"; exit 77; }
fi
install() { timeout 300 "$environment/bin/pip" install --quiet --disable-pip-version-check "$@"; }
if ! "$environment/bin/python" -c 'import tritonclient.http.aio' 2> /dev/null; then
  install 'tritonclient[http]' aiohttp || { echo "skipped: tritonclient does not install from PyPI"; exit 77; }
fi
"$environment/bin/python" -c 'import kserve' 2> /dev/null || install kserve || echo "kserve does not install: its test is skipped"
cd tests/clients
exec "../../$environment/bin/python" -B -m unittest -v test_serving_clients
