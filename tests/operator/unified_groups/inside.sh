#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What the machine of suite.py does: checks.py as root and as an ordinary user in groups of different rights.
#
# Usage: inside.sh <folder of the sources> <signalbox>
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TMPDIR=/run
busybox ifconfig lo 127.0.0.1 up
# Either may lie where only root can go.
mkdir /run/source
mount --bind "$1" /run/source
touch /run/signalbox
mount --bind "$2" /run/signalbox
groups=/sys/fs/cgroup
nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
checks="python3 -B /run/source/tests/operator/unified_groups/checks.py /run/signalbox"

# Runs a check, which is "$@", and shows how it ended.
check() {
    name=$1
    shift
    echo "== $name, after $(cut -d' ' -f1 /proc/uptime) s"
    "$@"
    echo "== $name: exit code $?"
}

# The check $1 in a group that the user may make groups beside, by these files of the group above.
session() {
    test=$1
    shift
    mkdir -p "$groups/user/session"
    echo "+memory +pids" >"$groups/cgroup.subtree_control"
    (cd "$groups/user" && chown 65534:65534 -- "$@")
    sh -c "echo 0 >$groups/user/session/cgroup.procs; exec $nobody $checks $test"
    code=$?
    chown -R 0:0 "$groups/user"
    return $code
}

inner() {
    mkdir "$groups/inner"
    sh -c "echo 0 >$groups/inner/cgroup.procs
        exec unshare --cgroup --mount sh -c 'umount $groups; mount -t cgroup2 none $groups; exec $checks Inner'"
}

check "root" $checks Root
check "delegated" session User.test_delegated . cgroup.procs cgroup.subtree_control
check "groups that no one may enter" session User.test_not_delegated . cgroup.subtree_control
check "not delegated" session User.test_not_delegated session
check "part of the hierarchy" inner
busybox poweroff -f
