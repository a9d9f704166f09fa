#!/bin/sh
# Builds the Python package as the tests in Rust are built, beside its sources, and runs its tests and type checks.
#
#   tests/python.sh
#
# PYTHON names the interpreter (3.10 or later), PYTHON_VENV an environment that has the packages of
# python/requirements-test.txt already. Where there is neither, this is recorded as skipped (tests/skips.sh).
set -eu
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
venv=${PYTHON_VENV:-$target/python}
python=${PYTHON:-python3}

skip() {
    echo "python::package: $1" | tee -a "${LOCKGATE_SKIPPED:-/dev/null}"
    exit 0
}

if ! [ -x "$venv/bin/pytest" ]; then
    command -v "$python" >/dev/null || skip "there is no $python"
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || skip "$python is older than 3.10"
    "$python" -m venv "$venv" 2>/dev/null || skip "$python has no venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check --requirement python/requirements-test.txt 2>/dev/null ||
        skip "pip cannot install python/requirements-test.txt"
fi
# shellcheck disable=SC2086
${CARGO:-cargo} build --locked ${LOCKGATE_PYTHON_BUILD:---package lockgate-python}
for library in lib_lockgate.so lib_lockgate.dylib; do
    # A new file: an interpreter may have the old one loaded.
    if [ -e "$target/debug/$library" ]; then
        cp "$target/debug/$library" python/lockgate/_lockgate.abi3.so.new
        mv python/lockgate/_lockgate.abi3.so.new python/lockgate/_lockgate.abi3.so
    fi
done
case $venv in /*) ;; *) venv=$PWD/$venv ;; esac
cd python && PYTHONPATH=$PWD "$venv/bin/python" -m pytest "$@"
