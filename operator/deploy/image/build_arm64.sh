#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the program for arm64 on another machine, and its image: cross-compiled in a Debian root of its own, since the
# libraries of two architectures cannot all be installed side by side. As root, with the package debootstrap; 2 GB, and
# some minutes. The program runs elsewhere with qemu-user-static: `qemu-aarch64-static -L ROOT ROOT/signalbox --version`.
#
# Usage: build_arm64.sh ROOT LAYOUT
#   ROOT    a folder for the Debian root; kept, and used again
#   LAYOUT  the image, as of build_image.py
set -euo pipefail

if (($# != 2)); then
    sed -n 's/^# \?//; 4,$p' "$0" | sed '/^set /,$d' >&2
    exit 2
fi
root=$(realpath -m "$1")
layout=$(realpath -m "$2")
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

# From where this machine has its own packages.
mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' | awk '$2 == "bookworm" { print $1; exit }')
if [[ ! -e $root/complete ]]; then
    command -v debootstrap >/dev/null || {
        echo "build_arm64.sh: lacks debootstrap (apt-get install debootstrap)" >&2
        exit 2
    }
    debootstrap --variant=minbase --include=ca-certificates bookworm "$root" ${mirror:+"$mirror"}
    cp /etc/apt/apt.conf.d/* "$root/etc/apt/apt.conf.d/"
    chroot "$root" dpkg --add-architecture arm64
    chroot "$root" apt-get -qq update
    chroot "$root" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 install -y --no-install-recommends \
        g++-aarch64-linux-gnu cmake ninja-build git pkg-config libcli11-dev rapidjson-dev \
        libboost1.81-dev:arm64 libfmt-dev:arm64 libspdlog-dev:arm64 libssl-dev:arm64 \
        libyaml-cpp-dev:arm64 prometheus-cpp-dev:arm64
    touch "$root/complete"
fi

commit=$(git rev-parse --short=12 HEAD)
mkdir -p "$root/source"
git ls-files -z | tar --null -c -T - | tar -x -C "$root/source"
chroot "$root" sh -ec "
    cd /source
    cmake --preset release-arm64 -DSIGNALBOX_COMMIT=$commit -DSIGNALBOX_DEV=OFF -DSIGNALBOX_BUILD_K8SIO_SERVER=OFF
    cmake --build --preset release-arm64 --target signalbox
    aarch64-linux-gnu-objcopy --strip-all build/release-arm64/bin/signalbox /signalbox"
version=$(sed -n 's/^    VERSION //p' CMakeLists.txt)
python3 -B operator/deploy/image/build_image.py --root "$root" --version "$version" --revision "$commit" "$root/signalbox" "$layout"
