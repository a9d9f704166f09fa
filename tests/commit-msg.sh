#!/bin/sh
# Checks a commit message against STYLE.md. `make hooks` installs it; `git commit --no-verify` passes it by.
#
#   tests/commit-msg.sh FILE      the file that git writes the message to
#
# LOCKGATE_BODY=none permits a commit without a body, where the subject says everything.
set -u
message=$(grep -v '^#' "$1" | sed '/^diff --git /,$d')
subject=$(printf '%s\n' "$message" | sed -n 1p)
second=$(printf '%s\n' "$message" | sed -n 2p)
failed=0

refuse() {
    echo "commit-msg: $1" >&2
    failed=1
}

# Those that git makes itself.
case $subject in "Merge "* | "Revert "* | "fixup! "* | "squash! "*) exit 0 ;; esac

printf '%s' "$subject" | grep -Eq '^[a-z][a-z0-9, /+-]*: [a-z]' ||
    refuse "the subject begins with a part of the repository: \`engine: cache the chosen leaf per class\`"
[ "$(printf '%s' "$subject" | wc -m)" -le 72 ] || refuse "the subject is longer than 72 characters"
case $subject in *.) refuse "the subject ends with a full stop" ;; esac
[ -z "$second" ] || refuse "the second line is not empty"

body=$(printf '%s\n' "$message" | sed 1,2d | grep -v '^[A-Z][A-Za-z-]*: ' | tr -d '[:space:]')
[ -n "$body" ] || [ "${LOCKGATE_BODY:-}" = none ] ||
    refuse "there is no body: say why, and what was measured (LOCKGATE_BODY=none: the subject says everything)"
printf '%s\n' "$message" | sed 1d | grep -v '[^ ]\{60,\}' | grep -q '.\{81,\}' &&
    refuse "a line of the body is longer than 80 characters"

phrases=$(dirname "$0")/../crates/cli/tests/phrases.txt
[ -e "$phrases" ] || phrases=$(git rev-parse --show-toplevel 2>/dev/null)/crates/cli/tests/phrases.txt
if [ -e "$phrases" ]; then
    found=$(grep -v '^#' "$phrases" | grep -v '^$' | while read -r phrase; do
        printf '%s\n' "$message" | grep -iwF -e "$phrase" >/dev/null && echo "$phrase"
    done)
    [ -z "$found" ] || refuse "STYLE.md has another word for: $found"
fi

# The number of a decision without a page stays explained in the index.
index=docs/decisions/README.md
withdrawn=$(git show ":$index" 2>/dev/null | sed '1,/^## Withdrawn/d')
for page in $(git diff --cached --name-only --diff-filter=D -M -- docs/decisions 2>/dev/null); do
    number=$(basename "$page" | cut -c1-3)
    printf '%s\n' "$withdrawn" | grep -q "^- $number " ||
        refuse "$page is deleted, and $number is not in the withdrawn numbers of $index"
done
exit $failed
