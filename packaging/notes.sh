#!/usr/bin/env bash
# Prints the CHANGELOG's section of a version: the text of a release and of its tag.
#
#   packaging/notes.sh 0.2.0
set -euo pipefail
cd "$(dirname "$0")/.."
section=$(awk -v version="$1" '$1 == "##" { inside = ($2 == version) } inside' CHANGELOG.md)
[ -n "$section" ] || { echo "CHANGELOG.md has no section \"## $1\"" >&2; exit 1; }
printf '%s\n' "$section"
