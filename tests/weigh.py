#!/usr/bin/env python3
"""Weight of the code and of its documents: lines, words, long functions, and other counts that should fall.

    tests/weigh.py [REVISION...]    of the checkout, or a column for each revision and one for the checkout
    tests/weigh.py --long           the Rust functions over 65 lines, longest first
"""

import re
import subprocess
import sys

# Strings, characters and comments of Rust, TypeScript and Python, longest first.
RUST = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)|r(?P<hashes>#*)".*?"(?P=hashes)|"(?:\\.|[^"\\])*"|'(?:\\.[^']*|[^\\'\n])'""",
    re.DOTALL,
)
SCRIPT = re.compile(r"(?P<comment>//[^\n]*|/\*.*?\*/)|`(?:\\.|[^`\\])*`|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)
PYTHON = re.compile(r'"""(?P<text>.*?)"""|(?P<comment>\#[^\n]*)|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
LANGUAGES = {"rs": RUST, "ts": SCRIPT, "py": PYTHON}
LONGEST = 65
GENERATED = ("web/src/generated/", "python/lockgate/_metrics.py")


def files(revision):
    """Path and text of each tracked file; of the checkout without a revision."""
    if revision is None:
        for path in subprocess.check_output(["git", "ls-files"], text=True).splitlines():
            try:
                yield path, open(path, encoding="utf-8").read()
            except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
                continue
        return
    paths = subprocess.check_output(["git", "ls-tree", "-r", "--name-only", revision], text=True).splitlines()
    wanted = "".join(f"{revision}:{path}\n" for path in paths).encode()
    batch = subprocess.run(["git", "cat-file", "--batch"], input=wanted, stdout=subprocess.PIPE, check=True).stdout
    at = 0
    for path in paths:
        end = batch.index(b"\n", at)
        size = int(batch[at:end].split()[2])
        data, at = batch[end + 1 : end + 1 + size], end + size + 2
        try:
            yield path, data.decode()
        except UnicodeDecodeError:
            continue


def blank(text, language):
    """The text with strings emptied and comments removed; lines stay where they are."""

    def without(match):
        groups = match.groupdict()
        lines = "\n" * match.group().count("\n")
        return lines if groups.get("comment") or groups.get("text") else '""' + lines

    return LANGUAGES[language].sub(without, text)


def block(text, start):
    """Index behind the block in braces that begins at or after `start`."""
    depth = 0
    for at in range(text.index("{", start), len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at + 1
    return len(text)


def functions(code):
    """Number of lines, line and name of each Rust function."""
    for match in re.finditer(r"\bfn (\w+)", code):
        opening = re.compile(r"[{;]").search(code, match.end())
        if opening and opening.group() == "{":
            length = code.count("\n", match.start(), block(code, match.start())) + 1
            yield length, code.count("\n", 0, match.start()) + 1, match[1]


def lines(code):
    return sum(1 for line in code.splitlines() if line.strip())


def is_test(path):
    return bool(re.search(r"(^|/)(tests?|benches|fuzz)/|(^|/)tests?\.|\.test\.ts$|/support/", path))


def weigh(revision):
    """Name and number of each count."""
    counts = dict.fromkeys(
        ["files", "lines of product code", "lines of tests", "lines of comments", "words of Markdown", "pages of Markdown"]
        + ["functions", f"functions over {LONGEST} lines", "Result<_, String>", "#[path]", "the word `place`"],
        0,
    )
    for path, text in files(revision):
        counts["files"] += 1
        language = path.rsplit(".", 1)[-1]
        if language == "md":
            counts["words of Markdown"] += len(text.split())
            counts["pages of Markdown"] += 1
        if language not in LANGUAGES or path.startswith(GENERATED):
            continue
        code = blank(text, language)
        counts["lines of comments"] += lines(text) - lines(code)
        tests = 0
        if language == "rs":
            counts["Result<_, String>"] += len(re.findall(r"Result<[^;{}]*?, String>", code))
            counts["#[path]"] += code.count("#[path")
            counts["the word `place`"] += len(re.findall(r"\bplaces?\b", text))
            lengths = [length for length, *_ in functions(code)]
            counts["functions"] += len(lengths)
            counts[f"functions over {LONGEST} lines"] += sum(length > LONGEST for length in lengths)
            for match in re.finditer(r"#\[cfg\(test\)\]\s*mod \w+ \{", code):
                tests += lines(code[match.start() : block(code, match.start())])
        total = lines(code)
        tests = total if is_test(path) else tests
        counts["lines of tests"] += tests
        counts["lines of product code"] += total - tests
    return counts


def print_long():
    """Prints the functions that are longer than `LONGEST`."""
    long = [
        (length, f"{path}:{line}", name)
        for path, text in files(None)
        if path.endswith(".rs")
        for length, line, name in functions(blank(text, "rs"))
        if length > LONGEST
    ]
    for length, where, name in sorted(long, reverse=True):
        print(f"{length:4}  {where} {name}")


def main():
    if sys.argv[1:] == ["--long"]:
        print_long()
        return
    columns = [(revision, weigh(revision)) for revision in [*sys.argv[1:], None]]
    width = max(map(len, columns[0][1]))
    print(" " * width, *(f"{(revision or 'checkout')[:12]:>12}" for revision, _ in columns))
    for name in columns[0][1]:
        print(f"{name:{width}}", *(f"{counts[name]:12,}" for _, counts in columns))


main()
