#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Two training jobs, from submission to completion, without a cluster: builds `signalbox` if it is not up to date, then
# starts it with its embedded API server and simulated pods.
#
# Usage: examples/quickstart.sh [argument of `signalbox dev`...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash cmake/bootstrap.sh build

log=build/quickstart.log
mkdir -p build
quietly() {
    "$@" >"$log" 2>&1 || {
        cat "$log" >&2
        exit 1
    }
}
[[ -f build/release/build.ninja ]] || quietly cmake --preset release
[[ -x build/release/bin/signalbox ]] || echo "quickstart: building signalbox, once (some minutes)" >&2
quietly cmake --build --preset release --parallel "$(nproc)" --target signalbox

exec build/release/bin/signalbox dev \
    --apply examples/manifests/ddp.yaml \
    --apply examples/manifests/torchrun.yaml \
    --until-finished "$@"
