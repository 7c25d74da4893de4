#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Two training jobs that really train, without a cluster: builds `signalbox` if it is not up to date, then starts it with
# its embedded API server and pods that are processes of this machine. One trains through; of the other a worker crashes in
# the middle, and it goes on from its checkpoint. Where pods cannot be processes, two jobs run with simulated ones.
#
# Usage: examples/quickstart.sh [argument of `signalbox dev`...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash cmake/bootstrap.sh build train

log=build/quickstart.log
mkdir -p build
: >"$log"

quietly() {
    "$@" >>"$log" 2>&1 || {
        cat "$log" >&2
        exit 1
    }
}

# Reads what ninja writes, keeps it in the log, and says how far it is: on a terminal in one line that changes, else in a
# line for each 10 % or 15 s.
show_progress() {
    local line='' begun='' status step=0 steps=0 text
    local -i started=SECONDS last_time=SECONDS last_tenth=0
    local terminal=no
    [[ -t 2 && ${TERM:-dumb} != dumb ]] && terminal=yes
    while :; do
        status=0
        IFS= read -r -t 1 line || status=$?
        if ((status > 128)); then # a second without a whole line
            begun+=$line
        elif ((status == 0)); then
            line=$begun$line begun=''
            printf '%s\n' "$line" >>"$log"
            [[ $line =~ ^@([0-9]+)/([0-9]+)' ' ]] || continue
            step=${BASH_REMATCH[1]} steps=${BASH_REMATCH[2]}
        else
            break
        fi
        local -i elapsed=$((SECONDS - started))
        ((elapsed >= 2 && steps > 0)) || continue
        text="quickstart: building signalbox, $step of $steps steps, $elapsed s"
        ((step * 4 >= steps && step < steps)) && text+=", about $((elapsed * (steps - step) / step + 1)) s left"
        if [[ $terminal == yes ]]; then
            printf '\r\033[K%s' "$text" >&2
        elif ((step * 10 / steps > last_tenth || SECONDS - last_time >= 15)); then
            last_time=$SECONDS last_tenth=$((step * 10 / steps))
            echo "$text" >&2
        fi
    done
    [[ $terminal == no ]] || printf '\r\033[K' >&2
}

[[ -f build/release/build.ninja ]] || quietly cmake --preset release
[[ -x build/release/bin/signalbox ]] || echo "quickstart: building signalbox, once (a minute or two)" >&2
NINJA_STATUS='@%f/%t ' cmake --build --preset release --parallel "$(nproc)" --target signalbox 2>&1 | show_progress || {
    # All but the steps: commands that failed, with what they said.
    grep -v '^@' "$log" >&2
    exit 1
}

signalbox=build/release/bin/signalbox
claims=$(mktemp -d)
trap 'rm -rf "$claims"' EXIT
mkdir "$claims/train-checkpoints"

status=0
"$signalbox" dev --pods process --claims "$claims" --logs \
    --apply examples/train/script.yaml \
    --apply examples/train/ddp.yaml \
    --apply examples/train/restart.yaml \
    --until-finished "$@" || status=$?
if ((status == 2)); then # refused: nothing was started
    echo "quickstart: the same without processes: simulated pods" >&2
    status=0
    "$signalbox" dev \
        --apply examples/manifests/ddp.yaml \
        --apply examples/manifests/torchrun.yaml \
        --until-finished "$@" || status=$?
fi
exit "$status"
