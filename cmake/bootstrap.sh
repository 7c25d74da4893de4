#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs the Debian packages that Signalbox is built and tested with; does nothing where all of them are there.
# As root, or with sudo. Names what is missing before it touches anything.
#
# Usage: cmake/bootstrap.sh [set...]     sets: build (default), train, test, full, extra
#   build  compiler, build tools and libraries of the operator, and slirp4netns, by which local pods reach the outside
#   train  what examples/train needs: torch
#   test   what tests/run.sh needs besides
#   full   what tests/run.sh --full needs besides: a second compiler, a virtual machine, makers of images
#   extra  linter, memory checks
set -euo pipefail

packages_of() {
    case $1 in
        build) cat <<'END' ;;
g++
cmake
ninja-build
ccache
git
ca-certificates
libarchive-dev
libboost1.81-dev
libcli11-dev
libfmt-dev
libre2-dev
libseccomp-dev
libspdlog-dev
libssl-dev
libyaml-cpp-dev
libzstd-dev
prometheus-cpp-dev
rapidjson-dev
slirp4netns
zlib1g-dev
END
        train) echo python3-torch ;;
        test) cat <<'END' ;;
binutils
bubblewrap
busybox-static
catch2
clang-format
fakeroot
fish
groff-base
locales
man-db
openssh-client
openssh-server
openssl
pdsh
pkgconf
procps
prometheus
python3
python3-jsonschema
python3-matplotlib
python3-pytest
python3-venv
zsh
zstd
END
        full) cat <<'END' ;;
clang-16
cpio
libclang-rt-16-dev
llvm
qemu-system-x86
skopeo
umoci
END
        extra) cat <<'END' ;;
clang-tidy
valgrind
END
        *)
            echo "bootstrap: no set of packages is named '$1': build, train, test, full, extra" >&2
            return 2
            ;;
    esac
}

wanted=()
for set in "${@:-build}"; do
    list=$(packages_of "$set")
    mapfile -t -O "${#wanted[@]}" wanted <<<"$list"
done

if ! command -v dpkg-query >/dev/null; then
    echo "bootstrap: not a Debian system; needed, under Debian's names: ${wanted[*]}" >&2
    exit 0
fi

installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "${wanted[@]}" 2>/dev/null | sed -n 's/ installed$//p' || true)
missing=()
for package in "${wanted[@]}"; do
    grep -qxF -- "$package" <<<"$installed" || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
    exit 0
fi
echo "bootstrap: missing packages: ${missing[*]}" >&2

as_root=()
if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
        echo "bootstrap: neither root nor sudo: install the packages above, then run this again" >&2
        exit 1
    fi
    as_root=(sudo)
fi

apt() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@" >/dev/null
}
echo "bootstrap: apt-get update, apt-get install" >&2
apt update
apt install -y --no-install-recommends "${missing[@]}"
