#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds everything and runs the suites: the check that a change must pass. Needs nothing prepared on Debian 12.
#
# Usage: tests/run.sh [--full | --mutants] [argument of ctest...]     e.g. tests/run.sh -R jobcore
#
# CTest's summary comes last, followed by a line for each suite that could not run here, and one with what was left out. The
# exit code is CTest's, or 1 if a build failed.
#
# --full adds the suites that take long or fetch much, and the compiled ones under AddressSanitizer and
# UndefinedBehaviorSanitizer, those with two threads under ThreadSanitizer too, which are builds of their own. --mutants tests the
# tests: wrong lines that they must notice; it compiles each unit alone, which may lack what its neighbours in a unity build have.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mode=plain
case ${1:-} in
--full | --mutants)
    mode=${1#--}
    shift
    ;;
esac
packages=(build train test)
targets=(signalbox_programs signalbox_compiled_tests)
selection=()
if [[ $mode == full ]]; then
    packages+=(full)
    targets=(all all_verify_interface_header_sets)
    selection=(-C full)
fi

say() { printf '\n== %s\n' "$*"; }

run=build/run
export SIGNALBOX_SKIP_DIR=$PWD/$run/skipped
rm -rf "$run"
export SIGNALBOX_COST_DIR=$PWD/$run/costs
mkdir -p "$SIGNALBOX_SKIP_DIR" "$SIGNALBOX_COST_DIR"

# The API server of tests is built once a machine, which takes minutes: beside all else, from the beginning where Go is there. Those
# who need it wait for it (the test envtest_programs). Job control gives it a process group, so that it ends with this script,
# compilers and all.
assets=
build_assets() {
    set -m
    bash tests/envtest/build_assets.sh >/dev/null 2>&1 &
    assets=$!
    set +m
    trap 'kill -- "-$assets" 2>/dev/null || true' EXIT
}

if [[ $mode != mutants ]] && command -v go >/dev/null; then
    build_assets
fi

say "packages"
bash cmake/bootstrap.sh "${packages[@]}"

# A folder of units in one, with sanitizers, takes up to 2.7 GB.
cores=$(nproc)
memory=$(awk '/^MemAvailable:/ { print int($2 / 2700000) }' /proc/meminfo)
jobs=$((memory < 1 ? 1 : memory < cores ? memory : cores))
# Many suites wait for servers and clocks more than they compute; of those that start an API server, fewer at once.
export CTEST_PARALLEL_LEVEL=$((2 * cores + 1))
printf '{"version": {"major": 1, "minor": 0}, "local": [{"api_servers": [{"id": "all", "slots": %d}]}]}\n' $((cores + 1)) \
    >"$run/resources.json"

# build <preset> <target>...
build() {
    local preset=$1
    shift
    say "build: $preset ($jobs jobs)"
    # Configuring prints one line per check, of interest only if it fails.
    cmake --preset "$preset" >"$run/configure-$preset.log" 2>&1 || {
        cat "$run/configure-$preset.log"
        return 1
    }
    cmake --build --preset "$preset" --parallel "$jobs" --target "$@"
}

if [[ $mode == mutants ]]; then
    build dev mutated_programs
    exec ctest --test-dir build/dev -C mutants -L '^mutants$' --output-on-failure --no-tests=error "$@"
fi

if [[ -z $assets ]]; then
    build_assets
fi
build programs "${targets[@]}"
builds=("$PWD/build/programs")
if [[ $mode == full ]]; then
    build asan signalbox_compiled_tests
    builds+=("$PWD/build/asan")
    build tsan signalbox_compiled_tests
    builds+=("$PWD/build/tsan")
    # A tenth less to do: of an allocation it is told eight callers, not thirty.
    export ASAN_OPTIONS=${ASAN_OPTIONS:-malloc_context_size=8}
fi

say "tests"
printf 'subdirs([==[%s]==])\n' "${builds[@]}" >"$run/CTestTestfile.cmake"
status=0
ctest --test-dir "$run" "${selection[@]}" --resource-spec-file "$PWD/$run/resources.json" --output-on-failure --no-tests=error "$@" || status=$?

for file in "$SIGNALBOX_SKIP_DIR"/*.txt; do
    [[ -e $file ]] && sed 's/^/SKIPPED /' "$file"
done
if [[ $mode == plain ]]; then
    left_out=$(ctest --test-dir "$run" -C full -L '^full$' -N | sed -n 's/^ *Test *#[0-9]*: //p' | paste -sd ' ')
    echo "NOT RUN without --full: $left_out; the compiled suites under sanitizers"
fi
exit "$status"
