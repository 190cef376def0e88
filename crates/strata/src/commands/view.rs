//! `strata view`: results on the loopback interface, drawn anew when they change.

use super::report::document;
use crate::args::View;
use crate::output::{self, Failure};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};
use strata_lab::LabError;

/// A request is a line and a few headers.
const LONGEST_REQUEST: u64 = 16 << 10;
/// Results that are listed, and those whose files are read to say what they are.
const MOST_LISTED: usize = 200;
const MOST_TOLD: usize = 40;

pub(crate) fn view(args: &View) -> Result<ExitCode, Failure> {
    if !args.what.exists() {
        let reason = format!(
            "there is no `{}`: run something first, `strata compare` say, or name a folder of results",
            args.what.display()
        );
        return Err(LabError::Request(reason).into());
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port)).map_err(|e| {
        LabError::Request(format!("cannot listen on port {}: {e}; choose another with `--port`, 0 for any", args.port))
    })?;
    let port = listener.local_addr().map_or(args.port, |address| address.port());
    output::text(&format!("http://127.0.0.1:{port}/  (Ctrl-C ends)\n"))?;
    for stream in listener.incoming().flatten() {
        // Whoever does not read, or asks for nothing, is left.
        let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
        let _ = stream.set_write_timeout(Some(Duration::from_secs(20)));
        let _ = answer(&stream, &args.what);
    }
    Ok(ExitCode::SUCCESS)
}

fn answer(stream: &TcpStream, what: &Path) -> std::io::Result<()> {
    let mut line = String::new();
    BufReader::new(stream.take(LONGEST_REQUEST)).read_line(&mut line)?;
    let wanted = line.split_whitespace().nth(1).unwrap_or("/");
    let (path, _) = wanted.split_once('?').unwrap_or((wanted, ""));
    let (status, kind, body) = match path {
        "/stamp" => ("200 OK", "text/plain", stamp(what)),
        "/" => page(what, what),
        named => {
            let (first, file) = named.trim_start_matches('/').split_once('/').unwrap_or((named.trim_matches('/'), ""));
            let found = match listed(what).into_iter().find(|(name, _)| first == name) {
                Some((_, folder)) if file.is_empty() => Some(page(&folder, what)),
                Some((_, folder)) => beside(&folder, file),
                None => beside(what, first).filter(|_| file.is_empty()),
            };
            found.unwrap_or_else(|| ("404 Not Found", "text/plain", "there is no such result\n".to_owned()))
        }
    };
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// A table or a picture that lies beside a result, whose page links it; nothing else is given away.
fn beside(folder: &Path, name: &str) -> Option<(&'static str, &'static str, String)> {
    let kinds = [(".csv", "text/csv"), (".svg", "image/svg+xml")];
    let (_, kind) = kinds.into_iter().find(|(ending, _)| name.ends_with(ending) && !name.contains(['/', '\\']))?;
    Some(("200 OK", kind, std::fs::read_to_string(folder.join(name)).ok()?))
}

/// A page that looks every second whether there is something new.
fn page(what: &Path, watched: &Path) -> (&'static str, &'static str, String) {
    let made = if what == watched && !is_result(what) && !is_sweep(what) {
        Ok(index(what))
    } else if what.extension().is_some_and(|ending| ending == "html") {
        std::fs::read_to_string(what).map_err(|e| LabError::io("read", what, e))
    } else {
        document(&[what.to_owned()]).map(|document| document.html())
    };
    let follow = format!(
        "<script>(s=>setInterval(()=>fetch('/stamp').then(r=>r.text()).then(t=>{{if(t!==s)location.reload()}}).catch(()=>{{}}),1000))({:?})</script>\n</body>",
        stamp(watched)
    );
    match made {
        Ok(html) => ("200 OK", "text/html", html.replacen("</body>", &follow, 1)),
        // A run that has only begun has nothing to show yet.
        Err(error) => (
            "200 OK",
            "text/html",
            format!("<!doctype html><title>StrataSim</title><pre>{}</pre>{follow}", escaped(&error.to_string())),
        ),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

fn is_result(folder: &Path) -> bool {
    folder.is_file()
        || ["result.json", "compare.json", "reproduction.json"].iter().any(|name| folder.join(name).is_file())
}

fn is_sweep(folder: &Path) -> bool {
    folder.join("points").is_dir() || folder.join("results.parquet").is_file()
}

/// Results below a folder, newest first.
fn listed(what: &Path) -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(what).into_iter().flatten().flatten();
    let mut all: Vec<(SystemTime, String, PathBuf)> = entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir() && is_result(path))
        .map(|path| (changed(&path), path.file_name().unwrap_or_default().to_string_lossy().into_owned(), path))
        .collect();
    all.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    all.into_iter().take(MOST_LISTED).map(|(_, name, path)| (name, path)).collect()
}

fn index(what: &Path) -> String {
    let link = |(k, (name, folder)): (usize, &(String, PathBuf))| {
        let told = if k < MOST_TOLD { told(folder) } else { None };
        let told = told.map_or_else(String::new, |told| format!("<br>{}", escaped(&told)));
        format!("<li><a href=\"/{0}/\">{0}</a>{told}</li>\n", escaped(name))
    };
    let links: String = listed(what).iter().enumerate().map(link).collect();
    let links = if links.is_empty() { "<li>nothing yet</li>".to_owned() } else { links };
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <link rel=\"icon\" href=\"data:,\"><title>Results in {0}</title><style>:root{{color-scheme:light dark}}body{{font:16px/1.6 system-ui,sans-serif;\
         max-width:50rem;margin:2rem auto;padding:0 1rem}}</style></head><body><h1>Results in {0}</h1><ul>\n{links}</ul></body></html>\n",
        escaped(&what.display().to_string())
    )
}

/// What a result is of, and the first sentence of what it says.
fn told(folder: &Path) -> Option<String> {
    let read = |name: &str| serde_json::from_slice::<Value>(&std::fs::read(folder.join(name)).ok()?).ok();
    let found = ["compare.json", "reproduction.json"].into_iter().find_map(read);
    if let Some(document) = found.map(|mut value| value["document"].take()) {
        let (title, lead) = (document["title"].as_str()?, document["lead"][0].as_str().unwrap_or_default());
        return Some(format!("{title}. {lead}"));
    }
    let result = read("result.json")?;
    let text = |key: &str| result[key].as_str().filter(|text| !text.is_empty() && *text != "none");
    let size = text("size").map_or_else(String::new, |size| format!(" ({size})"));
    let gpu = text("gpu").map_or_else(String::new, |gpu| format!(" on {gpu}"));
    let with = text("with").map_or_else(String::new, |with| format!(" with {with}"));
    Some(format!("{}{size}{gpu}{with}. {}", text("name")?, text("answer").unwrap_or_default()))
}

/// When something below was last changed: folders appear when results are whole, files while they are made.
fn changed(path: &Path) -> SystemTime {
    let of = |path: &Path| path.metadata().and_then(|m| m.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    let below = std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| of(&entry.path()));
    below.chain([of(path)]).max().unwrap_or(SystemTime::UNIX_EPOCH)
}

fn stamp(what: &Path) -> String {
    let points = changed(&what.join("points")).max(changed(what));
    points.duration_since(SystemTime::UNIX_EPOCH).map_or_else(|_| "0".to_owned(), |d| d.as_nanos().to_string())
}
