#!/bin/sh
# Runs every scenario beside this script simulated and live, REPEAT times each (5), and prints one table in Markdown:
# medians, their difference, the tolerance, and whether it holds. What was outside the limits of fidelity follows.
#
#   scenarios/twin/table.sh [path of lockgate]
#
# It ends with 3 where a tolerance was missed.
set -u
lockgate=${1:-target/release/lockgate}
here=$(dirname "$0")
work=$(mktemp -d) || exit 4
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

echo "| scenario | metric | simulated | live | difference | tolerance | holds |"
echo "| --- | --- | ---: | ---: | ---: | ---: | --- |"
worst=0
for file in "$here"/*.toml; do
  name=$(basename "$file" .toml)
  "$lockgate" run "$file" --twin --repeat "${REPEAT:-5}" --out "$work/$name" >"$work/said" 2>"$work/complained"
  code=$?
  case $code in
  0 | 3 | 5) ;;
  *)
    cat "$work/complained" >&2
    exit $code
    ;;
  esac
  # The last table: its columns are two spaces or more apart.
  awk -v name="$name" -F '  +' '
    /^simulated and live/ { inside = 1 }
    inside && /^flow\./ {
      holds = $6 ~ /holds/ ? "yes" : "**no**"
      printf "| %s | %s | %s | %s | %s | %s | %s |\n", name, substr($1, 6), $2, $3, $4, $5, holds
    }' "$work/said" | tee "$work/rows"
  grep -q 'no\*\*' "$work/rows" && worst=3
  awk -v name="$name" '
    /^outside the fidelity limits/ { print "- " name ": " $0 }
    /^fidelity$/ { figures = "fidelity"; next }
    figures && /^figure / { next }
    figures && NF == 0 { print "- " name ": " figures; figures = "" }
    figures { sub(/ +at most .*/, ""); gsub(/  +/, " "); figures = figures (figures == "fidelity" ? ": " : ", ") $0 }' "$work/said" >>"$work/fidelity"
done
echo
cat "$work/fidelity"
exit $worst
