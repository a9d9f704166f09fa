#!/bin/sh
# Runs a cargo that has the target wasm32-unknown-unknown: WASM_CARGO if that is set, else cargo itself. Without the
# target, says how to get it, and ends with 4.
#
#   crates/wasm/cargo.sh ARGUMENTS...
set -eu
if [ -z "${WASM_CARGO:-}" ]; then
    WASM_CARGO=${CARGO:-cargo}
    if ! [ -d "$(rustc --print sysroot)/lib/rustlib/wasm32-unknown-unknown" ]; then
        echo "target wasm32-unknown-unknown is not installed: rustup target add wasm32-unknown-unknown"
        exit 4
    fi
fi
# Several words: a program that runs cargo elsewhere, and its arguments.
exec $WASM_CARGO "$@"
