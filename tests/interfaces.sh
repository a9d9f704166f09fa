#!/bin/sh
# Compares what the pure crates export that are uploaded with their lists, crates/*/interface.txt: a removed or changed
# line breaks users, and is a new version.
#
#   tests/interfaces.sh            needs cargo-public-api (make packages installs it; minutes)
#   RENEW=1 tests/interfaces.sh    writes the lists
#
# A list has a line for each item, without what every type has or derives, and without the name of its own crate: each
# line of a difference is read alone. Exit code 1 names the crates that changed.
set -eu
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}

pure=" $(sed -n 's/^PURE = //p' Makefile) "
crates=
for crate in $(sed -n 's/^UPLOADED = //p' Makefile); do
    case $pure in *" $crate "*) crates="$crates $crate" ;; esac
done
[ -n "$crates" ] || { echo "interfaces: the Makefile has no lists UPLOADED and PURE" >&2; exit 1; }

# Only rustdoc is told to be unstable: a dependency may try what the compiler would then permit. All features are on, and
# all crates are documented at once: apart, each would compile its dependencies with features of its own.
mkdir -p target/interface
printf '#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc "$@"\n' > target/interface/rustdoc
chmod +x target/interface/rustdoc
# shellcheck disable=SC2046,SC2086
RUSTDOC=$PWD/target/interface/rustdoc RUSTDOCFLAGS="-Z unstable-options --output-format json" \
    $cargo doc --target-dir target/interface --locked --quiet --no-deps --lib --all-features \
    $(printf -- '-p lockgate-%s ' $crates)

changed=
for crate in $crates; do
    name=lockgate_$(echo "$crate" | tr - _)
    cargo-public-api public-api --rustdoc-json "target/interface/doc/$name.json" -sss > target/interface/whole.txt
    # The order of the locale would differ between hosts; that of the items is kept, members after their type.
    sed "s/\b$name:://g" target/interface/whole.txt > "target/interface/$crate.txt"
    [ -z "${RENEW:-}" ] || cp "target/interface/$crate.txt" "crates/$crate/interface.txt"
    diff -u "crates/$crate/interface.txt" "target/interface/$crate.txt" || changed="$changed lockgate-$crate"
done
[ -z "$changed" ] || { echo "interfaces: changed:$changed; \`make interfaces\` writes the lists" >&2; exit 1; }
echo "interfaces: as listed:$crates"
