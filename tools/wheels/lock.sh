#!/bin/sh
# Resolves tools/wheels/NAME/ into the hashed lock of the catalog, for the Python and platform of its entry there.
# torchvision, torchaudio and torchcodec clash with the override and no text model needs them.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
lock=$root/stacks/catalog/locks/$1.lock
entry() { "$root/.venv/bin/python" -c 'import sys, yaml; print(yaml.safe_load(sys.stdin)[sys.argv[1]][sys.argv[2]])' "$@" \
    <"$root/stacks/catalog/engines.yaml"; }
python=$(entry "$1" python)
platform=$(entry "$1" platform)
cd "$root/tools/wheels/$1"
"$root/.venv/bin/uv" pip compile in.txt --override over.txt --quiet --no-header \
    --python-version "$python" --python-platform "$platform" --generate-hashes \
    --no-emit-package torchvision --no-emit-package torchaudio --no-emit-package torchcodec \
    --output-file "$lock.part"
mv "$lock.part" "$lock"
