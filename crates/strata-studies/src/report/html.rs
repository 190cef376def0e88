//! A document as one self-contained HTML file: data, script and style inside, nothing fetched.

use super::document::Document;

const SCRIPT: &str = include_str!("assets/report.js");
const STYLE: &str = include_str!("assets/report.css");

/// Nothing may be loaded from anywhere, whatever a document says.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:; connect-src 'self'";

impl Document {
    /// The page.
    pub fn html(&self) -> String {
        // Strings and numbers alone: it cannot fail. Inside a script element only `<` could end the text.
        let data = serde_json::to_string(self).unwrap_or_default().replace('<', "\\u003c");
        format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
             <meta name=\"generator\" content=\"StrataSim {}\">\n\
             <link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n<style>\n{STYLE}</style></head>\n<body>\n\
             <noscript>This report is drawn by a script of its own; nothing is fetched from anywhere.</noscript>\n\
             <script type=\"application/json\" id=\"data\">{data}</script>\n<script>\n{SCRIPT}</script>\n</body></html>\n",
            env!("CARGO_PKG_VERSION"),
            super::chart::escaped(&self.title),
        )
    }
}

#[cfg(test)]
mod tests {
    use crate::report::document::{Block, Document, Section};

    #[test]
    fn a_page_is_one_file_whatever_names_are_in_it() {
        let hostile = "</script><script>alert(1)</script>";
        let section = Section { id: "a".into(), title: hostile.into(), blocks: vec![Block::text(hostile)] };
        let page = Document { title: "a < b".into(), lead: vec![hostile.into()], sections: vec![section] }.html();
        assert!(!page.contains("alert(1)</script>"), "names end no script");
        assert!(page.contains("<title>a &lt; b</title>"));
        assert!(
            !page.contains("http://") || page.matches("http://").count() == page.matches("http://www.w3.org/").count()
        );
        assert!(!page.contains("https://"), "nothing is fetched");
    }
}
