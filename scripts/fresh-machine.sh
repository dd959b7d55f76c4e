#!/usr/bin/env bash
# Runs the README's commands in a bare Debian tree: nothing that this machine happens to have can hide a missing step.
#
# The tree has python3, python3-venv and make, and the files of the last commit. Settings of apt and pip, proxies and
# certificates are taken from this machine. Needs root; installs debootstrap if it is missing. Variables:
#   COMMANDS  what to run, parts separated by ';' (default: make test; make demo)
#   AS        the user to run it as; a name other than root is created in the tree (default: root)
#   KEEP=1    keep the tree
#
# Everything is mounted in a namespace of its own, and all processes of the tree run in one: the kernel unmounts and ends
# them with the script, however it ends. This machine never sees the mounts, so removing the tree cannot follow them.
set -euo pipefail

COMMANDS=${COMMANDS:-make test; make demo}
AS=${AS:-root}
INCLUDED=python3,python3-venv,make,ca-certificates
SYSTEM_PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

refuse() {
    echo "make fresh: $*" >&2
    exit 1
}

# Root may look at a checkout that is someone else's.
repository() { git -c safe.directory='*' "$@"; }

# -- settings of this machine ------------------------------------------------------------------------------------------

VARIABLES='PIP_[A-Z_]+|(http|https|ftp|all|no)_proxy|(HTTP|HTTPS|FTP|ALL|NO)_PROXY'
VARIABLES+='|SSL_CERT_(FILE|DIR)|(REQUESTS|CURL)_CA_BUNDLE'

# Print the environment variables to take along, each ended by a NUL: pip's, proxies, certificates.
settings() { env -0 | grep -zE "^($VARIABLES)=" | grep -zvE '^PIP_(CACHE_DIR|LOG)=' || true; }

# Print apt's settings of how to fetch: proxies, certificates, timeouts. Hooks for this machine's programs stay behind.
fetching() { apt-config dump Acquire | grep -vE '^Acquire::(IndexTargets|cdrom)'; }

PIP_HOME=${XDG_CONFIG_HOME:-$HOME/.config}/pip/pip.conf
pip_files() { find /etc/pip.conf /etc/xdg/pip/pip.conf "$HOME/.pip/pip.conf" "$PIP_HOME" -type f 2>/dev/null || true; }

# Print the absolute paths that the settings name: certificates, folders of wheels.
named() {
    { settings | tr '\0' '\n'; fetching; pip_files | xargs -r cat; } |
        sed -nE 's/^[^="]*[= "]+(\/[^"; :]+).*/\1/p' | sort -u
}

# Copy the files and folders on standard input to the same places in the tree; links become what they point to. The tar
# of the tree unpacks, inside it: a link there to an absolute path cannot lead out of the tree.
take() {
    local path
    while IFS= read -r path; do
        if [ -e "$path" ] && [ "$(realpath "$path")" != / ]; then printf '%s\n' "${path#/}"; fi
    done | { tar -C / -ch -T - 2>/dev/null || true; } | # of links that lead nowhere it complains
        chroot "$tree" tar -x --no-same-owner
}

take_settings() {
    local apt=/etc/apt file
    rm -f "$tree$apt/sources.list" # debootstrap's; this machine's may name the same
    printf '%s\n' /etc/hosts /etc/resolv.conf /usr/share/keyrings /usr/local/share/ca-certificates \
        $apt/sources.list $apt/sources.list.d $apt/auth.conf $apt/auth.conf.d $apt/preferences $apt/preferences.d \
        $apt/keyrings $apt/trusted.gpg $apt/trusted.gpg.d | take
    fetching >"$tree$apt/apt.conf.d/90fetching"
    for file in $(pip_files); do
        case $file in
            "$HOME"/*) install -D -m 600 "$file" "$tree$home/.config/pip/pip.conf" ;;
            *) take <<<"$file" ;;
        esac
    done
    named | take
}

# -- inside the namespace ----------------------------------------------------------------------------------------------

make_tree() {
    local suite uri components proxy=
    suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    uri=$(sources '$(REPO_URI)' "$suite" | head -n 1)
    components=$(sources '$(COMPONENT)' "$suite" | sort -u | paste -sd,)
    [ -n "$uri" ] || refuse "apt has no source for '$suite': run apt-get update first"
    eval "$(apt-config shell proxy Acquire::http::Proxy)"
    [ -z "$proxy" ] || [ "$proxy" = DIRECT ] || export http_proxy="${http_proxy:-$proxy}"
    echo "making a bare tree of $suite in $tree"
    if ! PATH=$SYSTEM_PATH debootstrap --variant=minbase --components="$components" --include="$INCLUDED" \
        "$suite" "$tree" "$uri" >"$place/debootstrap.log" 2>&1; then
        tail -n 20 "$place/debootstrap.log" >&2
        refuse "debootstrap failed"
    fi
    rm -f "$tree"/var/cache/apt/archives/*.deb
}

sources() { apt-get indextargets --format "$1" 'Created-By: Packages' "Codename: $2"; }

mount_tree() {
    mount -t proc proc "$tree/proc"
    mount -t sysfs -o ro sysfs "$tree/sys"
    mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 devpts "$tree/dev/pts"
    mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$tree/dev/shm"
}

take_commit() {
    mkdir "$tree$home/aomg"
    repository archive HEAD | tar -x -C "$tree$home/aomg"
    chroot "$tree" chown -R "$AS:" "$home"
}

inside() {
    local began=$SECONDS command status variables lines=() failed=0
    make_tree
    home=/root
    if [ "$AS" != root ]; then
        home=/home/$AS
        chroot "$tree" useradd --create-home "$AS"
    fi
    mount_tree
    take_settings
    take_commit
    lines+=("$(line "the bare tree" made $((SECONDS - began)))")
    mapfile -d '' -t variables < <(settings)
    while read -r command; do
        [ -n "$command" ] || continue
        echo "== $command (as $AS)"
        began=$SECONDS status=passed
        chroot --userspec="$AS" "$tree" env -i PATH="$SYSTEM_PATH" HOME="$home" LANG=C.UTF-8 "${variables[@]}" \
            sh -c "cd && cd aomg && $command" </dev/null || { status=FAILED failed=1; }
        lines+=("$(line "$command" "$status" $((SECONDS - began)))")
    done < <(tr ';' '\n' <<<"$COMMANDS")
    printf '%s\n' "== make fresh, as $AS, at $(repository rev-parse --short HEAD)" "${lines[@]}"
    return $failed
}

line() { printf '%-40s %-7s %3d:%02d min' "$1" "$2" $(($3 / 60)) $(($3 % 60)); }

# -- outside -----------------------------------------------------------------------------------------------------------

outside() {
    [ "$(id -u)" = 0 ] || refuse "only root can make a bare Debian tree: run it with sudo, or in a container as root"
    local program status=0
    for program in apt-get unshare git; do
        command -v "$program" >/dev/null || refuse "$program is missing: it runs on Debian and its relatives, with git"
    done
    [[ $AS =~ ^[a-z][a-z0-9]*$ ]] || refuse "AS=$AS: give the name of a user, such as guest"
    unshare --mount --pid --fork true 2>/dev/null ||
        refuse "nothing can be mounted here: run it in no container, or in one with --privileged"
    [ -z "$(repository status --porcelain)" ] || echo "make fresh: what is not committed is left out"
    if ! PATH=$PATH:$SYSTEM_PATH command -v debootstrap >/dev/null; then
        echo "installing debootstrap (once)"
        export DEBIAN_FRONTEND=noninteractive
        { apt-get -qq update && apt-get -qq install -y --no-install-recommends debootstrap; } >/dev/null ||
            refuse "debootstrap could not be installed"
    fi
    place=$(mktemp -d "${TMPDIR:-/var/tmp}/aomg-fresh.XXXXXX")
    tree=$place/tree
    mkdir -m 755 "$tree"
    trap clear_up EXIT
    trap 'exit 130' INT TERM HUP
    place=$place tree=$tree unshare --mount --pid --fork --kill-child "$PWD/scripts/${0##*/}" inside &
    child=$!
    wait "$child" || status=$?
    child=
    exit "$status"
}

clear_up() {
    local attempt
    if [ -n "${child:-}" ] && kill -KILL "$child" 2>/dev/null; then # it was interrupted
        wait "$child" || true
    fi 2>/dev/null
    if [ -n "${KEEP:-}" ]; then
        echo "kept: $tree"
    elif grep -q " $place/" /proc/self/mountinfo; then
        echo "make fresh: something is mounted in $tree: unmount it, then remove $place" >&2
    else
        for attempt in 1 2 3; do # processes that were ended this moment may still be going
            rm -rf --one-file-system "$place" 2>/dev/null && return
            sleep "$attempt"
        done
        echo "make fresh: $place could not be removed" >&2
    fi
}

cd "$(dirname "${BASH_SOURCE[0]}")/.."
case ${1:-} in
    inside) inside ;;
    *) outside ;;
esac
