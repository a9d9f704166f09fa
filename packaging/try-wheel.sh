#!/usr/bin/env bash
# Installs a wheel in a fresh environment of each Python given, without an index and a compiler, and uses it: the command's
# demo, and every cell of the tutorial.
#
#   packaging/try-wheel.sh target/release-files/lockgate-*manylinux*.whl [PYTHON...]     pythons: python3.10 to python3.14, as installed
set -euo pipefail
wheel=$(realpath "$1"); shift
tutorial=$(realpath "$(dirname "$0")/../python/examples/tutorial.ipynb")
if [ $# -eq 0 ]; then
    for minor in 10 11 12 13 14; do
        if path=$(command -v "python3.$minor"); then set -- "$@" "$path"; fi
    done
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for python in "$@"; do
    rm -rf "$folder/venv" "$folder/work"
    mkdir "$folder/work"
    "$python" -m venv "$folder/venv"
    "$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-index "$wheel"
    (
        cd "$folder/work"
        export PATH=$folder/venv/bin
        lockgate demo --sim --out demo > demo.txt
        [ -s demo/report.html ] || { echo "$python: no report"; exit 1; }
        python - "$tutorial" <<'END'
import json
import platform
import sys

cells = [cell for cell in json.load(open(sys.argv[1], encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
names = {}
for number, cell in enumerate(cells, 1):
    exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)
print(f"ok  Python {platform.python_version()}: lockgate {names['lg'].__version__}, demo, {len(cells)} cells of the tutorial")
END
    )
done
