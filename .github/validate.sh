#!/usr/bin/env bash
# The last step of action.yml: `etconfig validate` once, for all devices together, and `etconfig matrix` on them,
# if there is a file of expected options. A finding is one annotation, since GitHub shows ten of a step.
#
# Its variables are inputs of the action: FILES, PROGRAM, FACTS, DEVICES, EXPECT and PROFILE_PATH. Words in them are
# separated by spaces or lines; EXPECT is one path, and so may be a line of PROGRAM. Patterns in FACTS and PROGRAM
# stand for the files that match.
set -euo pipefail
shopt -s globstar nullglob

read -r -d '' -a files <<<"$FILES" || true
read -r -d '' -a patterns <<<"$FACTS" || true
read -r -d '' -a names <<<"${DEVICES:-}" || true
read -r -d '' -a directories <<<"$PROFILE_PATH" || true
options=(--format github)
programs=()
while IFS= read -r line; do
    if [ -e "$line" ]; then
        programs+=("$line")
        continue
    fi
    for word in $line; do programs+=("$word"); done
    if [ -n "${line//[[:space:]]/}" ] && [ -z "$(printf '%s' $line)" ]; then
        echo "::error::the input 'program' names no file: ${line//[^[:graph:]]/?}"
        exit 2
    fi
done <<<"$PROGRAM"
for each in ${programs[@]+"${programs[@]}"}; do options+=(--program "$each"); done
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
etconfig validate "${files[@]}" "${options[@]}" ${devices[@]+"${devices[@]}"} || status=$?

if [ -n "$EXPECT" ]; then
    if [ ${#devices[@]} -eq 0 ]; then
        echo "::error::the input 'expect' needs devices: give 'facts' the patterns of their sheets, or 'devices' names"
        exit 2
    fi
    matrix=(${programs[@]+"${programs[@]}"} --expect "$EXPECT")
    matrix+=("${devices[@]}")
    for each in ${directories[@]+"${directories[@]}"}; do matrix+=(--profile-path "$each"); done
    if [ "$status" -eq 0 ]; then # it would repeat the annotations of errors
        etconfig matrix "${matrix[@]}" --format github || status=$?
    fi
    if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
        etconfig matrix "${matrix[@]}" --format markdown >>"$GITHUB_STEP_SUMMARY" 2>/dev/null || true
    fi
fi
exit "$status"
