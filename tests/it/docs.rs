//! The documentation says what the program does: what can be generated is, and links lead
//! somewhere.

mod install_links;
mod public_suffixes;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tabwire::protocol::actions::ToolGroup;
use tabwire::tools::ToolSurface;
use testkit::record::BenchRecord;

/// What to do where a generated text is stale.
const REMEDY: &str = "run `UPDATE_DOCS=1 cargo test --test it docs`";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// `docs/tools.md` as the tools themselves have it.
fn tools_page() -> String {
    let mut page = String::from(
        "# Tools\n\nThe tools as `tools/list` shows them to MCP clients. This page is generated from them: \
         change `src/tools/` or\n`src/protocol/actions/`, then run `UPDATE_DOCS=1 cargo test --test it docs`.\n",
    );
    page.push_str(SURFACES);
    page.push_str("\n# The five tools\n");
    for tool in tabwire::tools::list().as_array().unwrap() {
        write!(
            page,
            "\n## `{}`: {}\n\n{}\n",
            text(&tool["name"]),
            text(&tool["title"]),
            text(&tool["description"])
        )
        .unwrap();
        let schema = &tool["inputSchema"];
        let required: Vec<_> = schema["required"].as_array().unwrap().iter().map(text).collect();
        let properties = schema["properties"].as_object().unwrap();
        let (selector, rest): (Vec<_>, Vec<_>) = properties.iter().partition(|(name, schema)| {
            required.contains(&name.as_str()) && schema["enum"].is_array()
        });
        for (name, schema) in selector {
            write!(page, "\n| `{name}` | |\n|---|---|\n").unwrap();
            let described = text(&schema["description"]).lines();
            let described: Vec<_> = described.filter_map(|line| line.split_once(": ")).collect();
            for choice in schema["enum"].as_array().into_iter().flatten().map(text) {
                let is_it = |(name, _): &&(&str, &str)| name.split(' ').next() == Some(choice);
                let (name, what) = described.iter().find(is_it).expect("a description");
                let more = name[choice.len()..].trim();
                let more = if more.is_empty() { String::new() } else { format!("{more} ") };
                writeln!(page, "| `{choice}` | {more}{what} |").unwrap();
            }
        }
        write_parameters(&mut page, &rest);
    }
    write_split_tools(&mut page);
    page
}

const SURFACES: &str = "\
\nThere are two surfaces over the same actions, and calls by the names of either always work. `tabwire mcp` shows the five
tools, whose choices are the actions. `tabwire mcp --tools split` shows a tool for each action, in groups:
`--tools split,nav,files` adds two groups to the core. Of the five tools, parameters that few calls need stand in
brackets behind their choice; the split tools have their types and descriptions.

# Not possible here

Acts and most analyses go through `chrome.debugger`, the browser's protocol for extensions. Chromium gives extensions a
part of that protocol only, by a list of its own, and no permission adds to it:

| Refused by the browser | Without it |
|---|---|
| `HeapProfiler.*`, `Memory.*` | no heap snapshots and no memory of objects: the person takes them in DevTools |
| `Security.*` | no details of certificates, and none is passed over: the person decides on the browser's warning |
| `Browser.*` | no window bounds, permissions or versions by the protocol |
| `Page.setDownloadBehavior` | downloads go where the person has them go |
| news of its own questions | no word that it asks the person for a permission of a page (camera, location): `set_permissions` sets it before |

The debugger is also refused on pages of the browser, of stores and of other extensions (`restricted_page`), and in a tab
that holds a frame of another extension, as password managers put them into pages. Such a frame is set aside while a
command runs. Where the person types there, has switched that off, or the frame comes back each time, `click`, `check`,
`uncheck`, `type`, `select_option`, `fill_form` and `scroll` are done by scripts, and their answers say `input: scripted`
and why (`input_why`). What reads pages, and `wait_for` but for `networkidle` and `function`, needs no debugger in any tab;
the answers say `input: scripted` where nothing else works. `screenshot` has the browser picture the window, which shows
the other extension's frame, too: only while the tab and its document stay in front, at most two a second, the others wait for their
turn; of an element only if it is all in view. All else ends as `foreign_extension_frame`, which names the extension, with
`may_have_run: false`. Two extensions can debug the same tab at the same time.

Acts by script differ from those of a person: their clicks are not `isTrusted`; no keys go down or up, so `slowly` enters sign
by sign and `submit` submits the form; a page in the background is not told of its focus and does not paint; a dialog of
the page is the person's to answer; the wheel, held buttons, choosers of files and editors that take keys only are not
possible. An act after which neither the document, its focus and scroll position, the element, the address, frames, tabs
nor downloads have changed within 1.2 s ends as `foreign_extension_frame`, and so does a text that the field does not
hold: pages can refuse what no person did. While the person types in the tab, scripts leave the focus where it is, and
enter no text into an editor or into the field that the person is in.

While the debugger is attached the browser shows a bar that says so, in every window. It shows none if it was started with
`--silent-debugger-extension-api`, or if a policy of the computer's administrator has installed the extension. The person
then sees only by the popup and the icon that agents work, and has no bar whose Cancel would end that: Stop in the popup
remains.
";

fn write_parameters(page: &mut String, parameters: &[(&String, &Value)]) {
    if parameters.is_empty() {
        return;
    }
    page.push_str("\n| Parameter | Type | |\n|---|---|---|\n");
    for (name, schema) in parameters {
        writeln!(page, "| `{name}` | {} | {} |", kind(schema), text(&schema["description"]))
            .unwrap();
    }
}

/// The tools of each group, with their hints.
fn write_split_tools(page: &mut String) {
    page.push_str("\n# One tool for each action\n");
    let listed = |groups: &str| ToolSurface::parse(groups).unwrap().list().into_owned();
    let core = listed("split");
    for group in ToolGroup::ALL {
        writeln!(page, "\n## Group `{}`", group.name()).unwrap();
        let tools = listed(&format!("split,{}", group.name()));
        let is_own =
            |tool: &&Value| group == ToolGroup::Core || !core.as_array().unwrap().contains(*tool);
        for tool in tools.as_array().unwrap().iter().filter(is_own) {
            let (name, title) = (text(&tool["name"]), text(&tool["title"]));
            let hints = tool["annotations"].as_object().unwrap();
            let hints = hints.iter().map(|(hint, value)| format!("`{hint}` {value}"));
            let hints = hints.collect::<Vec<_>>().join(", ");
            write!(page, "\n### `{name}`: {title}\n\n{}\n\n{hints}\n", text(&tool["description"]))
                .unwrap();
            let properties = tool["inputSchema"]["properties"].as_object().unwrap();
            write_parameters(page, &properties.iter().collect::<Vec<_>>());
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn kind(schema: &Value) -> String {
    if let Some(choices) = schema["enum"].as_array() {
        let choices: Vec<_> = choices.iter().map(|choice| format!("`{}`", text(choice))).collect();
        return choices.join(", ");
    }
    match (schema["minimum"].as_i64(), schema["maximum"].as_i64()) {
        (Some(least), Some(most)) => format!("{} from {least} to {most}", text(&schema["type"])),
        (None, Some(most)) => format!("{} up to {most}", text(&schema["type"])),
        (Some(least), None) => format!("{} from {least}", text(&schema["type"])),
        _ => text(&schema["type"]).to_owned(),
    }
}

/// Sees to it that a generated page is what was generated, or writes it if that is asked for.
fn assert_generated(page: &str, generated: &str) {
    let path = root().join(page);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, generated).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == generated, "{page} is not what the tools say: {REMEDY}");
}

#[test]
fn the_page_of_tools_is_what_the_tools_say() {
    assert_generated("docs/tools.md", &tools_page());
}

#[test]
fn the_schema_of_answers_is_what_the_tools_publish() {
    let schema = serde_json::to_string_pretty(tabwire::tools::answers()).unwrap();
    assert_generated("docs/answers.schema.json", &(schema + "\n"));
}

/// The Markdown files of a folder.
fn pages_in(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join(folder)).unwrap();
    let mut pages: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    pages.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    pages
}

fn pages() -> Vec<PathBuf> {
    [".", "docs", "docs/decisions"].into_iter().flat_map(pages_in).collect()
}

/// The relative targets of a page's links, with their anchors.
fn links(page: &str) -> Vec<(&str, Option<&str>)> {
    let targets = page.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let relative = targets.filter(|target| !target.contains("://"));
    relative
        .map(|target| match target.split_once('#') {
            Some((file, anchor)) => (file, Some(anchor)),
            None => (target, None),
        })
        .collect()
}

/// The anchors of a page's headings, as they are made of their words.
fn anchors(page: &str) -> Vec<String> {
    let headings = page.lines().filter_map(|line| {
        line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#'))
    });
    let anchor = |heading: &str| {
        let kept = heading.to_lowercase().replace(' ', "-");
        kept.chars().filter(|c| c.is_alphanumeric() || *c == '-' || *c == '_').collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn every_link_between_pages_leads_somewhere() {
    for path in pages() {
        let page = std::fs::read_to_string(&path).unwrap();
        for (file, anchor) in links(&page) {
            let target =
                if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            assert!(target.exists(), "{}: no {file}", path.display());
            if let Some(anchor) = anchor {
                let there = anchors(&std::fs::read_to_string(&target).unwrap());
                assert!(
                    there.iter().any(|known| known == anchor),
                    "{}: no #{anchor} in {}",
                    path.display(),
                    target.display()
                );
            }
        }
    }
}

/// The headings of all decisions as the index must name them, by number.
fn decisions() -> Vec<(u32, String)> {
    let mut decisions = Vec::new();
    for path in pages_in("docs/decisions") {
        let file = path.file_name().unwrap().to_str().unwrap().to_owned();
        let page = std::fs::read_to_string(&path).unwrap();
        let mut before = 0;
        for record in page.split("\n## ").skip(1) {
            let (heading, rest) = record.split_once('\n').unwrap();
            let (number, title) = heading.split_once(". ").unwrap();
            let number: u32 = number.parse().unwrap();
            assert!(number > before, "{file}: {number} comes after {before}");
            before = number;
            let dated = rest.trim_start().lines().next().unwrap();
            let (date, status) = dated.split_once(" · Status: ").unwrap();
            assert!(date.starts_with("Date: 20") && date.len() == 16, "{number}: {date}");
            assert!(status == "in force" || status.starts_with("superseded by ["), "{number}");
            let anchor = &anchors(&format!("## {heading}"))[0];
            decisions.push((number, format!("- [{number}](decisions/{file}#{anchor}) {title}")));
        }
    }
    decisions.sort();
    decisions
}

#[test]
fn every_decision_has_its_number_alone_and_a_line_in_the_index() {
    let index = std::fs::read_to_string(root().join("docs/decisions.md")).unwrap();
    let decisions = decisions();
    for (at, (number, line)) in (1..).zip(&decisions) {
        assert_eq!(*number, at, "the numbers have no gap, and none stands twice");
        let listed = index.lines().any(|listed| listed.starts_with(line.as_str()));
        assert!(listed, "docs/decisions.md lacks `{line}`");
    }
    let lines = index.lines().filter(|line| line.starts_with("- [")).count();
    assert_eq!(lines, decisions.len(), "the index names no other decision");
}

/// The code words of a page that name a file or folder of the repository, as paths from its root.
/// The map of the code names files below `src/` without that, and siblings by their name alone.
fn named_files(page: &str, is_map: bool) -> Vec<String> {
    let mut named = Vec::new();
    for line in page.lines() {
        let first_cell = line.strip_prefix("| ").and_then(|row| row.split(" | ").next());
        let words = |text: &str| -> Vec<String> {
            text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
        };
        for word in words(line).iter().filter(|word| is_path(word)) {
            if ["src", "tests", "scripts", "benches", "extension-shim"].contains(&top(word)) {
                named.push(word.clone());
            } else if is_map && word.contains('/') && root().join("src").join(top(word)).is_dir() {
                named.push(format!("src/{word}"));
            }
        }
        let siblings = words(first_cell.filter(|_| is_map).unwrap_or_default());
        if let Some((first, rest)) = siblings.split_first() {
            let Some((folder, _)) = first.trim_end_matches('/').rsplit_once('/') else { continue };
            let alone =
                rest.iter().filter(|word| is_path(word) && !word[..word.len() - 1].contains('/'));
            let base =
                if root().join("src").join(folder).is_dir() { "src" } else { "extension-shim" };
            named.extend(alone.map(|word| format!("{base}/{folder}/{word}")));
        }
    }
    named
}

fn top(path: &str) -> &str {
    path.split('/').next().unwrap_or_default()
}

fn is_path(word: &str) -> bool {
    let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
    plain && (word.ends_with('/') || Path::new(word).extension().is_some())
}

#[test]
fn every_file_that_the_documentation_names_exists() {
    for path in pages().iter().filter(|path| !path.ends_with("CHANGELOG.md")) {
        let page = std::fs::read_to_string(path).unwrap();
        let named = named_files(&page, path.ends_with("architecture.md"));
        // The map names the extension's files from the extension's own folder on.
        let exists = |named: &&String| {
            root().join(named).exists() || root().join("extension-shim").join(named).exists()
        };
        let missing: Vec<_> = named.iter().filter(|named| !exists(named)).collect();
        assert!(missing.is_empty(), "{}: no {missing:?}", path.display());
    }
}

#[test]
fn a_named_file_is_found_by_its_folder() {
    let map =
        "| `hub/core.rs`, `links.rs` | see `docs` |\nand `edge/ws.rs`, `POST /mcp`, `src/lib.rs`";
    let all = ["src/hub/core.rs", "src/hub/links.rs", "src/edge/ws.rs", "src/lib.rs"];
    assert_eq!(named_files(map, true), all);
    assert_eq!(named_files(map, false), ["src/lib.rs"]);
}

#[test]
fn a_broken_link_would_be_found() {
    assert_eq!(links("see [a](x.md#y-z) and [b](https://example.org)"), [("x.md", Some("y-z"))]);
    assert_eq!(anchors("# One\n## Lanes, caps and `x`\ntext"), ["one", "lanes-caps-and-x"]);
}

#[test]
fn the_manifests_of_program_and_extension_have_one_version() {
    let manifest = std::fs::read_to_string(root().join("extension-shim/manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    let package = std::fs::read_to_string(root().join("package.json")).unwrap();
    let package: Value = serde_json::from_str(&package).unwrap();
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(package["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn the_figures_that_people_read_are_those_of_the_record() {
    let record = BenchRecord::read(root()).unwrap();
    for (path, made) in record.documents(root()).unwrap() {
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        assert_generated(&name, &made);
    }
}
