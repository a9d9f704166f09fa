#!/bin/sh
# Prints which tests were skipped, and why, from the record that they left; the last line counts them.
#
#   tests/skips.sh RECORD
#
# With CI=true it fails if a skipped test is not named in tests/skips.txt.
set -eu
record=$1
allowed=$(dirname "$0")/skips.txt
[ -s "$record" ] || { echo "0 tests skipped"; exit 0; }
sort -u "$record" | sed 's/^/skipped: /'
names=$(sed 's/: .*//' "$record" | sort -u)
unknown=$(echo "$names" | grep -vxF -f "$allowed" || true)
echo "$(echo "$names" | wc -l) tests skipped: $(echo "$names" | paste -sd ' ')"
[ -n "$unknown" ] || exit 0
echo "not named in tests/skips.txt: $(echo "$unknown" | paste -sd ' ')" >&2
[ "${CI:-}" != true ]
