"""Makes the site in target/site: all documents by mdBook, with search, JSON schemas, reports and an index for programs.

The order of pages is that of docs/README.md and of docs/decisions/README.md: a page that is in neither is an error.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The playground as a folder, which `make play` builds.
PLAY = ROOT / "web/dist/play"
EMBED = re.compile(r"<!-- playground: (\S+) (.+?) -->")
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
    # Pages beside the code that others lead to.
    beside = {path for page in seen for path in links(page) if path.suffix == ".md" and path not in seen}
    parts.append(("Beside the code", [(page, []) for page in sorted(beside)]))
    seen.update(beside)
    lost = [p for p in ROOT.glob("docs/**/*.md") if p not in seen]
    if lost:
        sys.exit(f"on no index: {', '.join(str(p.relative_to(ROOT)) for p in lost)}")
    return parts


def summary(parts: list[tuple[str, list[tuple[Path, list[Path]]]]]) -> str:
    """Returns mdBook's table of contents."""
    lines = ["# Summary", "", "[Lockgate](README.md)", "[All documents](docs/README.md)", f"[Reports]({REPORTS})"]
    for name, pages in parts:
        lines += ["", f"# {name}", ""]
        for page, below in pages:
            lines.append(f"- [{title(page)}]({page.relative_to(ROOT)})")
            lines += [f"  - [{title(p)}]({p.relative_to(ROOT)})" for p in below]
    return "\n".join(lines) + "\n"


def index_for_programs(parts: list[tuple[str, list[tuple[Path, list[Path]]]]]) -> str:
    """Returns llms.txt: title and address of each page, and of each schema."""
    lines = ["# Lockgate", "", "> A laboratory and a router for packet scheduling: one scenario file is simulated in exact time, "
             "judged, and put on real packets.", ""]
    for name, pages in parts:
        lines += [f"## {name}", ""]
        lines += [f"- [{title(p)}]({address(p)})" for page, below in pages for p in (page, *below)]
        lines.append("")
    lines += ["## Schemas", ""]
    lines += [f"- [{name}](schemas/{name}.json)" for name in SCHEMAS]
    return "\n".join(lines) + "\n"


def address(page: Path) -> str:
    """Returns the page's file in the site."""
    path = page.relative_to(ROOT)
    return str(path.with_name("index.html") if path.name == "README.md" else path.with_suffix(".html"))


REPORTS = "reports.md"
SCHEMAS = ("scenario", "policy", "summary", "conformance", "against")
SCENARIOS = ("bufferbloat", "voice-beside-bulk", "classes-of-service")


def copy_pages(source: Path, parts: list[tuple[str, list[tuple[Path, list[Path]]]]]) -> int:
    """Copies all pages and the files that they link to; returns the number of pages."""
    pages = [ROOT / "README.md", ROOT / "docs/README.md"] + [p for _, ps in parts for page, below in ps for p in (page, *below)]
    tracked = {ROOT / name for name in git_files()}
    # Pictures, scenarios, and sources as plain text.
    wanted = set(pages) | {path for page in pages for path in links(page) if path in tracked}
    for path in wanted | {ROOT / "docs/site/site.css", ROOT / "docs/site/site.js"}:
        copy = source / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    for page in pages:
        copy = source / page.relative_to(ROOT)

        def to_page(match: re.Match[str], page: Path = page) -> str:
            """A link to a folder leads to its README, or to the list of all documents. mdBook calls a README index.html."""
            target, fragment = match[1], match[2] or ""
            path = (page.parent / target).resolve()
            if "://" in target:
                return match[0]
            if path.is_dir():
                path /= "README.md"
                path = path if path in wanted else ROOT / "docs/README.md"
            if path.name != "README.md":
                return match[0]
            return f"]({os.path.relpath(path.with_name('index.md'), page.parent)}{fragment})"

        def to_frame(match: re.Match[str], page: Path = page) -> str:
            """A part of the playground within the page; nothing if it is not built."""
            if not PLAY.is_dir():
                return ""
            play = os.path.relpath(ROOT / "play/index.html", page.parent)
            return f'<iframe class="playground" loading="lazy" title="{match[2]}" src="{play}#{match[1]}"></iframe>'

        copy.write_text(EMBED.sub(to_frame, LINK.sub(to_page, copy.read_text())))
    return len(pages)


def reports(lockgate: str, folder: Path, runs: Path) -> str:
    """Makes reports of scenarios and papers, as the commands leave them; returns the page that lists them."""
    folder.mkdir(parents=True)
    lines = ["# Reports", "", "As the commands leave them: one file each, which opens offline.", "", "| command | report |", "| --- | --- |"]
    commands = [(["run", f"scenarios/{name}.toml"], name) for name in SCENARIOS]
    commands += [(["reproduce", path.parent.name, "--quick"], path.parent.name) for path in sorted(ROOT.glob("papers/*/claims.toml"))]
    for command, name in commands:
        run = subprocess.run([lockgate, *command, "--quiet", "--out", str(runs / name)], cwd=ROOT, stdout=subprocess.DEVNULL)
        if run.returncode not in (0, 3):
            sys.exit(f"{name}: status {run.returncode}")
        shutil.copy(runs / name / "report.html", folder / f"{name}.html")
        lines.append(f"| `lockgate {' '.join(command)}` | [{name}](reports/{name}.html) |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description="Makes the site: pages by mdBook, with search, schemas, reports and llms.txt.")
    parser.add_argument("lockgate", help="the program, which prints schemas and makes reports")
    parser.add_argument("--out", type=Path, default=ROOT / "target/site")
    parser.add_argument("--without-reports", action="store_true", help="the pages alone, in seconds")
    options = parser.parse_args()
    lockgate, site = str(Path(options.lockgate).resolve()), options.out.resolve()
    shutil.rmtree(site, ignore_errors=True)
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        source = work / "src"
        parts = contents()
        count = copy_pages(source, parts)
        listed = "# Reports\n\nThis copy of the site has no reports.\n"
        if not options.without_reports:
            listed = reports(lockgate, source / "reports", work / "runs")
        (source / REPORTS).write_text(listed)
        (source / "SUMMARY.md").write_text(summary(parts))
        shutil.copy(ROOT / "docs/site/book.toml", work / "book.toml")
        subprocess.run(["mdbook", "build", str(work), "--dest-dir", str(site)], check=True, env=os.environ | {"MDBOOK_LOG": "warn"})
    if PLAY.is_dir():
        shutil.copytree(PLAY, site / "play")
    else:
        print("no playground: `make play` builds it")
    (site / "schemas").mkdir()
    for name in SCHEMAS:
        text = subprocess.run([lockgate, "schema", name], check=True, capture_output=True).stdout
        (site / f"schemas/{name}.json").write_bytes(text)
    (site / "llms.txt").write_text(index_for_programs(parts))
    print(f"{site}/index.html: {count + 1} pages")


if __name__ == "__main__":
    main()
