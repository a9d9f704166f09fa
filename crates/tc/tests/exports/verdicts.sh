#!/bin/bash
# Verdicts of a real `tc` and a real kernel on the exports of random scenarios, without root.
#
#   LOCKGATE_EXPORTS=DIR cargo test -p lockgate-tc --test exports     writes the exports, a script a kind
#   UML=ROOT verdicts.sh DIR OUT                                      prints refused lines and counts, a line a kind
#
# ROOT has Debian's unpacked package `user-mode-linux` (6.1): a kernel that is an ordinary program. It boots with this
# machine's files, read only, and runs the commands of a kind in one `tc -force -batch`. After each command a word that
# is no object marks its place on standard error; where `tc` ends early, the next run begins behind it. Where the kernel
# ends with "ptrace set fp regs failed", the processor has more registers than it knows: preload what hides them.
set -eu
if [ "$$" != 1 ]; then
  here=$(cd "$(dirname "$0")" && pwd); in=$(cd "$1" && pwd); mkdir -p "$2"; out=$(cd "$2" && pwd)
  for script in "$in"/*.sh; do
    kind=$(basename "$script" .sh)
    sed -n 's/^tc //p' "$script" | awk '{ print; print "mark" NR - 1 }' > "$out/$kind.batch"
  done
  timeout "${LIMIT:-600}" "$UML/usr/bin/linux.uml" mem=256M rootfstype=hostfs rootflags=/ ro quiet con=null \
    con0=null,fd:2 init="$here/verdicts.sh" UML="$UML" OUT="$out" < /dev/null > /dev/null 2> "$out/boot" || true
  [ -f "$out/done" ] || { echo "the kernel did not reach the end:" >&2; tail -n 5 "$out/boot" >&2; exit 1; }
  for batch in "$out"/*.batch; do
    kind=$(basename "$batch" .batch)
    awk -v kind="$kind" '
      FNR == NR { if (!/^mark/) line[++count] = $0; next }
      /^Object "mark/ { ended += / ended$/; if (why != "") { refused++; print kind ": " line[done + 1] "\n  " why } done++; why = ""; next }
      /^Command failed|WARNING|^Warning|^$/ { next }
      line[done + 1] !~ /^qdisc del/ { why = why $0 " " }
      END { print kind ": " count " lines, " refused + 0 " refused" }' "$batch" "$out/$kind.txt"
  done
  exit 0
fi
set +e
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc none /proc; mount -t sysfs none /sys; mount -t tmpfs none /mnt
mkdir -p /mnt/out /mnt/m/lib/modules; mount -t hostfs none /mnt/out -o "$OUT"
ln -s "$UML/usr/lib/uml/modules/$(uname -r)" "/mnt/m/lib/modules/$(uname -r)"
for module in $(find "$UML/usr/lib/uml/modules/" -name 'sch_*.ko' -o -name 'cls_*.ko' -o -name 'act_*.ko' -o -name dummy.ko |
  sed 's#.*/##; s/\.ko$//'); do
  modprobe -q -d /mnt/m "$module" 2> /dev/null || true
done
ip link add eth0 numtxqueues 4 type dummy; ip link set eth0 up
for batch in /mnt/out/*.batch; do
  result=${batch%.batch}.txt; : > "$result"; all=$(grep -c '^mark' "$batch"); place=0
  while [ "$place" -lt "$all" ]; do
    tail -n +$((place * 2 + 1)) "$batch" > /mnt/rest
    tc -force -batch /mnt/rest > /dev/null 2> /mnt/errors || true
    cat /mnt/errors >> "$result"; place=$((place + $(grep -c '^Object "mark' /mnt/errors || true)))
    if [ "$place" -lt "$all" ]; then echo "Object \"mark$place\" ended" >> "$result"; place=$((place + 1)); fi
  done
done
: > /mnt/out/done; sync
halt -f 2> /dev/null || poweroff -f
