#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the Go program of a folder (main.go, go.mod) from its modules, once, and prints the program's path as the last
# line of stdout. About 2 minutes where nothing is there yet.
#
# Exit 3: it cannot be built here; stderr ends with one line that says why.
# Usage: go_program.sh [--cached] FOLDER    --cached: never build; exit 3 if it is not there yet.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/go.sh"

cached=
if [[ ${1:-} == --cached ]]; then
    cached=yes
    shift
fi
FOLDER=$(cd "$1" && pwd)
NAME=$(basename "$FOLDER")
SOURCES=$(cat "$FOLDER/main.go" "$FOLDER/go.mod" | sha256sum | cut -c 1-16)
PROGRAM=$CACHE_ROOT/$NAME-$SOURCES/$NAME

if [[ -x $PROGRAM ]]; then
    echo "$PROGRAM"
    exit 0
fi
if [[ -n $cached ]]; then
    give_up "no program $PROGRAM; tests/envtest/go_program.sh builds it"
fi
lock_cache
if [[ ! -x $PROGRAM ]]; then
    need_go
    WORK=$(mktemp -d "$CACHE_ROOT/build.XXXXXX")
    trap 'rm -rf "$WORK"' EXIT
    cp "$FOLDER/main.go" "$FOLDER/go.mod" "$WORK"
    cd "$WORK"
    say "building $NAME (minutes, once)"
    { "$GO" mod tidy && "$GO" build -ldflags "-s -w" -o "$NAME" .; } >&2 ||
        give_up "the build of $NAME failed (is the Go module proxy reachable?)"
    mkdir -p "$(dirname "$PROGRAM")"
    mv "$NAME" "$PROGRAM"
fi
echo "$PROGRAM"
