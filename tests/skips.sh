#!/bin/sh
# Prints which tests were skipped, and why, from the record that they left; the last line counts them.
#
#   tests/skips.sh RECORD
#
# With CI=true it fails if a skipped test is not named in tests/skips.txt. What package registries have, `make test`
# installs itself; of the tools that only the system's packages have, it prints the command that installs the missing.
set -eu
record=$1
allowed=$(dirname "$0")/skips.txt
[ -s "$record" ] || { echo "0 tests skipped"; exit 0; }
sort -u "$record" | sed 's/^/skipped: /'
missing=
for tool in chromium:chromium curl:curl ethtool:ethtool ip:iproute2 iperf3:iperf3 nft:nftables ping:iputils-ping \
    promtool:prometheus systemd-analyze:systemd traceroute:traceroute udhcpc:udhcpc udhcpd:udhcpd unshare:util-linux valgrind:valgrind; do
    PATH=$PATH:/usr/sbin:/sbin command -v "${tool%:*}" >/dev/null || missing="$missing ${tool#*:}"
done
[ -z "$missing" ] || echo "tools that tests use, on Debian and Ubuntu: sudo apt-get install --no-install-recommends$missing"
names=$(sed 's/: .*//' "$record" | sort -u)
unknown=$(echo "$names" | grep -vxF -f "$allowed" || true)
echo "$(echo "$names" | wc -l) tests skipped: $(echo "$names" | paste -sd ' ')"
[ -n "$unknown" ] || exit 0
echo "not named in tests/skips.txt: $(echo "$unknown" | paste -sd ' ')" >&2
[ "${CI:-}" != true ]
