#!/bin/sh
# Runs every scenario beside this script with each congestion control and prints one table in Markdown: of each, how many
# of the expectations hold over SEEDS (1..3). Of a scenario that also varies something else, all its variants are counted.
#
#   scenarios/ccwg/table.sh [path of lockgate]
set -u
lockgate=${1:-target/release/lockgate}
here=$(dirname "$0")
work=$(mktemp -d) || exit 4
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

echo "| scenario | reno | cubic | bbr | dctcp | prague |"
echo "| --- | --- | --- | --- | --- | --- |"
for file in "$here"/*.toml; do
  name=$(basename "$file" .toml)
  if ! "$lockgate" compare "$file" --seeds "${SEEDS:-1..3}" --quiet >"$work/said" 2>"$work/complained"; then
    cat "$work/complained" >&2
    exit 1
  fi
  # Columns are two spaces or more apart; the last one is `holds`, such as 2/3.
  awk -v name="$name" '
    /^#/ { inside = 1; next }
    inside && NF == 0 { exit }
    inside {
      split($NF, part, "/")
      for (field = 1; field <= NF; field++)
        if ($field ~ /^(reno|cubic|bbr|dctcp|prague)$/) { held[$field] += part[1]; of[$field] += part[2] }
    }
    END {
      printf "| [%s](%s.toml) |", name, name
      count = split("reno cubic bbr dctcp prague", order, " ")
      for (index_ = 1; index_ <= count; index_++) {
        tcp = order[index_]
        text = held[tcp] "/" of[tcp]
        if (held[tcp] < of[tcp]) text = "**" text "**"
        printf " %s |", text
      }
      print ""
    }' "$work/said"
done
