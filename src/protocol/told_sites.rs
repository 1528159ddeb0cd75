//! The sites of which the programs of an owner on another machine are told something.

use std::collections::BTreeSet;
use std::sync::Arc;

/// The sites for which the person has given such an owner a word, each as words name it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToldSites(BTreeSet<Arc<str>>);

impl ToldSites {
    /// These sites and no others.
    #[must_use]
    pub const fn new(sites: BTreeSet<Arc<str>>) -> Self {
        Self(sites)
    }

    /// Whether the owner may be told of a page or a request with this address.
    #[must_use]
    pub fn tells(&self, address: &str) -> bool {
        is_empty_page(address) || site_of(address).is_some_and(|site| self.0.contains(&*site))
    }
}

/// Whether an address is that of a page without any content of a site.
fn is_empty_page(address: &str) -> bool {
    address.is_empty() || address == "about:blank"
}

/// The site of an address of the web as words of the person name it, `https://example.com`; that of a
/// WebSocket is the one of the page that it belongs to. `None` for every other address, and for one that a
/// browser would write in another way.
fn site_of(address: &str) -> Option<String> {
    let (scheme, rest) = address.split_once("://")?;
    let (scheme, usual_port) = match scheme {
        "http" | "ws" => ("http", "80"),
        "https" | "wss" => ("https", "443"),
        _ => return None,
    };
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = host.strip_suffix(usual_port).and_then(|it| it.strip_suffix(':')).unwrap_or(host);
    (!host.is_empty()).then(|| format!("{scheme}://{host}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_for_one_site_tells_of_this_site_and_of_no_other() {
        let told = ToldSites::new(BTreeSet::from(["https://a.example".into()]));
        for address in
            ["https://a.example/", "https://a.example:443/x?y#z", "wss://a.example/live", ""]
        {
            assert!(told.tells(address), "{address}");
        }
        for address in [
            "http://a.example/",
            "https://a.example:8443/",
            "https://b.a.example/",
            "https://a.example@b.example/",
            "https://a.example.b.example/",
            "https://a.example.:443/",
            "https://a.example\\@b.example/",
            "https://b.example/https://a.example/",
            "https:a.example",
            "view-source:https://a.example/",
            "data:text/html,https://a.example/",
            "file:///etc/passwd",
            "chrome://settings",
            "about:srcdoc",
        ] {
            assert!(!told.tells(address), "{address}");
        }
        assert!(!ToldSites::default().tells("https://a.example/"));
    }
}
