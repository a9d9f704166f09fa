#!/bin/sh
# The shape of sqm-scripts' simple.qos on a DSL line of 810 kbit/s up: stab with ATM cells, three classes under HTB,
# fq_codel below, marks by the firewall, filters for IPv4, IPv6 and ARP.
TC=/sbin/tc
IFACE=pppoe-wan
CEIL=810
$TC qdisc del dev $IFACE root 2> /dev/null
$TC qdisc add dev $IFACE root handle 1: stab mtu 2047 tsize 512 mpu 0 overhead -4 linklayer atm htb default 12
$TC class add dev $IFACE parent 1: classid 1:1 htb quantum 1500 rate ${CEIL}kbit ceil ${CEIL}kbit burst 1749 cburst 1749
$TC class add dev $IFACE parent 1:1 classid 1:11 htb quantum 1500 rate 128kbit ceil $((CEIL / 3))kbit prio 1
$TC class add dev $IFACE parent 1:1 classid 1:12 htb quantum 1500 rate $((CEIL / 6))kbit ceil $((CEIL - 16))kbit burst 1749 cburst 1749 prio 2
$TC class add dev $IFACE parent 1:1 classid 1:13 htb quantum 1500 rate $((CEIL / 6))kbit ceil $((CEIL - 16))kbit burst 1749 cburst 1749 prio 3
for leaf in 11 12 13; do
    $TC qdisc add dev $IFACE parent 1:$leaf handle ${leaf}0: fq_codel limit 1001 target 17.3ms interval 112.3ms noecn quantum 300 flows 1024
done
$TC filter add dev $IFACE parent 1:0 protocol all prio 999 u32 match ip protocol 0 0x00 flowid 1:12
$TC filter add dev $IFACE parent 1:0 protocol ip prio 1 handle 1/0xff fw classid 1:11
$TC filter add dev $IFACE parent 1:0 protocol ip prio 2 handle 2/0xff fw classid 1:12
$TC filter add dev $IFACE parent 1:0 protocol ip prio 3 handle 3/0xff fw classid 1:13
$TC filter add dev $IFACE parent 1:0 protocol ipv6 prio 4 handle 1/0xff fw classid 1:11
$TC filter add dev $IFACE parent 1:0 protocol arp prio 7 handle 1/0xff fw classid 1:11
$TC filter add dev $IFACE parent 1:0 protocol ip prio 8 u32 match ip protocol 1 0xff flowid 1:13
