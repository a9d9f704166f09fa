#!/bin/sh
# After removal: the profile. After purging (Debian) or erasing (Fedora): the state of routers, too. Policies of the
# administrator in /etc/lockgate stay.
set -e
case ${1:-} in
    upgrade | failed-upgrade | abort-install | abort-upgrade | disappear | 1) exit 0 ;;
esac
if [ -e /etc/apparmor.d/lockgate ]; then
    apparmor_parser --remove /etc/apparmor.d/lockgate 2>/dev/null || true
    rm -f /etc/apparmor.d/lockgate
fi
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload || true
fi
case ${1:-} in
    purge | 0) rm -rf /var/lib/lockgate /var/lib/private/lockgate ;;
esac
