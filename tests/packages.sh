#!/bin/sh
# Packs the crates that are made to be depended on, as they would be uploaded, and checks what their users rely on:
#
#   tests/packages.sh             their packages; how many crates `lockgate-path` compiles; that it compiles with each
#                                 of its features alone, without a warning
#   tests/packages.sh build       also: each package compiles from its own files alone, with the oldest Rust allowed and
#                                 without features, and `cargo publish --dry-run` accepts it (minutes; needs crates.io);
#                                 what they export is what their lists say (tests/interfaces.sh)
#
# The lists of files must be complete before anything is uploaded: a crate that reads a file of its neighbour compiles
# here and nowhere else. Exit code 1 names what is wrong.
set -eu
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
most=40

crates=$(sed -n 's/^UPLOADED = //p' Makefile)
[ -n "$crates" ] || { echo "packages: the Makefile has no list UPLOADED" >&2; exit 1; }
selected=$(printf -- '-p lockgate-%s ' $crates)

# Whoever reads a package's page reads these first.
for crate in $crates; do
    manifest=crates/$crate/Cargo.toml
    for key in description documentation include; do
        grep -q "^$key" "$manifest" || { echo "packages: $manifest has no \`$key\`" >&2; exit 1; }
    done
    grep -q '^publish' "$manifest" && { echo "packages: $manifest is not published" >&2; exit 1; }
    [ -s "crates/$crate/README.md" ] || { echo "packages: lockgate-$crate has no README.md" >&2; exit 1; }
done

# shellcheck disable=SC2086
$cargo package --locked --offline --allow-dirty --no-verify --quiet $selected
count=$($cargo tree --locked --offline -p lockgate-path -e normal --prefix none | sed 's/ (\*)$//' | sort -u | wc -l)
echo "packages: $(echo "$crates" | wc -w) packed; lockgate-path compiles $count crates"
[ "$count" -le $most ] || { echo "packages: that is more than $most" >&2; exit 1; }

# A workspace compiles its crates with the features of all members; users get only those they name.
features=$(sed -n '/^\[features\]/,/^$/s/^\([a-z]*\) = .*/\1/p' crates/path/Cargo.toml)
for feature in "" $features; do
    said=$($cargo check --locked --offline --quiet -p lockgate-path --features "$feature" 2>&1) || failed=1
    [ -z "$said${failed:-}" ] || {
        echo "packages: lockgate-path with the features \`$feature\`:" >&2; echo "$said" >&2; exit 1; }
done
[ "${1:-}" = build ] || exit 0

oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
toolchain=$(rustup toolchain list 2>/dev/null | sed -n "s/^\($oldest[^ ]*\).*/\1/p" | head -1)
if [ -n "$toolchain" ]; then
    export RUSTUP_TOOLCHAIN=$toolchain
    echo "packages: compiled by Rust $oldest, the oldest allowed"
else
    echo "packages: Rust $oldest is not installed; compiled by $($cargo --version)"
fi
# shellcheck disable=SC2086
$cargo publish --dry-run --locked --allow-dirty --quiet --no-default-features $selected

tests/interfaces.sh
