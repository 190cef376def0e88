//! Reports in a real browser: Chromium, driven over the `WebDriver` protocol. Where there is none, `.ci/test` says that this is skipped.

mod webdriver;

use serde_json::Value;
use serde_json::json;
use std::path::Path;
use std::process::Command;
use webdriver::Browser;

fn strata(folder: &Path, arguments: &[&str]) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_strata")).args(arguments).current_dir(folder).output().expect("strata runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A comparison and its report, in a folder: where the page is.
fn report(folder: &Path, what: &[&str]) -> String {
    strata(folder, &[&["compare", "--out", "out", "--store", "store"], what].concat());
    let compared = std::fs::read_dir(folder.join("out")).expect("there").flatten().map(|entry| entry.path());
    let compared = compared.filter(|path| path.join("compare.json").is_file()).collect::<Vec<_>>();
    let [compared] = compared.as_slice() else { panic!("one comparison: {compared:?}") };
    strata(folder, &["report", &compared.display().to_string(), "-o", "page.html"]);
    format!("file://{}", folder.join("page.html").display())
}

#[test]
fn a_report_works_in_chromium() {
    let Some(mut browser) = Browser::start() else {
        eprintln!("skipped: needs chromium and chromedriver (apt install chromium chromium-driver)");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    browser.open(&report(folder.path(), &["ilbdc", "--size", "tiny", "--with", "bpc,buddy", "--scale", "16"]));
    let number = |browser: &mut Browser, script: &str| browser.run(script).as_f64().unwrap_or(f64::NAN);

    assert!(number(&mut browser, "return document.querySelectorAll('svg .bar').length") > 6.0, "charts have bars");
    assert!(number(&mut browser, "return document.querySelectorAll('.lead p').length") > 1.0, "sentences come first");
    let fetched = "return performance.getEntriesByType('resource').filter(e => !e.name.startsWith('data:')).length";
    assert_eq!(number(&mut browser, fetched), 0.0, "nothing is fetched");

    // Hover shows the value of a bar.
    let tip = browser.run(
        "const bar = document.querySelector('svg .bar'), box = bar.getBoundingClientRect();
         bar.dispatchEvent(new PointerEvent('pointermove', { clientX: box.x + 1, clientY: box.y + 1, bubbles: true }));
         const tip = document.querySelector('.tip'); return [getComputedStyle(tip).display, tip.textContent];",
    );
    assert_eq!(tip[0], "block");
    assert!(tip[1].as_str().is_some_and(|text| text.contains("speed-up")), "{tip}");

    // A click sorts, another the other way round.
    let sorted = browser.run(
        "const table = [...document.querySelectorAll('table')].find(t => t.tBodies[0].rows.length > 2);
         const head = [...table.querySelectorAll('th')].findIndex(h => h.textContent === 'core cycles' || h.textContent === 'speed-up');
         const column = () => [...table.tBodies[0].rows].map(r => parseFloat(r.cells[head].textContent.replaceAll(',', '')));
         table.querySelectorAll('th')[head].click(); const once = column();
         table.querySelectorAll('th')[head].click(); return [once, column()];",
    );
    let list =
        |k: usize| -> Vec<f64> { sorted[k].as_array().into_iter().flatten().filter_map(Value::as_f64).collect() };
    let (mut up, mut down) = (list(0), list(1));
    if up.first() > up.last() {
        std::mem::swap(&mut up, &mut down);
    }
    assert!(up.len() > 1 && up.is_sorted() && down.iter().rev().is_sorted(), "{sorted}");

    // What is opened shows hot lines with their text, pages, and where memory is compressible.
    browser.run(
        "for (let k = 0; k < 3; k++) document.querySelectorAll('details').forEach(d => { d.fill?.(); d.open = true; })",
    );
    let lines = browser.run(
        "const row = [...document.querySelectorAll('td')].find(c => c.textContent.startsWith('ilbdc.cu:'));
         return row ? row.parentElement.cells[0].textContent : ''",
    );
    assert!(lines.as_str().is_some_and(|text| text.contains(['=', '('])), "a line of the source: {lines}");
    let titles = browser.run("return [...document.querySelectorAll('canvas.map')].map(c => c.closest('.plot').querySelector('h3').textContent).join(';')");
    let titles = titles.as_str().unwrap_or_default();
    assert!(titles.contains("Pages of ") && titles.contains("Compressibility of "), "{titles}");
    let map = browser.run(
        "const map = document.querySelector('canvas.map'), before = map.getBoundingClientRect(), tip = document.querySelector('.tip');
         map.dispatchEvent(new PointerEvent('pointermove', { clientX: before.x + 2, clientY: before.y + 2, bubbles: true }));
         const said = tip.textContent;
         map.closest('.plot').querySelector('.tools button').click();
         const colours = new Set(), data = map.getContext('2d').getImageData(0, 0, map.width, map.height).data;
         for (let k = 0; k < data.length; k += 4) colours.add(data.slice(k, k + 4).join());
         return [said, map.getBoundingClientRect().width / before.width, colours.size];",
    );
    assert!(map[0].as_str().is_some_and(|text| text.contains("sectors asked of L2")), "hover: {map}");
    assert!(map[1].as_f64().is_some_and(|times| times > 1.2) && map[2].as_f64() >= Some(1.0), "zoom: {map}");

    // Dark as the reader's system says, and by the button.
    let background = "return getComputedStyle(document.body).backgroundColor";
    let light = browser.run(background);
    let dark = json!({ "features": [{ "name": "prefers-color-scheme", "value": "dark" }] });
    browser.command("Emulation.setEmulatedMedia", &dark);
    assert_ne!(browser.run(background), light, "dark mode");
    browser.run("document.querySelector('.theme').click()");
    assert_eq!(browser.run(background), light, "the button turns it back");

    // A phone: the page itself never scrolls sideways.
    let phone = json!({ "width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": true });
    browser.command("Emulation.setDeviceMetricsOverride", &phone);
    let wide = "return document.documentElement.scrollWidth - window.innerWidth";
    assert!(number(&mut browser, wide) <= 0.0, "{} pixels too wide", number(&mut browser, wide));
    // Nor does it in a window that is narrower than the page would like.
    let window = json!({ "width": 1000, "height": 844, "deviceScaleFactor": 1, "mobile": false });
    browser.command("Emulation.setDeviceMetricsOverride", &window);
    assert!(number(&mut browser, wide) <= 0.0, "{} pixels too wide", number(&mut browser, wide));
    assert_eq!(browser.errors(), Vec::<String>::new(), "nothing in the console");
}

/// Fifty runs are a page that is small, there at once, and talks to nobody.
#[test]
fn fifty_runs_open_in_two_seconds() {
    let Some(mut browser) = Browser::start() else {
        eprintln!("skipped: needs chromium and chromedriver (apt install chromium chromium-driver)");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let programs =
        ["saxpy", "transpose", "bfs", "reduction", "scalarprod", "nw", "hotspot", "stencil", "mvt", "pagerank"];
    let machines = ["--size", "tiny", "--gpu", "titan-v", "--with", "bpc,stride,srrip,stride+bpc"];
    let page = report(folder.path(), &[&programs[..], &machines].concat());
    let bytes = std::fs::metadata(folder.path().join("page.html")).expect("there").len();
    assert!(bytes < 5_000_000, "{bytes} bytes");
    browser.open(&page);
    let first = browser.run("return document.querySelector('.lead p').textContent");
    assert!(first.as_str().is_some_and(|text| text.contains("50 runs")), "{first}");
    let loaded = browser.run("return performance.getEntriesByType('navigation')[0].loadEventEnd").as_f64();
    println!("{bytes} bytes, loaded after {loaded:?} ms");
    assert!(loaded.is_some_and(|ms| ms > 0.0 && ms < 2000.0), "loaded after {loaded:?} ms");
    assert_eq!(browser.errors(), Vec::<String>::new(), "nothing in the console");
}

/// Numbers that have a colour are numbers: they end at the right and sort by value, those below zero too.
#[test]
fn coloured_numbers_sort_as_numbers() {
    let Some(mut browser) = Browser::start() else {
        eprintln!("skipped: needs chromium and chromedriver (apt install chromium chromium-driver)");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let rows = ["-3.1 %", "+2.0 %", "-10.5 %"].map(|text| [json!({ "t": text, "c": "good" })]);
    let table = json!({ "type": "table", "name": "errors", "headings": ["error"], "rows": rows });
    let section = json!({ "id": "s", "title": "S", "blocks": [table] });
    let saved = json!({ "document": { "title": "T", "lead": [], "sections": [section] } });
    std::fs::write(folder.path().join("saved.json"), saved.to_string()).expect("written");
    strata(folder.path(), &["report", "saved.json", "-o", "page.html"]);
    browser.open(&format!("file://{}", folder.path().join("page.html").display()));
    let sorted = browser.run(
        "document.querySelector('th').click();
         return [...document.querySelectorAll('td.n')].map(cell => cell.textContent).join(', ')",
    );
    assert_eq!(sorted, "+2.0 %, -3.1 %, -10.5 %");
    assert_eq!(browser.errors(), Vec::<String>::new(), "nothing in the console");
}
