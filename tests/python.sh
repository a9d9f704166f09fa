#!/bin/sh
# Builds the Python package as the tests in Rust are built, beside its sources, and runs its tests and type checks.
#
#   tests/python.sh
#
# PYTHON names the interpreter (3.10 or later), PYTHON_VENV an environment that has the packages of
# python/requirements-all.txt already. Otherwise they are installed once, in target/python (a minute, 850 MB). Where
# that cannot be, those of python/requirements-test.txt are, and where neither can, this is recorded as skipped
# (tests/skips.sh).
set -eu
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
venv=${PYTHON_VENV:-$target/python}
python=${PYTHON:-python3}

skip() {
    echo "python::package: $1" | tee -a "${LOCKGATE_SKIPPED:-/dev/null}"
    exit 0
}

install() {
    "$venv/bin/pip" install --quiet --disable-pip-version-check --retries 1 --requirement "$@" 2>/dev/null
}

# What was installed is noted, so that a new list is installed anew.
installed=$venv/requirements.txt
if [ -z "${PYTHON_VENV:-}" ] && ! cat python/requirements-*.txt | cmp -s - "$installed"; then
    command -v "$python" >/dev/null || skip "there is no $python"
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || skip "$python is older than 3.10"
    "$python" -m venv "$venv" 2>/dev/null || skip "$python has no venv"
    # Wheels only: the tests of a package that would have to be compiled here are not worth that time.
    if install python/requirements-all.txt --only-binary :all:; then
        cat python/requirements-*.txt > "$installed"
    elif ! [ -x "$venv/bin/pytest" ]; then
        install python/requirements-test.txt || skip "pip cannot install python/requirements-test.txt"
    fi
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
