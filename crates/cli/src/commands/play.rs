//! `lockgate play`: the playground, served on loopback or written to a file.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lockgate::files::{self, Beside};
use lockgate_monitor::server::start_page;
use lockgate_scenario::Files;
use serde_json::json;

use crate::arguments::Play;
use crate::exit::{Exit, Failure};
use crate::output::tell;
use crate::{interrupt, runs};

/// The page as one file; empty if it was not built before this command.
const PAGE: &str = include_str!(concat!(env!("OUT_DIR"), "/play.html"));

/// Element before which the scenario is put.
const PLACE: &str = "<div id=\"page\">";

pub(crate) fn play(arguments: &Play) -> Result<Exit, Failure> {
    let scenario = arguments.file.as_deref().map(carried).transpose()?;
    if PAGE.is_empty() {
        return Err(Failure::usage(
            "this build of lockgate has no playground",
            "in a clone, `make play` and then `make build` put it in; `lockgate watch FILE --web` shows a run",
        ));
    }
    let page = scenario.map_or_else(|| PAGE.to_owned(), |scenario| with(PAGE, &scenario));
    if let Some(out) = &arguments.out {
        fs::write(out, page).map_err(|error| {
            Failure::usage(
                format!("cannot write `{}`: {}", out.display(), lockgate::io_error::of_writing(&error)),
                "name another file with --out",
            )
        })?;
        return Ok(Exit::Ok);
    }
    interrupt::listen();
    interrupt::on_ended();
    let address = start_page(arguments.web, page)?;
    tell!("playground: http://{address}/ (Ctrl-C ends it)");
    while !interrupt::is_requested() {
        interrupt::wait(Duration::from_hours(1));
    }
    Ok(Exit::Ok)
}

/// Files beside a scenario, and the texts among those that were read.
struct Noted {
    beside: Beside,
    texts: RefCell<BTreeMap<String, String>>,
}

impl Files for Noted {
    fn load(&self, path: &str) -> Result<Arc<[u8]>, String> {
        let bytes = self.beside.load(path)?;
        if let Ok(text) = core::str::from_utf8(&bytes) {
            self.texts.borrow_mut().insert(path.to_owned(), text.to_owned());
        }
        Ok(bytes)
    }
}

/// Returns a scenario as the page takes it: name, text, and the texts of the files that it reads. A page may
/// be given to others: it has no file that the scenario only mentions.
fn carried(path: &Path) -> Result<serde_json::Value, Failure> {
    if !path.exists() {
        return Err(runs::no_such_file(path));
    }
    let text = files::text(path).map_err(|why| {
        Failure::usage(format!("cannot read `{}`: {why}", path.display()), "name a scenario file")
    })?;
    let noted = Noted { beside: Beside::new(path), texts: RefCell::default() };
    // The page says what is wrong with it.
    let _ = lockgate_scenario::read(&text, &path.display().to_string(), &noted, &[]);
    let files = noted.texts.into_inner();
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    Ok(json!({ "name": name, "text": text, "files": files }))
}

/// Puts a scenario into the page.
fn with(page: &str, scenario: &serde_json::Value) -> String {
    // No text can end its element.
    let data = scenario.to_string().replace('<', "\\u003c");
    let element =
        format!("<script type=\"application/json\" id=\"lockgate-scenario\">{data}</script>\n    {PLACE}");
    page.replacen(PLACE, &element, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_is_carried_with_its_files_and_ends_no_element() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("line.txt"), "1\n2\n").expect("written");
        let path = folder.path().join("mine.toml");
        fs::write(folder.path().join("other.txt"), "1\n2\n").expect("written");
        let text = "# </script> \"other.txt\"\nduration = \"1s\"\nnode = { a = {}, b = {} }\n\
            link.line = { between = [\"a\", \"b\"], trace = \"line.txt\" }\n";
        fs::write(&path, text).expect("written");
        let scenario = carried(&path).expect("a scenario");
        assert_eq!(scenario["files"], json!({ "line.txt": "1\n2\n" }));
        let page = with("<body><div id=\"page\"></div></body>", &scenario);
        assert_eq!(page.matches("</script>").count(), 1, "{page}");
        let (_, data) = page.split_once("id=\"lockgate-scenario\">").expect("its element");
        let data = data.split('<').next().expect("data");
        assert_eq!(serde_json::from_str::<serde_json::Value>(data).expect("JSON"), scenario);
        assert!(carried(Path::new("/there/is/none.toml")).is_err());
    }
}
