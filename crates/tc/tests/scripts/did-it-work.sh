# A script that cannot work, as people post it ("Did it work?"): a second root (refused by the kernel), a discipline htb with a rate,
# a class without a rate, a leaf below a class that does not exist, a filter to a class of another discipline.
tc qdisc add dev eth0 root handle 1: prio priomap 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2
tc qdisc add dev eth0 root handle 10: htb default 30
tc qdisc add dev eth0 parent 1:1 handle 10: htb rate 2mbit
tc class add dev eth0 parent 10: classid 10:1 htb ceil 2mbit
tc qdisc add dev eth0 parent 10:7 handle 70: pfifo limit 100
tc filter add dev eth0 protocol ip parent 1:0 prio 1 u32 match ip dst 192.168.8.229/32 match ip dport 80 0xffff flowid 20:1
