#!/usr/bin/env bash
# Copies the documents of a package into FOLDER, in the layout of the repository, so that their links lead somewhere. Only
# links to sources lead nowhere.
#
#   packaging/documents.sh FOLDER
set -euo pipefail
mkdir -p "$1"
folder=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
git ls-files -z -- '*.md' 'LICENSE-*' docs examples papers scenarios packaging/lockgate-route@.service \
    ':!:crates' ':!:web' ':!:python' ':!:fuzz' ':!:runs' | xargs -0 cp --parents -t "$folder"
cat LICENSE-MIT <(printf '\nor, at your option:\n\n') LICENSE-APACHE > "$folder/copyright"
