#!/bin/sh
# After removal: the profile, unless the administrator wrote or edited it. After purging (Debian) or erasing (Fedora): the
# state of routers, too. Policies of the administrator in /etc/lockgate stay.
set -e
root=${DPKG_ROOT-}
case ${1:-} in
    upgrade | failed-upgrade | abort-install | abort-upgrade | disappear | 1) exit 0 ;;
esac
installed=$root/etc/apparmor.d/lockgate
if [ -e "$installed" ] && [ "$(sed '$d' "$installed" | sha256sum | cut -d' ' -f1)" = "$(sed -n '$s/^# sum //p' "$installed")" ]; then
    apparmor_parser --remove "$installed" 2>/dev/null || true
    rm -f "$installed"
fi
if [ -d "$root/run/systemd/system" ]; then
    systemctl daemon-reload || true
fi
case ${1:-} in
    purge | 0) rm -rf "$root/var/lib/lockgate" "$root/var/lib/private/lockgate" ;;
esac
