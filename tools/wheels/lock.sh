#!/bin/sh
# Resolves tools/wheels/NAME/ into the hashed lock of the catalog, for the hosts' Python (Debian 12).
# torchvision, torchaudio and torchcodec clash with the override and no text model needs them.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
lock=$root/stacks/catalog/locks/$1.lock
cd "$root/tools/wheels/$1"
"$root/.venv/bin/uv" pip compile in.txt --override over.txt --quiet --no-header \
    --python-version 3.11 --python-platform x86_64-manylinux_2_28 --generate-hashes \
    --no-emit-package torchvision --no-emit-package torchaudio --no-emit-package torchcodec \
    --output-file "$lock.part"
mv "$lock.part" "$lock"
