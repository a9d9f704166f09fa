#!/bin/sh
# After installation and after an upgrade. Starts and enables nothing; a router that runs goes on with the program that it
# has, until it is restarted.
set -e
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload || true
fi
# Live runs of ordinary users need user namespaces, which Ubuntu permits by a profile only. Kernels and parsers before
# AppArmor 4 have no such rule, and need none.
profile=/usr/share/lockgate/apparmor/lockgate
if [ -d /sys/kernel/security/apparmor ] && apparmor_parser --skip-kernel-load --skip-cache "$profile" >/dev/null 2>&1; then
    install -m 644 "$profile" /etc/apparmor.d/lockgate
    apparmor_parser --replace /etc/apparmor.d/lockgate || true
fi
