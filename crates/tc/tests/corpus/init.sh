#!/bin/bash
# First program of the user-mode kernel of make.sh: runs every script of $IN on fresh devices, and writes to $OUT for each call
# of `tc` the line of the script, the exit code and what it says. A script that hangs the kernel ends the boot.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc none /proc; mount -t sysfs none /sys; mount -t tmpfs none /mnt
mkdir -p /mnt/out /mnt/modules/lib/modules; mount -t hostfs none /mnt/out -o "$OUT"; mkfifo /mnt/end
ln -s "$UML/usr/lib/uml/modules/$(uname -r)" "/mnt/modules/lib/modules/$(uname -r)"
for module in "$UML/usr/lib/uml/modules/$(uname -r)"/kernel/net/sched/*.ko dummy ifb veth; do
  module=${module##*/}; modprobe -q -d /mnt/modules "${module%.ko}" 2> /dev/null
done
[ -f /mnt/out/.versions ] || { uname -r; tc -V; } > /mnt/out/.versions
ip link set lo up
tc() {
  local line=${BASH_LINENO[0]} said code
  command tc "$@" > /dev/null 2> /mnt/said; code=$?
  said=$(< /mnt/said)
  printf '%s\t%s\t%s\n' "$line" "$code" "${said//$'\n'/ | }" >> "$LOG"
  return $code
}
export -f tc
for script in "$IN"/*.sh; do
  name=${script##*/}; name=${name%.sh}; export LOG=/mnt/out/$name.log
  [ ! -f "$LOG" ] || continue
  for device in eth0 eth1 ifb0; do ip link del $device 2> /dev/null; done
  ip link add eth0 numtxqueues 4 type dummy; ip link add eth1 numtxqueues 4 type dummy; ip link add ifb0 type ifb
  for device in eth0 eth1 ifb0; do ip link set $device up; done
  for kind in police gact mirred skbedit; do command tc actions flush action $kind; done > /dev/null 2>&1
  : > "$LOG"
  (bash "$script" > /dev/null 2>&1; echo > /mnt/end) &
  read -r -t "${HANG:-240}" <> /mnt/end || { echo "$name" >> /mnt/out/.hung; break; }
done
sync
halt -f 2> /dev/null || echo o > /proc/sysrq-trigger
sleep 1; poweroff -f
