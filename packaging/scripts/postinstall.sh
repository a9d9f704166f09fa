#!/bin/sh
# After installation and after an upgrade. Starts and enables nothing; a router that runs goes on with the program that it
# has, until it is restarted.
set -e
root=${DPKG_ROOT-}
if [ -d "$root/run/systemd/system" ]; then
    systemctl daemon-reload || true
fi
# Live runs of ordinary users need user namespaces, which Ubuntu permits by a profile only. Kernels and parsers before
# AppArmor 4 have no such rule, and need none. A profile that the administrator wrote or edited stays: the last line of
# ours has the checksum of the lines above.
profile=$root/usr/share/lockgate/apparmor/lockgate
installed=$root/etc/apparmor.d/lockgate
sum_of() { sha256sum | cut -d' ' -f1; }
if [ -d "$root/sys/kernel/security/apparmor" ] && apparmor_parser --skip-kernel-load --skip-cache "$profile" >/dev/null 2>&1; then
    if ! [ -e "$installed" ] || cmp -s "$profile" "$installed" || [ "$(sed '$d' "$installed" | sum_of)" = "$(sed -n '$s/^# sum //p' "$installed")" ]; then
        { cat "$profile"; echo "# sum $(sum_of < "$profile")"; } > "$installed.new"
        chmod 644 "$installed.new"
        mv "$installed.new" "$installed"
        apparmor_parser --replace "$installed" || true
    else
        echo "lockgate: $installed was changed and stays; the profile of this version is $profile" >&2
    fi
fi
