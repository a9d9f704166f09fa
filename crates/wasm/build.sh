#!/bin/sh
# Builds the module for pages, target/play/lockgate.wasm, without names. Ends with 4 without the target
# wasm32-unknown-unknown.
set -eu
cd "$(dirname "$0")/../.."
crates/wasm/cargo.sh build --quiet --locked --profile play --target wasm32-unknown-unknown --target-dir target/wasm \
    -p lockgate-wasm
built=target/wasm/wasm32-unknown-unknown/play/lockgate_wasm.wasm
mkdir -p target/play
[ target/play/lockgate.wasm -nt "$built" ] && exit 0
# Each writer has a file of its own: two may build at the same time.
draft=target/play/lockgate.$$.wasm
# No wasm-opt: -O3 of binaryen 132 took nine minutes, for a module that ran half as fast and was a tenth longer when
# compressed.
node crates/wasm/strip.mjs "$built" "$draft"
mv "$draft" target/play/lockgate.wasm
