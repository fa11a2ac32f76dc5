#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs those Debian packages of a list, one name a line, that are missing. It may take minutes, so
# it shows how far it is; all that apt says goes to the log.
# Usage: tests/packages.sh LIST LOG
set -euo pipefail
list=$1
log=$2
STEP=20

missing=()
while read -r name; do
    dpkg-query -W -f '${db:Status-Abbrev}' "$name" 2>/dev/null | grep -q '^ii' || missing+=("$name")
done < <(grep -Ev '^(#|$)' "$list")
has_lists() { ls /var/lib/apt/lists/*Packages* >/dev/null 2>&1; }
if [ ${#missing[@]} = 0 ] && has_lists; then
    exit
fi

as_root=()
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "Debian packages are to be installed (${missing[*]:-apt-get update}), which takes root," \
            "and there is no sudo." >&2
        exit 1
    fi
    as_root=(sudo)
fi

# Every so many packages a line: "  unpacked 40 of 243 packages".
show() {
    local total=0 word rest stage=
    local -A counts=()
    while read -r word rest; do
        case $word in
            [0-9]*) # 0 upgraded, 243 newly installed, 0 to remove and 0 not upgraded.
                [[ $word\ $rest =~ ^([0-9]+)\ upgraded,\ ([0-9]+)\ newly ]] &&
                    total=$((BASH_REMATCH[1] + BASH_REMATCH[2]))
                continue ;;
            Need) # to get 350 MB of archives.
                echo "  $total packages; ${rest#to get } to fetch" | sed 's/ of archives\.//'
                continue ;;
            Get:*) stage=fetched ;;
            Unpacking) stage=unpacked ;;
            Setting) stage='set up' ;; # up NAME (VERSION)
            *) continue ;;
        esac
        counts[$stage]=$((${counts[$stage]:-0} + 1))
        if ((counts[$stage] % STEP == 0 || counts[$stage] == total)); then
            echo "  $stage ${counts[$stage]} of $total packages"
        fi
    done
}

run() {
    LC_ALL=C ${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive LC_ALL=C "$@" \
        </dev/null 2>&1 | tee -a "$log" | show
}

: >"$log"
echo "Fetching Debian's lists of packages"
run apt-get update -q || { tail -20 "$log"; exit 1; }
if [ ${#missing[@]} != 0 ]; then
    echo "Installing Debian packages: ${missing[*]} (log: $log)"
    run apt-get install -y -q --no-install-recommends "${missing[@]}" || { tail -20 "$log"; exit 1; }
fi
