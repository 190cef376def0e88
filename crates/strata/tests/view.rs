//! `strata view`: what it serves, and what it does not.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A server that ends with the test.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn of(folder: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_strata"));
        command.args(["view", "--port", "0"]).arg(folder).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("strata runs");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("an address");
        let port = line.split([':', '/']).find_map(|part| part.parse().ok()).expect("a port");
        Self { child, port }
    }

    /// All that it answers to a request for a path.
    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn results_are_listed_with_what_they_are_and_only_what_pages_link_is_served() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = Command::new(env!("CARGO_BIN_EXE_strata"))
        .args(["run", "saxpy", "--size", "tiny", "--gpu", "titan-v", "--out", "out"])
        .current_dir(folder.path())
        .output();
    assert!(run.expect("strata runs").status.success());
    let out = folder.path().join("out");
    let study = out.join("reproduce-x");
    std::fs::create_dir(&study).expect("made");
    let document = r#"{ "document": { "title": "A study", "lead": ["It <holds>."], "sections": [] } }"#;
    std::fs::write(study.join("reproduction.json"), document).expect("written");
    std::fs::write(study.join("figure-1.csv"), "a,b\n").expect("written");
    std::fs::write(study.join("secret.toml"), "").expect("written");

    let server = Server::of(&out);
    let index = server.get("/");
    assert!(index.contains("saxpy (tiny) on titan-v. ") && index.contains(" core cycles"), "{index}");
    assert!(index.contains("A study. It &lt;holds>."), "{index}");
    let link = index.split("href=\"").find_map(|part| part.strip_prefix("/saxpy-")).expect("a link");
    let name = format!("/saxpy-{}", link.split('"').next().unwrap_or_default());
    assert!(server.get(&name).contains("Where the time goes"), "{name}");
    assert!(server.get("/reproduce-x/figure-1.csv").ends_with("a,b\n"), "what the page links");
    for path in ["/reproduce-x/secret.toml", "/reproduce-x/../out.csv", "/../out", "/saxpy", "/figure-1.csv"] {
        assert!(server.get(path).starts_with("HTTP/1.1 404"), "{path}");
    }
    let alone = Server::of(&study);
    assert!(alone.get("/figure-1.csv").ends_with("a,b\n"));
    assert!(alone.get("/").contains("A study"));
}
