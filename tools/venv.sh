#!/bin/sh
# Makes .venv from the pinned requirements, again only when they change.
# The stamp is written last: without it a folder is half-installed and made anew.
set -eu
cd "$(dirname "$0")/.."

stamp() { pwd; cat requirements.txt requirements-dev.txt; }
current() { [ -x .venv/bin/python ] && stamp | cmp -s - .venv/stamp; }
fail() { echo "venv: $*" >&2; exit 1; }

find_python() {
    for python in ${PYTHON:-python3 python3.11 python3.12 python3.13}; do
        if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then return; fi
    done
    fail "no Python 3.11 or newer among '${PYTHON:-python3 python3.11 python3.12 python3.13}': install one or set PYTHON="
}

# Debian keeps ensurepip, without which there is no venv, in a package of its own.
ensure_venv_module() {
    "$python" -c 'import ensurepip, venv' 2>/dev/null && return
    command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] ||
        fail "$python has no venv module: install python3-venv, or set PYTHON= to another Python"
    apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y python3-venv >/dev/null ||
        fail "apt-get could not install python3-venv: look at its lines above"
}

current && exit 0
mkdir -p .state
if command -v flock >/dev/null; then
    exec 9>.state/venv.lock
    flock 9
    current && exit 0
fi
find_python
ensure_venv_module
echo "venv: installing the pinned Python packages into .venv" >&2
rm -rf .venv
"$python" -m venv .venv || fail "$python could not make .venv: look at its lines above"
.venv/bin/python -m pip install -q --disable-pip-version-check --no-input -r requirements-dev.txt ||
    fail "pip could not install requirements-dev.txt: look at its lines above, then run again"
stamp >.venv/stamp.new
mv .venv/stamp.new .venv/stamp
