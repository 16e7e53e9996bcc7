#!/usr/bin/env bash
# The last step of action.yml: `etconfig validate` on each fact sheet, or without one on this machine.
#
# Its variables are inputs of the action: FILES, PROGRAM, FACTS and PROFILE_PATH. Words in them are separated
# by spaces or lines; PROGRAM is one path. Patterns in FACTS stand for the files that match.
set -euo pipefail
shopt -s globstar nullglob

read -r -d '' -a files <<<"$FILES" || true
read -r -d '' -a patterns <<<"$FACTS" || true
read -r -d '' -a directories <<<"$PROFILE_PATH" || true
options=(--format github)
if [ -n "$PROGRAM" ]; then options+=(--program "$PROGRAM"); fi
for each in ${directories[@]+"${directories[@]}"}; do options+=(--profile-path "$each"); done

sheets=()
for pattern in ${patterns[@]+"${patterns[@]}"}; do
    found=()
    for each in $pattern; do
        if [ -e "$each" ]; then found+=("$each"); fi
    done
    if [ ${#found[@]} -eq 0 ]; then
        echo "::error::the input 'facts' names no file: ${pattern//[^[:graph:]]/?}"
        exit 2
    fi
    sheets+=("${found[@]}")
done

status=0
validate() {
    local code=0
    etconfig validate "${files[@]}" "${options[@]}" "$@" || code=$?
    if [ "$code" -gt "$status" ]; then status=$code; fi
}
if [ ${#sheets[@]} -eq 0 ]; then validate; fi
for each in ${sheets[@]+"${sheets[@]}"}; do validate --facts "$each"; done
exit "$status"
