#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes a Python environment with the real launchers, once, outside of the repository, and prints its folder.
#
# Usage: tests/launch/packages/make.sh debian|current
#
# debian   DeepSpeed 0.14.5 and ColossalAI 0.5.0 beside Debian's torch 1.13 (package python3-torch): 60 MB
# current  torch 2.15, DeepSpeed 0.19.8, ColossalAI 0.5.0, TensorBoard 2.21, transformers 5.23: 5.7 GB
#
# The packages are pinned by hash in <set>.txt; the folder is named after that file's own hash, so that a change of
# it makes another. Of DeepSpeed and ColossalAI only what is written in Python is installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
umask 022 # pods run as other users too
set=${1:?usage: make.sh debian|current}
list=$PWD/$set.txt
version=$(cat "$list" make.sh | sha256sum | cut -c 1-12)
export HOME=${SIGNALBOX_HOME:-~} # with the user's settings: the home of a suite is empty
home=${XDG_CACHE_HOME:-$HOME/.cache}/signalbox
[[ $EUID != 0 ]] || home=/var/cache/signalbox # pods of other users cannot enter /root
folder=${SIGNALBOX_CACHE:-$home}/launchers-$set-$version
if [[ -e $folder/complete ]]; then
    echo "$folder"
    exit 0
fi
options=()
if [[ $set == debian ]]; then
    /usr/bin/python3 -c 'import torch' 2>/dev/null || {
        echo "launch: Debian's python3-torch is not installed" >&2
        exit 1
    }
    options=(--system-site-packages)
fi
# Runs of the suites side by side may all come here: one makes it, the others wait.
mkdir -p "${folder%/*}"
exec 9>"$folder.lock"
flock 9
if [[ -e $folder/complete ]]; then
    echo "$folder"
    exit 0
fi
rm -rf "$folder"
mkdir "$folder"
{
    /usr/bin/python3 -m venv "${options[@]}" "$folder"
    # The two that are source packages ask for setuptools while they are built.
    grep -E '^(setuptools|wheel|packaging)==' "$list" >"$folder/build.txt"
    pip() {
        DS_BUILD_OPS=0 "$folder/bin/pip" --disable-pip-version-check install -q --no-cache-dir --no-deps \
            --no-build-isolation --require-hashes "$@"
    }
    pip -r "$folder/build.txt"
    pip -r "$list"
} >&2
if [[ $set == debian ]]; then
    # Debian's torchrun fails under Python 3.11, where `for s in Std` leaves out the member 0.
    cat >"$folder/bin/torchrun" <<END
#!$folder/bin/python
import sys
from torch.distributed.elastic.multiprocessing.api import Std
pairs = lambda text: (map(int, pair.split(":")) for pair in text.split(","))
Std.from_str = lambda text: {rank: Std(which) for rank, which in pairs(text)} if ":" in text else Std(int(text))
from torch.distributed.run import main
sys.exit(main())
END
    chmod +x "$folder/bin/torchrun"
fi
touch "$folder/complete"
echo "$folder"
