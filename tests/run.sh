#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds everything and runs the suites: the check that a change must pass. Needs nothing prepared on Debian 12.
#
# Usage: tests/run.sh [--full] [argument of ctest...]     e.g. tests/run.sh -R jobcore
#
# Two builds: `asan` for the compiled suites, under AddressSanitizer and UndefinedBehaviorSanitizer, and `programs` for
# what the other suites start. CTest runs both at once and its summary comes last, followed by a line for each
# suite that could not run here. The exit code is CTest's, or 1 if a build failed.
#
# --full adds the suites that take long or fetch much, and runs the compiled ones without sanitizers too; its programs are
# those of `dev`, unit by unit, as the mutants need them. Without it the last lines name what was left out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Suites with CONFIGURATIONS full run only if CTest is asked for that configuration.
selection=(-LE '^plain_build$')
packages=(build train test)
programs=programs
targets=(signalbox_programs)
export SIGNALBOX_COMPILED_SUITES=$PWD/build/asan/bin
if [[ ${1:-} == --full ]]; then
    selection=(-C full)
    packages+=(full)
    programs=dev
    targets=(all all_verify_interface_header_sets)
    unset SIGNALBOX_COMPILED_SUITES
    shift
fi

say() { printf '\n== %s\n' "$*"; }

run=build/run
export SIGNALBOX_SKIP_DIR=$PWD/$run/skipped
rm -rf "$run"
mkdir -p "$SIGNALBOX_SKIP_DIR"

say "packages"
bash cmake/bootstrap.sh "${packages[@]}"

# A folder of units in one, with sanitizers, takes up to 2.7 GB.
cores=$(nproc)
memory=$(awk '/^MemAvailable:/ { print int($2 / 2700000) }' /proc/meminfo)
jobs=$((memory < 1 ? 1 : memory < cores ? memory : cores))
# A tenth less to do under sanitizers: of an allocation that is told eight callers, not thirty.
export ASAN_OPTIONS=${ASAN_OPTIONS:-malloc_context_size=8}
# Many suites wait for servers and clocks more than they compute.
export CTEST_PARALLEL_LEVEL=$((cores + (cores + 1) / 2))

# Configuring prints one line per check, of interest only if it fails.
configure() {
    cmake --preset "$1" >"$run/configure-$1.log" 2>&1 || {
        cat "$run/configure-$1.log"
        return 1
    }
}

# Built once a machine, which takes minutes: beside the other builds. Job control gives it a process group, so that it ends
# with this script, compilers and all.
set -m
bash tests/envtest/build_assets.sh >"$run/assets" 2>"$run/assets.log" &
assets=$!
set +m
trap 'kill -- "-$assets" 2>/dev/null || true' EXIT

say "build: $programs ($jobs jobs)"
configure "$programs"
cmake --build --preset "$programs" --parallel "$jobs" --target "${targets[@]}"

say "build: asan"
configure asan
cmake --build --preset asan --parallel "$jobs" --target signalbox_compiled_tests

say "API server of the envtest suite"
if wait "$assets"; then
    SIGNALBOX_ENVTEST_ASSETS=$(tail -n 1 "$run/assets")
    export SIGNALBOX_ENVTEST_ASSETS
    echo "$SIGNALBOX_ENVTEST_ASSETS"
else
    cat "$run/assets.log"
    # The suites read this and skip themselves, so that CTest counts them.
    SIGNALBOX_ENVTEST_SKIP=$(tail -n 1 "$run/assets.log" | sed "s/^envtest: //")
    export SIGNALBOX_ENVTEST_SKIP
fi

say "tests"
printf 'subdirs("%s/build/%s" "%s/build/asan")\n' "$PWD" "$programs" "$PWD" >"$run/CTestTestfile.cmake"
status=0
ctest --test-dir "$run" "${selection[@]}" --output-on-failure --no-tests=error "$@" || status=$?

for file in "$SIGNALBOX_SKIP_DIR"/*.txt; do
    [[ -e $file ]] && sed 's/^/SKIPPED /' "$file"
done
if [[ ${selection[0]} == -LE ]]; then
    left_out=$(ctest --test-dir "$run" -C full -L '^(full|plain_build)$' -N | sed -n 's/^ *Test *#[0-9]*: //p' | paste -sd ' ')
    echo "NOT RUN without --full: $left_out"
fi
exit "$status"
