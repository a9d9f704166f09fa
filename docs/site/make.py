"""Makes the site in target/site: all documents by mdBook, with search, JSON schemas, reports and an index for programs.

usage: python3 docs/site/make.py LOCKGATE [MDBOOK]

The order of pages is that of docs/README.md and of docs/decisions/README.md: a page that is in neither is an error.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "target/site-source"
SITE = ROOT / "target/site"
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")


def git_files() -> list[str]:
    """Returns the tracked files."""
    listing = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True)
    return listing.stdout.splitlines()


def links(page: Path) -> list[Path]:
    """Returns the files of the repository that a page links to, in order, without its code blocks."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M)
    found = []
    for target, _ in LINK.findall(text):
        if "://" in target or target.startswith("mailto:"):
            continue
        path = (page.parent / target).resolve()
        if path.is_dir() and (path / "README.md").is_file():
            path /= "README.md"
        if path.is_file() and path not in found:
            found.append(path)
    return found


def title(page: Path) -> str:
    """Returns the first heading."""
    for line in page.read_text().splitlines():
        if line.startswith("# "):
            return line[2:].strip()
    sys.exit(f"{page}: no heading")


def contents() -> list[tuple[str, list[tuple[Path, list[Path]]]]]:
    """Returns the parts of the site: title, and pages with the pages below them."""
    index = ROOT / "docs/README.md"
    parts: list[tuple[str, list[tuple[Path, list[Path]]]]] = []
    seen = {ROOT / "README.md", index}
    for section in re.split(r"^## ", index.read_text(), flags=re.M)[1:]:
        name, body = section.split("\n", 1)
        pages = []
        for target, _ in LINK.findall(body):
            page = (index.parent / target).resolve()
            if page.suffix != ".md" or page in seen:
                continue
            seen.add(page)
            below = []
            if page.name == "README.md" and page.parent.name == "decisions":
                below = [p for p in links(page) if p.parent == page.parent and p not in seen]
                seen.update(below)
            pages.append((page, below))
        parts.append((name.strip(), pages))
    papers = [(p, []) for p in sorted(ROOT.glob("papers/*/README.md"))]
    rest = [(ROOT / "scenarios/README.md", []), (ROOT / "CHANGELOG.md", []), (ROOT / "SECURITY.md", [])]
    parts += [("Papers", papers), ("Scenarios and history", rest)]
    seen.update(p for _, pages in parts for page, below in pages for p in (page, *below))
    lost = [p for p in ROOT.glob("docs/**/*.md") if p not in seen]
    if lost:
        sys.exit(f"on no index: {', '.join(str(p.relative_to(ROOT)) for p in lost)}")
    return parts


def summary(parts: list[tuple[str, list[tuple[Path, list[Path]]]]]) -> str:
    """Returns mdBook's table of contents."""
    lines = ["# Summary", "", "[Lockgate](README.md)", "[All documents](docs/README.md)"]
    for name, pages in parts:
        lines += ["", f"# {name}", ""]
        for page, below in pages:
            lines.append(f"- [{title(page)}]({page.relative_to(ROOT)})")
            lines += [f"  - [{title(p)}]({p.relative_to(ROOT)})" for p in below]
    return "\n".join(lines) + "\n"


def index_for_programs(parts: list[tuple[str, list[tuple[Path, list[Path]]]]]) -> str:
    """Returns llms.txt: title and address of each page, in Markdown."""
    lines = ["# Lockgate", "", "> A laboratory and a router for packet scheduling: one scenario file is simulated in exact time, "
             "judged, and put on real packets.", ""]
    for name, pages in parts:
        lines += [f"## {name}", ""]
        lines += [f"- [{title(p)}]({p.relative_to(ROOT)})" for page, below in pages for p in (page, *below)]
        lines.append("")
    lines += ["## Schemas", ""]
    lines += [f"- [{name}](schemas/{name}.json)" for name in SCHEMAS]
    return "\n".join(lines) + "\n"


SCHEMAS = ("scenario", "policy", "summary", "conformance", "against")


def main() -> None:
    lockgate = str(Path(sys.argv[1]).resolve())
    mdbook = sys.argv[2] if len(sys.argv) > 2 else "mdbook"
    shutil.rmtree(SOURCE, ignore_errors=True)
    shutil.rmtree(SITE, ignore_errors=True)
    parts = contents()
    pages = [ROOT / "README.md", ROOT / "docs/README.md"] + [p for _, ps in parts for page, below in ps for p in (page, *below)]
    tracked = {ROOT / name for name in git_files()}
    # Pages, and the files that they link to: pictures, scenarios, sources as plain text.
    wanted = set(pages) | {path for page in pages for path in links(page) if path in tracked}
    for path in wanted | {ROOT / "docs/site/site.css"}:
        copy = SOURCE / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    (SOURCE / "SUMMARY.md").write_text(summary(parts))
    # A link to a folder leads to its README, or to the list of scenarios.
    for page in pages:
        copy = SOURCE / page.relative_to(ROOT)
        text = copy.read_text()

        def to_page(match: re.Match[str], page: Path = page) -> str:
            target, fragment = match[1], match[2] or ""
            path = (page.parent / target).resolve()
            if "://" in target or not path.is_dir():
                return match[0]
            for name in ("README.md", "scenario.md"):
                if (path / name).is_file():
                    return f"]({target.rstrip('/')}/{name}{fragment})"
            readme = path / "README.md"
            return f"]({os.path.relpath(readme if readme.is_file() else ROOT / 'docs/README.md', page.parent)})"

        copy.write_text(LINK.sub(to_page, text))
    config = (ROOT / "docs/site/book.toml").read_text().replace('language = "en"', 'language = "en"\nsrc = "site-source"')
    config = config.replace("create-missing = false", 'create-missing = false\nbuild-dir = "site"')
    (ROOT / "target/book.toml").write_text(config.replace('"docs/site/site.css"', '"site-source/docs/site/site.css"'))
    subprocess.run([mdbook, "build", str(ROOT / "target")], check=True)
    for name in SCHEMAS:
        text = subprocess.run([lockgate, "schema", name], check=True, capture_output=True).stdout
        (SITE / "schemas").mkdir(exist_ok=True)
        (SITE / f"schemas/{name}.json").write_bytes(text)
    (SITE / "llms.txt").write_text(index_for_programs(parts))
    # Reports to look at, as a run leaves them.
    for name in ("bufferbloat", "voice-beside-bulk", "classes-of-service"):
        out = ROOT / f"target/site-runs/{name}"
        run = subprocess.run([lockgate, "run", f"scenarios/{name}.toml", "--quiet", "--out", str(out)], cwd=ROOT,
                             stdout=subprocess.DEVNULL)
        if run.returncode not in (0, 3):
            sys.exit(f"{name}: status {run.returncode}")
        (SITE / "reports").mkdir(exist_ok=True)
        shutil.copy(out / "report.html", SITE / f"reports/{name}.html")
    print(f"site: {SITE.relative_to(ROOT)}/index.html, {len(pages)} pages")


if __name__ == "__main__":
    main()
