#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds Helm from its Go module, once, and prints the program's path as the last line of stdout. About 4 minutes where
# nothing is there yet.
#
# Exit 3: it cannot be built here; stderr ends with one line that says why.
# Usage: helm.sh [--cached]    --cached: never build; exit 3 if it is not there yet.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/go.sh"

VERSION=3.19.5 # of Kubernetes 1.34: set below, as releases of Helm have it
FOLDER=$CACHE_ROOT/helm-$VERSION
PROGRAM=$FOLDER/helm

if [[ -x $PROGRAM ]]; then
    echo "$PROGRAM"
    exit 0
fi
if [[ ${1:-} == --cached ]]; then
    give_up "no program $PROGRAM; tests/envtest/helm.sh builds it"
fi
lock_cache
if [[ ! -x $PROGRAM ]]; then
    need_go
    WORK=$(mktemp -d "$CACHE_ROOT/build.XXXXXX")
    trap 'rm -rf "$WORK"' EXIT
    say "building Helm $VERSION (minutes, once)"
    K8S="-X helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor=34"
    GOBIN=$WORK "$GO" install -ldflags "-s -w -X helm.sh/helm/v3/internal/version.version=v$VERSION $K8S" \
        "helm.sh/helm/v3/cmd/helm@v$VERSION" >&2 ||
        give_up "the build of Helm failed (is the Go module proxy reachable?)"
    mkdir -p "$FOLDER"
    mv "$WORK/helm" "$PROGRAM"
fi
echo "$PROGRAM"
