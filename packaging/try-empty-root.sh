#!/usr/bin/env bash
# Runs a program in a root that has nothing but itself, /proc and /tmp: no library, no shell, no file of /etc.
#
#   sudo packaging/try-empty-root.sh target/release-files/lockgate
set -euo pipefail
program=$(realpath "$1")
cd "$(dirname "$0")/.."
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir "$root/proc" "$root/tmp" "$root/work"
cp "$program" "$root/lockgate"
cp scenarios/voice-beside-bulk.toml "$root/work/voice.toml"
cat > "$root/work/house.toml" <<'END'
[router]
mode = "egress"
interfaces = { wan = "lo" }
[port.wan]
rate = "9.5mbit"
queue.cake = { kind = "cake" }
END
try() { # STATUS ARGUMENT...: an expectation that is missed is status 3, an unfit interface 2 or 4
    local wanted=$1 status=0; shift
    unshare --mount --pid --fork sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" /lockgate "$@"' "$root" "$@" \
        > "$root/tmp/output" 2>&1 < /dev/null || status=$?
    if [ "$status" -ne "$wanted" ]; then
        cat "$root/tmp/output"; echo "FAILED with $status: lockgate $*"; exit 1
    fi
    printf 'ok  %-60s %s\n' "lockgate $*" "$(tail -1 "$root/tmp/output" | cut -c1-80)"
}
try 0 --version
try 0 demo --sim --out /tmp/demo
try 3 run /work/voice.toml --out /tmp/run
try 0 check /work/voice.toml
try 0 compare /work/voice.toml --vary port.home:server.root=priority,one-queue --seeds 1..2 --set duration=10s --out /tmp/compare
try 0 tune /work/voice.toml --vary link.wan.rate=8mbit..12mbit --goal "min flow.voice.owd.p99" --runs 10 --set duration=10s --out /tmp/tune
try 0 new home
try 0 list
try 0 conform tbf
try 0 route /work/house.toml --dry-run
