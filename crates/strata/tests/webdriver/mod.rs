//! The little of the `WebDriver` protocol that tests need: a session of Chromium, scripts, commands, the console.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// As root Chromium has no sandbox; and it shall not talk to anybody.
const ARGUMENTS: [&str; 10] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--window-size=1280,900",
];

/// A browser with one page.
pub(crate) struct Browser {
    driver: Child,
    port: u16,
    session: String,
    profile: tempfile::TempDir,
}

impl Browser {
    /// Starts one; none if there is no driver, or no browser that starts.
    pub(crate) fn start() -> Option<Self> {
        // Free now; nobody else is in a hurry to take it.
        let port = TcpListener::bind("127.0.0.1:0").ok()?.local_addr().ok()?.port();
        let mut command = Command::new("chromedriver");
        command.arg(format!("--port={port}")).stdout(Stdio::null()).stderr(Stdio::null());
        let driver = command.spawn().ok()?;
        let profile = tempfile::tempdir().expect("a folder");
        let mut browser = Self { driver, port, session: String::new(), profile };
        let up = |browser: &Self| browser.ask("GET", "/status", None).is_some();
        (0..100).find(|_| {
            up(&browser) || {
                std::thread::sleep(Duration::from_millis(100));
                false
            }
        })?;
        let folder = format!("--user-data-dir={}", browser.profile.path().display());
        let arguments: Vec<_> = ARGUMENTS.iter().map(|&a| a.to_owned()).chain([folder]).collect();
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": { "args": arguments }, "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        let session = browser.ask("POST", "/session", Some(&wanted))?;
        session["sessionId"].as_str()?.clone_into(&mut browser.session);
        Some(browser)
    }

    pub(crate) fn open(&mut self, url: &str) {
        self.of_session("/url", &json!({ "url": url }));
    }

    /// Runs a script in the page and gives what it returns.
    pub(crate) fn run(&mut self, script: &str) -> Value {
        self.of_session("/execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// A command of the browser's own protocol.
    pub(crate) fn command(&mut self, name: &str, parameters: &Value) {
        self.of_session("/goog/cdp/execute", &json!({ "cmd": name, "params": parameters }));
    }

    /// What the console has of warnings and errors.
    pub(crate) fn errors(&mut self) -> Vec<String> {
        let log = self.of_session("/se/log", &json!({ "type": "browser" }));
        let is_bad = |entry: &&Value| ["SEVERE", "WARNING"].contains(&entry["level"].as_str().unwrap_or_default());
        log.as_array().into_iter().flatten().filter(is_bad).map(Value::to_string).collect()
    }

    fn of_session(&mut self, path: &str, body: &Value) -> Value {
        let answer = self.ask("POST", &format!("/session/{}{path}", self.session), Some(body));
        answer.unwrap_or_else(|| panic!("the driver refuses {path}: {body}"))
    }

    /// One request over HTTP; none if it is refused.
    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Option<Value> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(120))).ok()?;
        let body = body.map(Value::to_string).unwrap_or_default();
        let head = format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n", self.port);
        write!(stream, "{head}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len()).ok()?;
        // The driver keeps the connection: the length says where the answer ends.
        let mut reader = BufReader::new(stream);
        let (mut status, mut length) = (String::new(), 0);
        reader.read_line(&mut status).ok()?;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            match line.trim().split_once(':') {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.trim().parse().ok()?;
                }
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let value: Value = serde_json::from_slice(&body).ok()?;
        status.starts_with("HTTP/1.1 200").then(|| value["value"].clone())
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.ask("DELETE", &format!("/session/{}", self.session), None);
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
