#!/bin/sh
# Builds the command with optimisation by a profile (PGO): a first build counts what it does in runs of the scenarios
# of this repository, and the compiler optimises a second build for that. Results are those of any other build.
#
#   packaging/profile-guided.sh [FOLDER]    leaves FOLDER/lockgate [target/profile-guided]
#
# It takes two release builds and half a minute of runs. Needs the web page (`make web`) and rustup's llvm-tools.
set -eu
unset LLVM_PROFILE_FILE
cd "$(dirname "$0")/.."
folder=${1:-target/profile-guided}
cargo=${CARGO:-cargo}
host=$(rustc -vV | sed -n 's/^host: //p')
profdata=$(rustc --print sysroot)/lib/rustlib/$host/bin/llvm-profdata
if ! [ -x "$profdata" ]; then
    echo "llvm-profdata of this compiler is not installed: rustup component add llvm-tools" >&2
    exit 1
fi

# Flags are for the command alone, not for what runs while it is built: so the target is named.
build() {
    RUSTFLAGS="${RUSTFLAGS-} $1" "$cargo" build --release --locked -p lockgate-cli --target "$host" --target-dir "$folder/$2"
}

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
rm -rf "$folder/counts" "$folder/run"
build "-Cprofile-generate=$folder/counts" counting
for file in scenarios/*.toml papers/*/*.toml; do
    case $file in
        */claims.toml) continue ;;           # a list of claims, not a scenario
        */isp.toml) duration="--duration 2s" ;; # of 5 s, so that the others count too
        *) duration= ;;
    esac
    echo "counting: $file"
    # An expectation that fails ends a run with status 3.
    "$folder/counting/$host/release/lockgate" run "$file" $duration --quiet --out "$folder/run" > /dev/null || [ $? -eq 3 ]
done
"$profdata" merge -o "$folder/counts.profdata" "$folder/counts"
build "-Cprofile-use=$folder/counts.profdata" optimised
cp "$folder/optimised/$host/release/lockgate" "$folder/lockgate"
rm -rf "$folder/counts" "$folder/run"
echo "built: $folder/lockgate"
