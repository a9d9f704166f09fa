#!/bin/sh
# Builds the module for pages, target/play/lockgate.wasm, and makes it smaller by wasm-opt of the pages' tools or of
# the system. Ends with 4 without the target wasm32-unknown-unknown.
set -eu
cd "$(dirname "$0")/../.."
crates/wasm/cargo.sh build --quiet --locked --profile play --target wasm32-unknown-unknown --target-dir target/wasm \
    -p lockgate-wasm
built=target/wasm/wasm32-unknown-unknown/play/lockgate_wasm.wasm
mkdir -p target/play
[ target/play/lockgate.wasm -nt "$built" ] && exit 0
# Each writer has a file of its own: two may build at the same time.
draft=target/play/lockgate.$$.wasm
PATH="$PWD/web/node_modules/.bin:$PATH"
if command -v wasm-opt >/dev/null; then
    wasm-opt -O3 --enable-bulk-memory --enable-nontrapping-float-to-int --enable-sign-ext --enable-mutable-globals \
        --enable-multivalue --enable-reference-types --enable-simd --strip-debug --strip-producers "$built" -o "$draft"
else
    cp "$built" "$draft"
fi
mv "$draft" target/play/lockgate.wasm
