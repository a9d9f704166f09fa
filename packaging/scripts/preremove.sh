#!/bin/sh
# Before removal, not before an upgrade: routers are stopped, and the kernel has their interfaces back. They are disabled
# too: their unit is about to go.
set -e
root=${DPKG_ROOT-}
case ${1:-} in
    upgrade | 1) exit 0 ;;
esac
if [ -d "$root/run/systemd/system" ]; then
    systemctl stop 'lockgate-route@*.service' || true
fi
# As `systemctl disable` does, also where systemd does not run.
rm -f "$root"/etc/systemd/system/*.wants/lockgate-route@*.service
