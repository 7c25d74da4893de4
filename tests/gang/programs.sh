#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds real schedulers of gangs and queues from Go modules, each set once a machine, and prints the folder of a set as the
# last line of stdout; all else goes to stderr. A folder holds the programs, and in files/ what the module has beside them.
#
# Exit 3: the set cannot be built here; stderr ends with one line that says why.
# Usage: programs.sh [--cached] SET    SET: a name of the table below. --cached: never build; exit 3 if it is not there yet.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/../envtest/go.sh"

cached=
if [[ ${1:-} == --cached ]]; then
    cached=yes
    shift
fi
SET=${1:?"usage: programs.sh [--cached] SET"}

# kubernetes: the release that it is linked with, where the module's own go.mod does not say one that is to be had.
# commands: folders with a `main`, as `cmd/<name>`. files: of the module, which tests install.
kubernetes='' files=() flags=''
case $SET in
    kubernetes)
        # The controller manager too: it is what takes the finalizer of a PodGroup off, and collects what a job owned.
        module=k8s.io/kubernetes version=1.37.2 kubernetes=1.37.2
        commands=(kube-apiserver kube-scheduler kube-controller-manager)
        ;;
    kueue)
        module=sigs.k8s.io/kueue version=0.15.0
        commands=(kueue)
        files=(config/components/crd/bases config/components/webhook/manifests.yaml)
        flags="-X sigs.k8s.io/kueue/pkg/version.GitVersion=v0.15.0"
        ;;
    coscheduling)
        module=sigs.k8s.io/scheduler-plugins version=0.34.1-devel kubernetes=1.34.4
        commands=(scheduler controller)
        files=(config/crd/bases) # its controller ends without the kind ElasticQuota
        ;;
    koordinator)
        module=github.com/koordinator-sh/koordinator version=1.6.0
        commands=(koord-scheduler)
        files=(config/crd/bases config/manager/scheduler-config.yaml)
        ;;
    *) give_up "no set of programs is named '$SET': kubernetes, kueue, coscheduling, koordinator" ;;
esac
FOLDER=$CACHE_ROOT/$SET-$version${kubernetes:+-k8s-$kubernetes}

if [[ -e $FOLDER/complete ]]; then
    echo "$FOLDER"
    exit 0
fi
if [[ -n $cached ]]; then
    give_up "no programs of $SET $version at $FOLDER; tests/gang/programs.sh $SET builds them"
fi
lock_cache "$SET"
if [[ -e $FOLDER/complete ]]; then
    echo "$FOLDER"
    exit 0
fi

GO_MINIMUM_MINOR=26 # Kubernetes 1.37 is written for it
need_go
WORK=$(mktemp -d "$CACHE_ROOT/build.XXXXXX")
trap 'rm -rf "$WORK"' EXIT

build() {
    local directives tree name packages=("${commands[@]/#/$module/cmd/}")
    cd "$WORK"
    if [[ -n $kubernetes ]]; then
        directives=$(kubernetes_directives "$kubernetes")
    else
        # Replacements, too, apply to the main module only.
        directives=$(go_mod_of "$module" "$version")
        directives=$(sed -nE 's/^go [0-9.]+$/&/p; /^(godebug|replace) \(/,/^\)/p; /^(godebug|replace) [^(]/p' "$directives")
    fi
    printf '%s\n' "module signalbox.test/$SET" "require $module v$version" "$directives" >go.mod
    [[ -z $kubernetes ]] || flags+=$(kubernetes_version_flags "$kubernetes")
    mkdir built built/files
    # Two compilers at a time, and after all else: this takes minutes, and gigabytes if no one limits it.
    nice "$GO" build -p 2 -ldflags "-s -w $flags" -o built/ "${packages[@]}" >&2
    tree=$("$GO" list -m -f '{{.Dir}}' "$module")
    for name in "${files[@]}"; do
        cp -r "$tree/$name" built/files/
    done
    chmod -R u+w built
    touch built/complete
    rm -rf "$FOLDER"
    mv built "$FOLDER"
}

say "building $SET $version from Go modules with $("$GO" env GOVERSION) (minutes, once)"
# `set -e` does not work inside a function called under a condition, hence the subshell as a statement of its own.
set +e
(set -e && build)
status=$?
set -e
((status == 0)) || give_up "the build of $SET $version failed (is the Go module proxy reachable?)"
echo "$FOLDER"
