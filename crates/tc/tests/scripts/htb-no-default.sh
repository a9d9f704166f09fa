#!/bin/sh
# A per-address limiter as found on OpenWrt: HTB without `default`, so that all other traffic passes unshaped and first
# (direct packets), class ids by counting. Two devices in one script.
dev=br-lan
tc qdisc add dev $dev root handle 1: htb
tc class add dev $dev parent 1: classid 1:1 htb rate 30mbit
tc class add dev $dev parent 1:1 classid 1:11 htb rate 8mbit ceil 8mbit
tc filter add dev $dev parent 1:0 protocol ip u32 match ip dst 192.168.1.21 flowid 1:11
tc class add dev $dev parent 1:1 classid 1:12 htb rate 4mbit ceil 4mbit
tc filter add dev $dev parent 1:0 protocol ip u32 match ip dst 192.168.1.22 flowid 1:12
tc qdisc add dev ${dev}-ifb root handle 1: htb
tc class add dev ${dev}-ifb parent 1: classid 1:1 htb rate 20mbit
tc class add dev ${dev}-ifb parent 1:1 classid 1:11 htb rate 2mbit ceil 2mbit
tc filter add dev ${dev}-ifb parent 1:0 protocol ip u32 match ip src 192.168.1.21 flowid 1:11
