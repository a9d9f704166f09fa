#!/usr/bin/env bash
# Makes the corpus of verdicts: make.sh [SCRIPTS...] writes verdicts.txt beside itself.
#
# Needs python3, cc, iproute2, kmod, and in $UML the unpacked package `user-mode-linux` of Debian:
#   apt-get download user-mode-linux && dpkg-deb -x user-mode-linux_*.deb "$UML"
# The kernel is an ordinary program: it has this machine's root as its own, read only, needs no rights, and leaves
# this machine's queues alone. SCRIPTS: further files *.sh, such as what `lockgate tc export` prints.
# Minutes: some 15 for 4,500 lines. A script that hangs the kernel is named and left out.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
: "${UML:?directory of the unpacked package user-mode-linux}"
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
mkdir "$work/in" "$work/out"
python3 "$here/generate.py" "$work/in" "${SEED:-1}"
for script in "$@"; do cp "$script" "$work/in/"; done
cc -O1 -shared -fPIC -o "$work/xstate.so" "$here/xstate.c"
for script in "$work"/in/*.sh; do
  name=$(basename "$script" .sh); [ ! -f "$work/out/$name.log" ] || continue
  LD_PRELOAD="$work/xstate.so" timeout 3000 "$UML/usr/bin/linux.uml" mem=256M rootfstype=hostfs rootflags=/ ro quiet \
    con=null con0=null,fd:2 init="$here/init.sh" UML="$UML" IN="$work/in" OUT="$work/out" < /dev/null > /dev/null 2> "$work/boot" || true
  [ -f "$work/out/$name.log" ] || { echo "the kernel did not come to $name:" >&2; tail -n 5 "$work/boot" >&2; exit 1; }
done
if [ -f "$work/out/.hung" ]; then
  echo "left out, as they hang the kernel: $(paste -sd ' ' "$work/out/.hung")" >&2
  while read -r name; do rm "$work/in/$name.sh"; done < "$work/out/.hung"
fi
python3 "$here/collect.py" "$work/in" "$work/out" > "${VERDICTS:-$here/verdicts.txt}"
[ -z "${KEEP:-}" ] || cp -r "$work/in" "$work/out" "$KEEP/"
