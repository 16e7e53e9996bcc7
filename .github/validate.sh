#!/usr/bin/env bash
# The last step of action.yml: `etconfig validate` on each device, or without one on this machine, and
# `etconfig matrix` on all devices, if there is a file of expected options.
#
# Its variables are inputs of the action: FILES, PROGRAM, FACTS, DEVICES, EXPECT and PROFILE_PATH. Words in them are
# separated by spaces or lines; PROGRAM and EXPECT are one path. Patterns in FACTS stand for the files that
# match.
set -euo pipefail
shopt -s globstar nullglob

read -r -d '' -a files <<<"$FILES" || true
read -r -d '' -a patterns <<<"$FACTS" || true
read -r -d '' -a names <<<"${DEVICES:-}" || true
read -r -d '' -a directories <<<"$PROFILE_PATH" || true
options=(--format github)
if [ -n "$PROGRAM" ]; then options+=(--program "$PROGRAM"); fi
for each in ${directories[@]+"${directories[@]}"}; do options+=(--profile-path "$each"); done

devices=()
for pattern in ${patterns[@]+"${patterns[@]}"}; do
    found=()
    for each in $pattern; do
        if [ -e "$each" ]; then found+=("$each"); fi
    done
    if [ ${#found[@]} -eq 0 ]; then
        echo "::error::the input 'facts' names no file: ${pattern//[^[:graph:]]/?}"
        exit 2
    fi
    for each in "${found[@]}"; do devices+=("--facts=$each"); done
done
for each in ${names[@]+"${names[@]}"}; do devices+=("--device=$each"); done

status=0
validate() {
    local code=0
    etconfig validate "${files[@]}" "${options[@]}" "$@" || code=$?
    if [ "$code" -gt "$status" ]; then status=$code; fi
}
if [ ${#devices[@]} -eq 0 ]; then validate; fi
for each in ${devices[@]+"${devices[@]}"}; do validate "$each"; done

if [ -n "$EXPECT" ]; then
    if [ ${#devices[@]} -eq 0 ]; then
        echo "::error::the input 'expect' needs devices: give 'facts' the patterns of their sheets, or 'devices' names"
        exit 2
    fi
    matrix=(${PROGRAM:+"$PROGRAM"} --expect "$EXPECT")
    matrix+=("${devices[@]}")
    for each in ${directories[@]+"${directories[@]}"}; do matrix+=(--profile-path "$each"); done
    code=0
    etconfig matrix "${matrix[@]}" --format github || code=$?
    if [ "$code" -gt "$status" ]; then status=$code; fi
    if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
        etconfig matrix "${matrix[@]}" --format markdown >>"$GITHUB_STEP_SUMMARY" 2>/dev/null || true
    fi
fi
exit "$status"
