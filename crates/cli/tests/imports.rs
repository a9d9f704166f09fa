//! No two files of a crate import each other, directly or through others, unless one is the other's module.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Path of a module in its crate: `["node", "contents"]`; empty for `lib.rs`.
type Module = Vec<String>;

/// Source of a module: comments and test modules left out.
type Sources = BTreeMap<Module, String>;

#[test]
fn files_of_a_crate_import_in_one_direction() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut cycles = Vec::new();
    for folder in fs::read_dir(crates).expect("crates").map(|entry| entry.expect("an entry").path()) {
        let source = folder.join("src");
        if source.is_dir() {
            let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
            let found = cycles_of(&imports(&read_modules(&source)));
            cycles.extend(found.iter().map(|cycle| format!("{name}: {}", shown(cycle))));
        }
    }
    println!("{} import cycles between files that are not parent and child", cycles.len());
    assert!(cycles.is_empty(), "{cycles:#?}");
}

#[test]
fn cycles_are_found() {
    let module = |path: &str| path.split('/').map(str::to_owned).collect::<Module>();
    let sources: Sources = [
        ("a", "use crate::b::{self, c::One, Two as Other};"),
        ("b", "pub use self::c::Three; use super::d::Four;"),
        ("b/c", "use super::Five;"),
        ("d", "fn f() { crate::a::f() }"),
    ]
    .map(|(path, text)| (module(path), text.to_owned()))
    .into();
    let cycles = cycles_of(&imports(&sources));
    assert_eq!(cycles.len(), 1, "a parent and its child are none");
    assert_eq!(shown(&cycles[0]), "a, b, d");
}

fn shown(cycle: &[Module]) -> String {
    let name = |module: &Module| if module.is_empty() { "lib".to_owned() } else { module.join("/") };
    cycle.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// Reads the modules below `folder`, tests aside.
fn read_modules(folder: &Path) -> Sources {
    let mut modules = Sources::new();
    let mut folders: Vec<PathBuf> = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for path in fs::read_dir(next).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let inner = path.strip_prefix(folder).expect("inside").with_extension("");
                let mut module: Module =
                    inner.iter().map(|part| part.to_string_lossy().into_owned()).collect();
                if matches!(module[..], [ref root] if root == "lib" || root == "main") {
                    module.clear();
                }
                if module.iter().all(|part| part != "tests") {
                    modules.insert(module, without_tests(&fs::read_to_string(&path).expect("text")));
                }
            }
        }
    }
    modules
}

/// Removes comments, and everything after `#[cfg(test)]`: by our convention tests end a file.
fn without_tests(text: &str) -> String {
    let end = text.find("#[cfg(test)]\nmod tests").unwrap_or(text.len());
    text[..end].lines().map(|line| line.split("//").next().unwrap_or_default().to_owned() + "\n").collect()
}

/// Returns the modules that each module imports, its ancestors and descendants aside.
fn imports(sources: &Sources) -> BTreeMap<Module, BTreeSet<Module>> {
    let mut uses: BTreeMap<&Module, Vec<Module>> = BTreeMap::new();
    // Names that a module imports or passes on, by module and name.
    let mut known: BTreeMap<(&Module, String), Module> = BTreeMap::new();
    for (module, text) in sources {
        for path in paths(text) {
            let Some(full) = absolute(module, &path, sources) else { continue };
            if let Some(name) = full.last() {
                known.insert((module, name.clone()), full.clone());
            }
            uses.entry(module).or_default().push(full);
        }
    }
    let is_related = |a: &Module, b: &Module| a.starts_with(b) || b.starts_with(a);
    let resolved = |(module, paths): (&&Module, &Vec<Module>)| {
        let targets = paths.iter().map(|path| file_of(path, sources, &known));
        let others = targets.filter(|target| !is_related(module, target)).collect();
        ((*module).clone(), others)
    };
    uses.iter().map(resolved).collect()
}

/// Returns all paths that `text` imports, and those in its code that begin with `crate`, `super` or `self`.
fn paths(text: &str) -> Vec<Module> {
    let mut found = Vec::new();
    let mut code = String::new();
    for (index, part) in text.split("use ").enumerate() {
        match part.split_once(';') {
            Some((tree, rest)) if index > 0 && !tree.contains(['(', '=']) => {
                found.extend(expand(tree));
                code += rest;
            }
            _ => code += part,
        }
    }
    let is_path = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
    for word in code.split(|letter| !is_path(letter)) {
        if ["crate::", "super::", "self::"].iter().any(|root| word.starts_with(root)) {
            found.push(word.split("::").map(str::to_owned).collect());
        }
    }
    found
}

/// Returns the paths of a tree such as `a::{b, c::{d, e}}`; a name given by `as` is left out.
fn expand(tree: &str) -> Vec<Module> {
    let Some((before, inner)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default().trim();
        return vec![path.split("::").map(|part| part.trim().to_owned()).collect()];
    };
    let inner = inner.rsplit_once('}').map_or(inner, |(inner, _)| inner);
    let (mut parts, mut depth) = (vec![String::new()], 0_u32);
    for letter in inner.chars() {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if letter == ',' && depth == 0 {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(letter);
        }
    }
    let before = before.trim();
    let inner = parts.iter().filter(|part| !part.trim().is_empty());
    inner.flat_map(|part| expand(&format!("{before}{}", part.trim()))).collect()
}

/// Returns a path from the crate's root; `None` for another crate's.
fn absolute(module: &Module, path: &[String], sources: &Sources) -> Option<Module> {
    let mut full = module.clone();
    let mut rest = path;
    match rest.first()?.as_str() {
        "crate" => (full, rest) = (Module::new(), &rest[1..]),
        "self" => rest = &rest[1..],
        "super" => {
            while rest.first().is_some_and(|part| part == "super") {
                full.pop()?;
                rest = &rest[1..];
            }
        }
        child => {
            full.push(child.to_owned());
            if !sources.contains_key(&full) {
                return None;
            }
            full.pop();
        }
    }
    full.extend(rest.iter().filter(|part| *part != "self").cloned());
    Some(full)
}

/// Returns the file that defines what `path` names: where a module only passes a name on, the one it comes
/// from.
fn file_of(path: &Module, sources: &Sources, known: &BTreeMap<(&Module, String), Module>) -> Module {
    let mut path = path.clone();
    for _ in 0..8 {
        let length = (0..=path.len()).rev().find(|length| sources.contains_key(&path[..*length]));
        let Some(length) = length else { break };
        let module = path[..length].to_vec();
        let next = path.get(length).and_then(|name| known.get(&(&module, name.clone())));
        match next {
            Some(from) if *from != path[..=length] => {
                path = from.iter().chain(&path[length + 1..]).cloned().collect();
            }
            _ => return module,
        }
    }
    path
}

/// Returns the sets of modules that reach each other.
fn cycles_of(imports: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<Vec<Module>> {
    let reach: BTreeMap<&Module, BTreeSet<&Module>> =
        imports.keys().map(|module| (module, reachable(module, imports))).collect();
    let mut cycles = BTreeSet::new();
    for (module, reached) in &reach {
        let is_mutual = |other: &&&Module| reach.get(**other).is_some_and(|back| back.contains(module));
        let cycle: Vec<Module> = reached.iter().filter(is_mutual).map(|other| (**other).clone()).collect();
        if cycle.len() > 1 {
            cycles.insert(cycle);
        }
    }
    cycles.into_iter().collect()
}

fn reachable<'a>(start: &Module, imports: &'a BTreeMap<Module, BTreeSet<Module>>) -> BTreeSet<&'a Module> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&Module> = imports.get(start).into_iter().flatten().collect();
    while let Some(next) = open.pop() {
        if reached.insert(next) {
            open.extend(imports.get(next).into_iter().flatten());
        }
    }
    reached
}
