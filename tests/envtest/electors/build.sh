#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the elector of client-go (main.go) from its Go modules, once, and prints the program's path as the last line of
# stdout. About 2 minutes where nothing is there yet.
#
# Exit 3: it cannot be built here; stderr ends with one line that says why.
# Usage: build.sh [--cached]    --cached: never build; exit 3 if it is not there yet.
set -euo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$HERE/../go.sh"

SOURCES=$(cat "$HERE/main.go" "$HERE/go.mod" | sha256sum | cut -c 1-16)
PROGRAM=$CACHE_ROOT/elector-$SOURCES/elector

if [[ -x $PROGRAM ]]; then
    echo "$PROGRAM"
    exit 0
fi
if [[ ${1:-} == --cached ]]; then
    give_up "no elector of client-go at $PROGRAM; tests/envtest/electors/build.sh builds it"
fi
lock_cache
if [[ ! -x $PROGRAM ]]; then
    need_go
    WORK=$(mktemp -d "$CACHE_ROOT/build.XXXXXX")
    trap 'rm -rf "$WORK"' EXIT
    cp "$HERE/main.go" "$HERE/go.mod" "$WORK"
    cd "$WORK"
    say "building the elector of client-go (minutes, once)"
    { "$GO" mod tidy && "$GO" build -ldflags "-s -w" -o elector .; } >&2 ||
        give_up "the build of the elector failed (is the Go module proxy reachable?)"
    mkdir -p "$(dirname "$PROGRAM")"
    mv elector "$PROGRAM"
fi
echo "$PROGRAM"
