//! Acts of agents that are over, as the person's history keeps them: no parameter, no result, no
//! title, and of an address the host alone.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{SitePattern, Timestamp};

/// The site of all local files.
const LOCAL_FILES: &str = "file:";

/// One act of an agent that is over.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastAct {
    /// When it ended.
    pub at: Timestamp,
    /// The owner of the client's token.
    pub owner: Arc<str>,
    /// The client, by the name that it gave itself.
    pub client: Arc<str>,
    /// What the browser was called then, by the person or by itself. Absent if it was in none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub browser: Option<Arc<str>>,
    /// The action; of a batch, its actions too.
    pub action: Arc<str>,
    /// The host of its page, `file:` for local files. Absent if it was in no page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<Arc<str>>,
    /// `complete`, `error`, `timeout`, `expired` or `cancelled`.
    pub ended: Arc<str>,
    /// The code of the end, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Arc<str>>,
    /// From the acceptance to the end, in milliseconds.
    pub took_ms: u64,
}

/// What the person wants with the history.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HistoryWish {
    /// To see the last acts.
    Look,
    /// To have acts kept from now on.
    On,
    /// To have no more acts kept. Those that are kept stay.
    Off,
    /// To have all kept acts removed.
    Clear,
}

/// The site of an address as the history names it: the host without its port, `file:` for local
/// files. `None` for every other address.
#[must_use]
pub fn site_of_address(address: &str) -> Option<Arc<str>> {
    let (scheme, _) = address.split_once(':')?;
    if scheme.eq_ignore_ascii_case("file") {
        return Some(LOCAL_FILES.into());
    }
    // A text that is no host does not get into the history.
    SitePattern::parse(web_host(address)?).ok().map(|host| host.as_str().into())
}

/// The host of a page of the web, as it stands in its address and without its port. `None` for every
/// other address.
#[must_use]
pub fn web_host(address: &str) -> Option<&str> {
    let (scheme, rest) = address.split_once(':')?;
    if !["http", "https"].iter().any(|web| scheme.eq_ignore_ascii_case(web)) {
        return None;
    }
    let authority = rest.strip_prefix("//")?.split(['/', '\\', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let end = host.find(']').map_or(0, |bracket| bracket + 1);
    let host = host[end..].find(':').map_or(host, |colon| &host[..end + colon]);
    (!host.is_empty()).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_address_the_host_alone_is_the_site() {
        for (address, site) in [
            ("https://Shop.example/cart?token=abc#x", "shop.example"),
            ("http://127.0.0.1:8080/secret", "127.0.0.1"),
            ("https://ann:pw@bank.example:8443", "bank.example"),
            ("http://[::1]:7890/mcp", "[::1]"),
            ("HTTPS://a.b?q", "a.b"),
            ("file:///home/ann/taxes.pdf", "file:"),
        ] {
            assert_eq!(site_of_address(address).as_deref(), Some(site), "{address}");
        }
        for none in [
            "about:blank",
            "chrome://settings/passwords",
            "data:text/html,hello",
            "https:///path",
            "https://a b/",
            "javascript://x.example/%0aalert(1)",
            "shop.example",
            "",
        ] {
            assert_eq!(site_of_address(none), None, "{none}");
        }
    }
}
