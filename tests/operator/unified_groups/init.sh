#!/busybox sh
# SPDX-License-Identifier: Apache-2.0
#
# Process 1 of the machine: its files are those of the machine around it, below a layer in memory, and control groups
# are of version 2. Then it becomes the program that is its arguments; the machine ends with that.
b=/busybox
$b mkdir -p /proc /host /layer /root
$b mount -t proc none /proc
for module in /modules/*; do
    $b insmod "$module"
done
$b mount -t 9p -o ro,trans=virtio,version=9p2000.L,cache=loose,msize=512000 root /host
$b mount -t tmpfs none /layer
$b mkdir /layer/upper /layer/work
$b mount -t overlay -o lowerdir=/host,upperdir=/layer/upper,workdir=/layer/work none /root
$b mount -t proc none /root/proc
$b mount -t sysfs none /root/sys
$b mount -t devtmpfs none /root/dev
$b mkdir -p /root/dev/pts /root/dev/shm
$b mount -t devpts none /root/dev/pts
for folder in dev/shm run; do
    $b mount -t tmpfs -o mode=1777 none "/root/$folder"
done
$b mount -t cgroup2 none /root/sys/fs/cgroup
exec $b switch_root /root "$@"
