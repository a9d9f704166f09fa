#!/bin/sh
# The shape of LibreQoS v1.1 and of many ISP scripts: u32 hash tables by the last byte of the address (256 buckets),
# a class and a leaf for each subscriber. Ten subscribers here; real files have thousands of such lines.
DEV=eth1
tc qdisc add dev $DEV root handle 1: htb default 9999 r2q 100
tc class add dev $DEV parent 1: classid 1:1 htb rate 1000mbit ceil 1000mbit
tc class add dev $DEV parent 1:1 classid 1:9999 htb rate 50mbit ceil 50mbit prio 5
tc qdisc add dev $DEV parent 1:9999 cake diffserv4
tc filter add dev $DEV parent 1:0 prio 5 protocol ip u32
tc filter add dev $DEV parent 1:0 prio 5 handle 3: protocol ip u32 divisor 256
tc filter add dev $DEV parent 1:0 protocol ip prio 5 u32 ht 800:: match ip dst 100.64.0.0/16 hashkey mask 0x000000ff at 16 link 3:
tc class add dev $DEV parent 1:1 classid 1:10 htb rate 2mbit ceil 10mbit burst 15k quantum 1514
tc qdisc add dev $DEV parent 1:10 handle 110: fq_codel
tc filter add dev $DEV parent 1:0 protocol ip prio 5 u32 ht 3:1: match ip dst 100.64.0.1 flowid 1:10
tc class add dev $DEV parent 1:1 classid 1:20 htb rate 4mbit ceil 20mbit burst 15k quantum 1514
tc qdisc add dev $DEV parent 1:20 handle 120: fq_codel
tc filter add dev $DEV parent 1:0 protocol ip prio 5 u32 ht 3:2: match ip dst 100.64.0.2 flowid 1:20
tc class add dev $DEV parent 1:1 classid 1:30 htb rate 6mbit ceil 30mbit burst 15k quantum 1514
tc qdisc add dev $DEV parent 1:30 handle 130: fq_codel
tc filter add dev $DEV parent 1:0 protocol ip prio 5 u32 ht 3:3: match ip dst 100.64.0.3 flowid 1:30
tc class add dev $DEV parent 1:1 classid 1:40 htb rate 8mbit ceil 40mbit burst 15k quantum 1514
tc qdisc add dev $DEV parent 1:40 handle 140: fq_codel
tc filter add dev $DEV parent 1:0 protocol ip prio 5 u32 ht 3:4: match ip dst 100.64.0.4 flowid 1:40
tc class add dev $DEV parent 1:1 classid 1:50 htb rate 10mbit ceil 50mbit burst 15k quantum 1514
tc qdisc add dev $DEV parent 1:50 handle 150: fq_codel
tc filter add dev $DEV parent 1:0 protocol ip prio 5 u32 ht 3:5: match ip dst 100.64.0.5 flowid 1:50
tc class add dev $DEV parent 1:1 classid 1:60 htb rate 12mbit ceil 60mbit burst 15k quantum 1514
tc qdisc add dev $DEV parent 1:60 handle 160: fq_codel
tc filter add dev $DEV parent 1:0 protocol ip prio 5 u32 ht 3:6: match ip dst 100.64.0.6 flowid 1:60
tc class add dev $DEV parent 1:1 classid 1:70 htb rate 14mbit ceil 70mbit burst 15k quantum 1514
tc qdisc add dev $DEV parent 1:70 handle 170: fq_codel
tc filter add dev $DEV parent 1:0 protocol ip prio 5 u32 ht 3:7: match ip dst 100.64.0.7 flowid 1:70
tc class add dev $DEV parent 1:1 classid 1:80 htb rate 16mbit ceil 80mbit burst 15k quantum 1514
tc qdisc add dev $DEV parent 1:80 handle 180: fq_codel
tc filter add dev $DEV parent 1:0 protocol ip prio 5 u32 ht 3:8: match ip dst 100.64.0.8 flowid 1:80
tc class add dev $DEV parent 1:1 classid 1:90 htb rate 18mbit ceil 90mbit burst 15k quantum 1514
tc qdisc add dev $DEV parent 1:90 handle 190: fq_codel
tc filter add dev $DEV parent 1:0 protocol ip prio 5 u32 ht 3:9: match ip dst 100.64.0.9 flowid 1:90
tc class add dev $DEV parent 1:1 classid 1:a0 htb rate 20mbit ceil 100mbit burst 15k quantum 1514
tc qdisc add dev $DEV parent 1:a0 handle 1a0: fq_codel
tc filter add dev $DEV parent 1:0 protocol ip prio 5 u32 ht 3:a: match ip dst 100.64.0.10 flowid 1:a0
