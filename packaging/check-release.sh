#!/usr/bin/env bash
# Verifies the files of a release, as a user would: checksums, version, the list of what is inside against the lock files.
#
#   packaging/check-release.sh [FOLDER]     target/release-files
#
# Needs rust-audit-info (cargo install rust-audit-info) for the list embedded in the program.
set -euo pipefail
cd "$(dirname "$0")/.."
files=$(cd "${1:-target/release-files}" && pwd)
(cd "$files" && sha256sum --check --quiet SHA256SUMS)
unlisted=$(cd "$files" && find . -maxdepth 1 -type f ! -name SHA256SUMS -printf '%P\n' | sort | comm -23 - <(awk '{print $2}' SHA256SUMS | sort))
[ -z "$unlisted" ] || { echo "without a checksum: $unlisted" >&2; exit 1; }
# Every file that the notes list, with the same sum, and no file that they do not.
listed=$(sed -nE 's/^\| ([^ ]+) \| [0-9]+ \| `([0-9a-f]{64})` \|$/\2  \1/p' "$files/NOTES.md" | sort)
[ "$listed" = "$(grep -v '  NOTES.md$' "$files/SHA256SUMS" | sort)" ] || { echo "NOTES.md lists other files than SHA256SUMS" >&2; exit 1; }
"$files/lockgate" --version
version=$("$files/lockgate" -V | cut -d' ' -f2)
# Each crate that is linked has its licence.
target=$("$files/lockgate" --version | awk '$1 == "target" { print $2 }')
unlicensed=$(cargo tree --locked -p lockgate-cli --edges normal --prefix none --format '{p}' --target "$target" | sed 's/ (.*//; s/ v/ /' | sort -u |
    comm -23 - <(sed -nE 's#^<li>(.*)</li>$#\1#p' "$files/THIRD-PARTY-LICENSES.html" | sort -u))
[ -z "$unlicensed" ] || { echo "without a licence in THIRD-PARTY-LICENSES.html: $unlicensed" >&2; exit 1; }
rust-audit-info "$files/lockgate" > "$files/../audit.json"
FILES=$files VERSION=$version python3 - <<'END'
import json, os, tomllib
from pathlib import Path

files, version = Path(os.environ["FILES"]), os.environ["VERSION"]
locked = {(p["name"], p["version"]) for p in tomllib.loads(Path("Cargo.lock").read_text())["package"]}
bill = json.loads((files / f"lockgate-{version}.cdx.json").read_text())
listed = {(c["name"], c["version"]) for c in bill["components"]}
inside = {(p["name"], p["version"]) for p in json.loads((files.parent / "audit.json").read_text())["packages"]
          if p.get("kind", "runtime") == "runtime"}
inside.discard(("lockgate-cli", version))
for name, what in (("bill of materials", listed), ("audit data", inside)):
    strange = sorted(what - locked)
    assert not strange, f"{name}: not in Cargo.lock: {strange}"
missing = sorted(inside - listed)
assert not missing, f"inside the program, not in the bill of materials: {missing}"
lock = json.loads(Path("web/package-lock.json").read_text())["packages"]
npm_locked = {(path.rsplit("node_modules/", 1)[1], entry["version"]) for path, entry in lock.items() if path}
page = json.loads((files / f"lockgate-page-{version}.cdx.json").read_text())
npm_listed = {((f"{c['group']}/" if c.get("group") else "") + c["name"], c["version"]) for c in page["components"]}
assert npm_listed == npm_locked, f"not in both of page and package-lock.json: {sorted(npm_listed ^ npm_locked)}"
print(f"bill of materials: {len(listed)} crates, all in Cargo.lock; {len(inside)} inside the program, all listed; "
      f"{len(npm_listed)} of {len(npm_locked)} npm packages")
END
echo "release $version: every file verified"
