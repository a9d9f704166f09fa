#!/usr/bin/env bash
# Installs a package of Debian in a fresh root, uses it, purges it, and compares the root with that before.
#
#   sudo packaging/try-deb.sh target/release-files/lockgate_*.deb [SUITE]     suite of Debian: bookworm
#
# Needs debootstrap. The root is kept as /var/cache/lockgate-root, without the package, for the next time.
set -euo pipefail
package=$(realpath "$1")
suite=${2:-bookworm}
root=/var/cache/lockgate-root
if ! [ -x "$root/usr/bin/man" ]; then
    mirror=$(sed -nE 's#^(URIs:|deb) +([a-z]+://[^ ]+/debian)/?( .*)?$#\2#p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -1)
    debootstrap --variant=minbase --include=systemd,man-db,bash-completion,iproute2,procps,util-linux "$suite" "$root" "${mirror:-http://deb.debian.org/debian}" >/dev/null
fi
# The root is that of its mount namespace, because the kernel makes no user namespace below a mere chroot.
inside() {
    unshare --mount --pid --net --fork sh -c 'mount --bind "$0" "$0" && cd "$0" && mount -t proc proc proc && mount -t tmpfs tmpfs run &&
        pivot_root . mnt && cd / && umount --lazy /mnt && exec "$@"' "$root" "$@"
}
# Every file with mode, owner, and contents; not what apt and dpkg write about themselves.
snapshot() {
    (cd "$root" && find . -xdev \( -path ./proc -o -path ./run -o -path ./tmp -o -path ./var/cache -o -path ./var/log -o -path './var/lib/dpkg' \) -prune \
        -o \( -type f -printf '%M %u %g %p ' -exec sha256sum {} \; \) -o -printf '%M %u %g %p %l\n' | sort)
}
inside dpkg --purge lockgate >/dev/null 2>&1 || true # left by a trial that failed
before=$(mktemp); after=$(mktemp)
trap 'rm -f "$before" "$after"' EXIT
snapshot > "$before"

cp "$package" "$root/tmp/lockgate.deb"
inside dpkg --install /tmp/lockgate.deb
inside lockgate --version
inside man --where lockgate lockgate-run lockgate-tc-import
inside bash -c 'source /usr/share/bash-completion/completions/lockgate && complete -p lockgate'
inside systemd-analyze verify /usr/lib/systemd/system/lockgate-route@.service && echo "unit: verified"
if inside systemctl is-enabled lockgate-route@wan 2>/dev/null | grep -qx enabled; then echo "FAILED: a unit is enabled"; exit 1; fi
inside sh -c 'cd /usr/share/doc/lockgate/scenarios && lockgate check voice-beside-bulk.toml'
# As the unit starts it: an ordinary user with three capabilities, on an interface made for it.
cat > "$root/tmp/wan.toml" <<'END'
[router]
mode = "egress"
interfaces = { wan = "wan0" }
[port.wan]
rate = "9.5mbit"
queue.cake = { kind = "cake" }
END
inside sh -c '
    ip link add wan0 type veth peer name line && ip link set lo up && ip link set wan0 up && ip link set line up
    mkdir -m 700 /run/state && chown nobody /run/state
    exec env STATE_DIRECTORY=/run/state RUNTIME_DIRECTORY=/run/state setpriv --reuid nobody --regid nogroup --clear-groups --no-new-privs \
        --inh-caps -all,+net_admin,+net_raw,+bpf --ambient-caps -all,+net_admin,+net_raw,+bpf --bounding-set -all,+net_admin,+net_raw,+bpf \
        lockgate route /tmp/wan.toml --for 2s'
inside systemctl --no-reload enable lockgate-route@wan
inside dpkg --purge lockgate
rm -f "$root/tmp/lockgate.deb" "$root/tmp/wan.toml"
snapshot > "$after"
diff "$before" "$after" && echo "purged: nothing is left"
