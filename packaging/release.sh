#!/usr/bin/env bash
# Makes everything of a release in target/release-files: archives, packages, wheel, sources, bills of materials, licences,
# the CHANGELOG's section and checksums. `packaging/check-release.sh` verifies them as a user would.
#
#   packaging/release.sh [TARGET]     target: x86_64-unknown-linux-musl where its library is installed, else glibc, static
#   packaging/release.sh --program FOLDER   only the program, into FOLDER (to compare two builds)
#
# Needs cargo-auditable, cargo-cyclonedx, cargo-about, nfpm (nfpm.goreleaser.com) and what `make build` needs. The same
# commit, compiler and target give the same bytes in any folder.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

program_only=
if [ "${1:-}" = --program ]; then program_only=$2; shift 2; fi
for tool in cargo-auditable $([ -n "$program_only" ] || echo cargo-cyclonedx cargo-about nfpm); do
    command -v "$tool" >/dev/null || { echo "missing: $tool (see packaging/README.md)" >&2; exit 1; }
done

sysroot=$(rustc --print sysroot)
target=${1:-}
if [ -z "$target" ]; then
    target=$(uname -m)-unknown-linux-musl
    [ -d "$sysroot/lib/rustlib/$target" ] || target=$(uname -m)-unknown-linux-gnu
fi
version=$(cargo metadata --no-deps --format-version 1 --locked | python3 -c '
import json, sys
print(next(p["version"] for p in json.load(sys.stdin)["packages"] if p["name"] == "lockgate-cli"))')

# Everything that could differ from one machine to the next: times, paths, users, languages.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
LOCKGATE_COMMIT=$(git describe --always --dirty --abbrev=12 --exclude '*')
export SOURCE_DATE_EPOCH LOCKGATE_COMMIT
export LC_ALL=C TZ=UTC CARGO_INCREMENTAL=0
umask 022
built=${CARGO_TARGET_DIR:-$root/target}
cargo_home=${CARGO_HOME:-$HOME/.cargo}
remap="--remap-path-prefix=$built=/target --remap-path-prefix=$root=/lockgate --remap-path-prefix=$cargo_home=/cargo"
export RUSTFLAGS="-Ctarget-feature=+crt-static $remap"
# zig takes the date of a build, which SOURCE_DATE_EPOCH sets, for an error.
export CFLAGS="-Wno-date-time -ffile-prefix-map=$built=/target -ffile-prefix-map=$root=/lockgate -ffile-prefix-map=$cargo_home=/cargo"
make -s web
linking=()
case $target in
    # The compiler's own linker, the same on any machine: equal functions once, and addresses to relocate as a bitmap.
    *-musl) linking=(-Clinker=rust-lld -Clink-self-contained=yes -Clink-arg=--icf=all -Clink-arg=-zpack-relative-relocs) ;;
esac
cargo auditable rustc --profile dist --locked -p lockgate-cli --bin lockgate --target "$target" -- "${linking[@]}"
program=$built/$target/dist/lockgate
if [ -n "$program_only" ]; then
    mkdir -p "$program_only"
    cp "$program" "$program_only/lockgate"
    sha256sum "$program_only/lockgate"
    exit
fi

files=$root/target/release-files
stage=$root/target/stage
rm -rf "$files" "$stage"
mkdir -p "$files"

# The tree of a package.
doc=$stage/usr/share/doc/lockgate
install -D -m 755 "$program" "$stage/usr/bin/lockgate"
install -D -m 644 packaging/lockgate-route@.service "$stage/usr/lib/systemd/system/lockgate-route@.service"
install -D -m 644 packaging/apparmor "$stage/usr/share/lockgate/apparmor/lockgate"
mkdir -p "$stage/usr/share/man/man1"
"$program" man --out "$stage/usr/share/man/man1" >/dev/null
gzip -9n "$stage"/usr/share/man/man1/*.1
complete() { mkdir -p "$(dirname "$stage/usr/share/$2")"; "$program" completions "$1" > "$stage/usr/share/$2"; }
complete bash bash-completion/completions/lockgate
complete zsh zsh/vendor-completions/_lockgate
complete fish fish/vendor_completions.d/lockgate.fish
packaging/documents.sh "$doc"
cargo about generate --offline --locked --manifest-path crates/cli/Cargo.toml --config packaging/about.toml packaging/about.hbs > "$doc/THIRD-PARTY-LICENSES.html"
find "$stage" -type d -exec chmod 755 {} +
find "$stage" -type f ! -path '*/bin/*' -exec chmod 644 {} +
find "$stage" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +

# Archives.
machine=${target%%-*}
pack() { # NAME FOLDER ITEM...: a tar.gz with the same bytes each time
    local name=$1 folder=$2; shift 2
    tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=gnu -C "$folder" -cf - "$@" | gzip -9n > "$files/$name"
}
cp "$program" "$files/lockgate"
pack "lockgate-$version-$machine-linux.tar.gz" "$stage" usr
for format in deb rpm ipk; do
    case $machine-$format in
        x86_64-deb) arch=amd64 ;;
        aarch64-deb) arch=arm64 ;;
        x86_64-ipk) arch=x86_64 ;;
        aarch64-ipk) arch=aarch64_generic ;;
        *) arch=$machine ;;
    esac
    ARCH=$arch VERSION=$version STAGE=$stage \
        nfpm package --config packaging/nfpm.yaml --packager "$format" --target "$files" >/dev/null
done
# A wheel for any glibc since 2014.
rm -rf target/wheels
RUSTFLAGS=$remap make -s wheel WHEEL="--zig --target $machine-unknown-linux-gnu --compatibility manylinux2014"
cp target/wheels/lockgate-"$version"-*.whl "$files"

# The playground in one page, where a compiler has its target; its flags are not those of the program.
if why=$(crates/wasm/cargo.sh --version 2>&1); then
    env -u RUSTFLAGS -u CFLAGS make -s play
    cp web/dist/play.html "$files"
else
    echo "without play.html: $why" >&2
fi

# Sources of the command and of the Python package (an sdist), with the page: Node is not needed to build them.
sources=$root/target/sources/lockgate-$version
rm -rf "$sources"
mkdir -p "$sources"
git archive HEAD | tar -x -C "$sources"
install -D -m 644 web/dist/report.html "$sources/web/dist/report.html"
sed -e 's#^readme = "#&python/#' -e 's#^python-source = .*#manifest-path = "python/Cargo.toml"\npython-source = "python"#' \
    python/pyproject.toml > "$sources/pyproject.toml"
unzip -p "$files/lockgate-$version"-*manylinux*.whl '*.dist-info/METADATA' > "$sources/PKG-INFO"
pack "lockgate-$version.tar.gz" "$root/target/sources" "lockgate-$version"

# What is inside.
cargo cyclonedx --manifest-path crates/cli/Cargo.toml --format json --spec-version 1.5 --target "$target" --override-filename lockgate.cdx >/dev/null 2>&1
mv crates/cli/lockgate.cdx.json "$files/lockgate-$version.cdx.json"
find crates python -name 'lockgate.cdx.json' -delete
(cd web && npm sbom --sbom-format cyclonedx --package-lock-only) > "$files/lockgate-page-$version.cdx.json"
cp "$doc/THIRD-PARTY-LICENSES.html" "$files"
{
    packaging/notes.sh "$version"
    printf '\n### Files\n\nMade from commit %s for %s. `sha256sum --check SHA256SUMS` verifies them; in a clone, `packaging/check-release.sh FOLDER`\nalso compares the programs and the bills of materials with the lock files.\n\n| file | bytes | SHA-256 |\n| --- | ---: | --- |\n' \
        "$LOCKGATE_COMMIT" "$target"
    (cd "$files" && for file in *; do
        printf '| %s | %s | `%s` |\n' "$file" "$(stat --format=%s "$file")" "$(sha256sum "$file" | cut -d' ' -f1)"
    done)
} > "$files.notes"
mv "$files.notes" "$files/NOTES.md"
(cd "$files" && find . -maxdepth 1 -type f ! -name SHA256SUMS -printf '%P\n' | sort | xargs sha256sum > SHA256SUMS)
packaging/check-release.sh "$files"
ls -l "$files"
