//! Whether a request may pass: one function through which every one goes, over the one
//! table of routes.
//!
//! Denied unless declared. The order of the checks: size, `Host`,
//! `Sec-Fetch-Site`, `Origin`, `Content-Type`, token, route. Headers keep web pages out;
//! the token, and on the socket the proof, keep out programs that can forge headers.

use std::sync::Mutex;

use axum::http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Method};

use super::connections::{ConnectionHandle, ConnectionHolder};
use super::dashboard::access::DashboardAccess;
use super::http_error::HttpError;
use super::routes::{RouteAccess, RouteRule, TABLE};
use crate::admission::PollerAdmission;
use crate::home::{LegacyAnswer, StateDirectory};
use crate::hub::{Caller, Hub};
use crate::lifecycle::TokenBucket;
use crate::owners::LiveOwners;
use crate::proof::{DEFAULT_OWNER, owner_named_by};
use crate::protocol::{
    BROWSER_HEADER, BrowserName, CLIENT_HEADER, ClientId, EXTENSION_ID, Owner, OwnerEntry,
    is_extension_id,
};

/// The largest body that `/mcp` takes, in bytes.
pub(super) const MCP_BODY: usize = 1024 * 1024;

/// The largest body that an extension may post, in bytes.
pub(super) const EXTENSION_BODY: usize = 8 * 1024 * 1024;

/// The largest drawing that an extension may post, in bytes: it has a picture of a whole
/// screen.
pub(super) const DRAWING_BODY: usize = 16 * 1024 * 1024;

/// The largest body that begins a session, in bytes.
pub(super) const SESSION_BODY: usize = 64 * 1024;

/// The largest body of an answer to an agent's question, in bytes.
pub(super) const ANSWER_BODY: usize = 16 * 1024;

/// The largest body that names a tab which the person takes back, in bytes.
pub(super) const TAKEN_TAB_BODY: usize = 256;

/// The largest body that names a site which the person denies, in bytes.
pub(super) const DENIED_SITE_BODY: usize = 1024;

/// The most bytes of the body that switches pictures of acts on or off.
pub(super) const PICTURED_ACTS_BODY: usize = 64;

/// The largest form with a code for the dashboard, in bytes.
pub(super) const CODE_BODY: usize = 1024;

/// How many wrong tokens are looked at in a minute.
const WRONG_TOKENS: usize = 20;

/// The client of a caller that does not name one.
const UNNAMED_CLIENT: &str = "http";

/// The caller of a request that passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Principal {
    /// Any caller, for a public constant.
    Anyone,
    /// The extension of this id; not proven yet.
    Extension(String),
    /// An extension of this id that polls and is let in.
    Poller(String),
    /// An extension of this id that polls; whether it is let in is not looked up yet.
    Asker(String),
    /// The holder of a session's token; the token is not looked up yet.
    Session {
        /// The token in the request.
        token: String,
        /// The extension that asks, if the browser says so.
        extension: Option<String>,
    },
    /// `tabwire open`, which has read the secret.
    Opener,
    /// A dashboard, which shows the commands of all owners and submits none but retries.
    Viewer,
    /// A collector of metrics.
    Scraper,
    /// The holder of a token.
    Caller(Caller),
}

impl Principal {
    /// Who calls, if this proves it as far as the route asks for it. A session's token is
    /// not looked up yet, and an extension's id is no proof.
    pub(super) fn holder(&self) -> Option<ConnectionHolder> {
        match self {
            Self::Caller(caller) => Some(ConnectionHolder::Owner(caller.owner.clone())),
            Self::Poller(id) => Some(ConnectionHolder::Extension(id.clone())),
            Self::Opener | Self::Viewer | Self::Scraper => {
                Some(ConnectionHolder::Owner(DEFAULT_OWNER.into()))
            }
            Self::Anyone | Self::Extension(_) | Self::Asker(_) | Self::Session { .. } => None,
        }
    }
}

/// The checks that every request passes, and the state that they need.
#[derive(Debug)]
pub(super) struct RequestGuard {
    home: StateDirectory,
    port: u16,
    hub: Hub,
    /// The default owner's token, derived once: it is the one that nearly all send.
    token: String,
    wrong_tokens: Mutex<TokenBucket>,
    admission: PollerAdmission,
    dashboard: DashboardAccess,
    owners: LiveOwners,
}

impl RequestGuard {
    pub(super) fn new(home: StateDirectory, port: u16, hub: Hub) -> Self {
        let token = home.auth().token(&DEFAULT_OWNER.into());
        let wrong_tokens = Mutex::new(TokenBucket::new(WRONG_TOKENS, hub.now()));
        let admission = PollerAdmission::new(hub.clone(), home.legacy());
        let dashboard = DashboardAccess::default();
        let owners = LiveOwners::new(hub.clone(), home.owners());
        Self { home, port, hub, token, wrong_tokens, admission, dashboard, owners }
    }

    pub(super) const fn port(&self) -> u16 {
        self.port
    }

    pub(super) const fn home(&self) -> &StateDirectory {
        &self.home
    }

    /// Who decides which extensions that only poll are let in.
    pub(super) const fn admission(&self) -> &PollerAdmission {
        &self.admission
    }

    /// Who may open the dashboard.
    pub(super) const fn dashboard(&self) -> &DashboardAccess {
        &self.dashboard
    }

    /// Whose tokens count.
    pub(super) const fn owners(&self) -> &LiveOwners {
        &self.owners
    }

    /// Whether a request may pass, whose it is, and its route.
    pub(super) fn check(
        &self,
        request: &Parts,
    ) -> Result<(Principal, &'static RouteRule), HttpError> {
        let rule =
            TABLE.iter().find(|r| r.method == request.method && r.is_for(request.uri.path()));
        // Counted here, so that no way through `decide` escapes the statistics.
        let decided = self.decide(request, rule);
        self.hub.count_request(decided.as_ref().err().map(HttpError::code));
        let principal = decided?;
        // Nobody passes without a rule.
        Ok((principal, rule.ok_or(HttpError::Undeclared)?))
    }

    fn decide(&self, request: &Parts, rule: Option<&RouteRule>) -> Result<Principal, HttpError> {
        check_size(&request.headers, rule)?;
        self.check_host(request)?;
        check_fetch_site(&request.headers, rule)?;
        if rule.is_some_and(|rule| matches!(rule.access, RouteAccess::Poller | RouteAccess::Asker))
        {
            check_user(request.extensions.get())?;
        }
        let extension = self.check_origin(&request.headers, rule)?;
        check_content_type(request, rule)?;
        match (rule.map(|rule| rule.access), extension) {
            (Some(RouteAccess::Program | RouteAccess::Page | RouteAccess::HandOver), _) => {
                Ok(Principal::Anyone)
            }
            (Some(RouteAccess::Opener), _) => {
                let key = self.home.auth().dashboard_key();
                self.check_other_token(&request.headers, |given| is_same(given, &key))?;
                Ok(Principal::Opener)
            }
            (Some(RouteAccess::Scraper), _) => {
                let token = self.home.auth().metrics_token();
                self.check_other_token(&request.headers, |given| is_same(given, &token))?;
                Ok(Principal::Scraper)
            }
            (Some(RouteAccess::Viewer), _) => {
                self.check_other_token(&request.headers, |token| self.dashboard.admits(token))?;
                Ok(Principal::Viewer)
            }
            (Some(RouteAccess::Extension), Some(id)) => Ok(Principal::Extension(id)),
            (Some(RouteAccess::Poller), Some(id)) => Ok(Principal::Poller(id)),
            (Some(RouteAccess::Asker), Some(id)) => Ok(Principal::Asker(id)),
            (Some(RouteAccess::Extension | RouteAccess::Poller | RouteAccess::Asker), None) => {
                Err(HttpError::ForeignOrigin)
            }
            // A browser names the origin of a POST.
            (Some(RouteAccess::Session), None) if request.method == Method::POST => {
                Err(HttpError::ForeignOrigin)
            }
            (Some(RouteAccess::Session), extension) => {
                let token = bearer(&request.headers).ok_or(HttpError::NoToken)?.to_owned();
                Ok(Principal::Session { token, extension })
            }
            (Some(RouteAccess::Owner), _) => {
                let owner = self.check_token(&request.headers)?;
                Ok(Principal::Caller(caller(owner, &request.headers)?))
            }
            (None, _) => {
                // Without a token a caller must not learn which routes exist.
                self.check_token(&request.headers)?;
                Err(undeclared(request.uri.path()))
            }
        }
    }

    /// Exactly one `Host`, and it is this daemon: a page that was rebound to the
    /// loopback still names its own. No proxy in between.
    fn check_host(&self, request: &Parts) -> Result<(), HttpError> {
        let headers = &request.headers;
        let host = single(headers, &HOST).ok().flatten().ok_or(HttpError::BadHost)?;
        let authority = request.uri.authority().map(axum::http::uri::Authority::as_str);
        if ![Some(host), authority].into_iter().flatten().all(|name| self.is_own(name)) {
            return Err(HttpError::ForeignHost);
        }
        let is_forwarded = |name: &HeaderName| {
            name.as_str() == "forwarded" || name.as_str().starts_with("x-forwarded-")
        };
        // A proxy on this computer would make foreign requests look local.
        if headers.keys().any(is_forwarded) { Err(HttpError::Forwarded) } else { Ok(()) }
    }

    /// Whether this is one of our own names with our own port.
    fn is_own(&self, host: &str) -> bool {
        let Some((name, port)) = host.rsplit_once(':') else { return false };
        // As it is written by browsers and clients: a number has many other spellings.
        port == self.port.to_string() && ["127.0.0.1", "localhost", "[::1]"].contains(&name)
    }

    /// No `Origin`, our own, or, where extensions may call, one that was allowed: its
    /// id.
    fn check_origin(
        &self,
        headers: &HeaderMap,
        rule: Option<&RouteRule>,
    ) -> Result<Option<String>, HttpError> {
        let Some(origin) = single(headers, &ORIGIN).map_err(|_| HttpError::ForeignOrigin)? else {
            return Ok(None);
        };
        match rule.map(|rule| rule.access) {
            // A page from a file, as the link of `tabwire open` is, has no origin to name. So has a
            // page in a sandbox, which knows no code.
            Some(RouteAccess::HandOver) if origin == "null" => Ok(None),
            Some(
                RouteAccess::Owner
                | RouteAccess::Page
                | RouteAccess::HandOver
                | RouteAccess::Viewer,
            )
            | None => {
                // Only a page that this daemon serves itself could have this origin.
                let own = origin.strip_prefix("http://").is_some_and(|host| self.is_own(host));
                if own { Ok(None) } else { Err(HttpError::ForeignOrigin) }
            }
            Some(RouteAccess::Program | RouteAccess::Opener | RouteAccess::Scraper) => {
                Err(HttpError::ForeignOrigin)
            }
            Some(
                access @ (RouteAccess::Extension
                | RouteAccess::Session
                | RouteAccess::Poller
                | RouteAccess::Asker),
            ) => {
                let id = origin.strip_prefix("chrome-extension://");
                let id = id.filter(|id| is_extension_id(id)).ok_or(HttpError::ForeignOrigin)?;
                match access {
                    RouteAccess::Poller => self.check_poller(id)?,
                    RouteAccess::Asker => self.check_may_ask(id)?,
                    RouteAccess::Extension
                    | RouteAccess::Session
                    | RouteAccess::Owner
                    | RouteAccess::Page
                    | RouteAccess::HandOver
                    | RouteAccess::Opener
                    | RouteAccess::Viewer
                    | RouteAccess::Scraper
                    | RouteAccess::Program => {
                        self.check_may_connect(id)?;
                    }
                }
                Ok(Some(id.to_owned()))
            }
        }
    }

    /// Our own extension, or one that the user has allowed. Read anew each time, so that
    /// an approval counts at once.
    fn check_may_connect(&self, id: &str) -> Result<(), HttpError> {
        // An unreadable list allows nobody but our own extension, which needs no entry.
        let allowed = self.home.allowed_extensions().unwrap_or_else(|error| {
            tracing::warn!(%error, "no further extension is allowed");
            Vec::new()
        });
        let may = id == EXTENSION_ID || allowed.iter().any(|known| known == id);
        if may { Ok(()) } else { Err(HttpError::UnknownExtension) }
    }

    /// Whether an extension is let in.
    fn check_poller(&self, id: &str) -> Result<(), HttpError> {
        match self.check_asker(id)? {
            LegacyAnswer::Welcome => Ok(()),
            LegacyAnswer::WelcomeToPoll | LegacyAnswer::Unknown | LegacyAnswer::SwitchedOff => {
                Err(HttpError::UnknownPoller { id: id.to_owned() })
            }
        }
    }

    /// Whether an extension may ask to be let in. One that may not is named to the person.
    fn check_may_ask(&self, id: &str) -> Result<(), HttpError> {
        let answer = self.check_asker(id);
        // The person may want to know that an extension asks in vain.
        if answer == Err(HttpError::PollingSwitchedOff) {
            self.admission.note_switched_off(id);
        }
        answer.map(drop)
    }

    /// The decision on an extension that asks to be let in. The Tabwire extension never polls, so
    /// a request in its name is forged.
    fn check_asker(&self, id: &str) -> Result<LegacyAnswer, HttpError> {
        // The Tabwire extension has a key and a socket: a poller with its id is an impostor.
        if id == EXTENSION_ID {
            return Err(HttpError::UnknownExtension);
        }
        match self.admission.answer(id) {
            LegacyAnswer::SwitchedOff => Err(HttpError::PollingSwitchedOff),
            answer @ (LegacyAnswer::Welcome
            | LegacyAnswer::WelcomeToPoll
            | LegacyAnswer::Unknown) => Ok(answer),
        }
    }

    /// A right token always passes. Wrong tokens have a limit per minute.
    fn check_token(&self, headers: &HeaderMap) -> Result<Owner, HttpError> {
        let token = bearer(headers).ok_or(HttpError::NoToken)?;
        if is_same(token, &self.token) {
            return Ok(DEFAULT_OWNER.into());
        }
        let (auth, list) = (self.home.auth(), self.owners.list());
        let entry = list.entry(owner_named_by(token));
        let owner = entry.map_or_else(|| Owner::of_generation("", ""), OwnerEntry::owner);
        // Compared for a name that is not listed, too: time must not tell which names are.
        let is_its = auth.is_token_of(&owner, token) && entry.is_some();
        if is_its && list.has(&owner) {
            return Ok(owner);
        }
        if let Some(entry) = entry.filter(|entry| is_its && entry.suspended) {
            return Err(HttpError::SuspendedOwner { name: entry.name.clone() });
        }
        // Only a token that counts no more, or not yet, is told why.
        let name = auth.owner_of(token).or_else(|| is_its.then_some(owner));
        if let Some(name) = name.map(|owner| owner.name().to_owned()) {
            return Err(HttpError::UnlistedOwner { name });
        }
        Err(self.note_wrong_token())
    }

    /// The same for a token of another kind.
    fn check_other_token(
        &self,
        headers: &HeaderMap,
        is_right: impl FnOnce(&str) -> bool,
    ) -> Result<(), HttpError> {
        let token = bearer(headers).ok_or(HttpError::NoToken)?;
        if is_right(token) { Ok(()) } else { Err(self.note_wrong_token()) }
    }

    fn note_wrong_token(&self) -> HttpError {
        // Only wrong tokens are counted: a guesser cannot lock the owner out.
        let mut wrong = self.wrong_tokens.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match wrong.take(self.hub.now()) {
            Ok(()) => HttpError::NoToken,
            Err(wait) => HttpError::TooManyWrongTokens { retry_after_secs: wait.as_secs() + 1 },
        }
    }
}

/// A polling extension proves nothing, so the connection has to be known as this user's.
pub(super) fn check_user(connection: Option<&ConnectionHandle>) -> Result<(), HttpError> {
    if connection.is_some_and(ConnectionHandle::is_ours) {
        Ok(())
    } else {
        Err(HttpError::UnknownUser)
    }
}

/// Whether a token is right. The time of the comparison must not tell how many bytes of a guess are.
fn is_same(given: &str, right: &str) -> bool {
    subtle::ConstantTimeEq::ct_eq(given.as_bytes(), right.as_bytes()).into()
}

/// The bearer token that a request gives, if there is one.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = single(headers, &AUTHORIZATION).ok().flatten()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// The error of a request that the table lacks, for the holder of a token.
fn undeclared(path: &str) -> HttpError {
    let mut methods = TABLE.iter().filter(|rule| rule.is_for(path)).map(|r| r.method.as_str());
    if let Some(method) = methods.next() {
        return HttpError::NoMethod { allow: [Some(method), methods.next()] };
    }
    HttpError::NoRoute
}

fn check_size(headers: &HeaderMap, rule: Option<&RouteRule>) -> Result<(), HttpError> {
    let limit = rule.map_or(MCP_BODY, |rule| rule.body);
    // A body without a length is counted while it is read.
    let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if length.unwrap_or(0) > limit { Err(HttpError::TooLarge { limit }) } else { Ok(()) }
}

/// A browser says here who asks. Absent: no browser, or an extension's socket. Only a
/// page of our own would be of the same origin, and it has a token.
fn check_fetch_site(headers: &HeaderMap, rule: Option<&RouteRule>) -> Result<(), HttpError> {
    static SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
    let access = rule.map(|rule| rule.access);
    let is_own_pages = matches!(
        access,
        None | Some(
            RouteAccess::Owner | RouteAccess::Page | RouteAccess::HandOver | RouteAccess::Viewer
        )
    );
    let is_page = matches!(access, Some(RouteAccess::Page | RouteAccess::HandOver));
    match single(headers, &SEC_FETCH_SITE) {
        Ok(None | Some("none")) => Ok(()),
        Ok(Some("same-origin")) if is_own_pages => Ok(()),
        // The person's tab may come from anywhere; no page frames this one or reads it.
        Ok(Some(_)) if is_page && is_whole_tab(headers) => Ok(()),
        Ok(Some(_)) | Err(()) => Err(HttpError::ForeignOrigin),
    }
}

/// Whether a browser goes there with a whole tab: it shows the answer to the person and to no page.
fn is_whole_tab(headers: &HeaderMap) -> bool {
    static SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
    static SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");
    single(headers, &SEC_FETCH_MODE) == Ok(Some("navigate"))
        && single(headers, &SEC_FETCH_DEST) == Ok(Some("document"))
}

/// A page can send forms and plain text anywhere, but JSON only after a preflight, which
/// is never granted.
fn check_content_type(request: &Parts, rule: Option<&RouteRule>) -> Result<(), HttpError> {
    if request.method != Method::POST {
        return Ok(());
    }
    let is_form = rule.is_some_and(|rule| rule.access == RouteAccess::HandOver);
    let (wanted, refused) = if is_form {
        ("application/x-www-form-urlencoded", HttpError::NotForm)
    } else {
        ("application/json", HttpError::NotJson)
    };
    let given = single(&request.headers, &CONTENT_TYPE).ok().flatten().unwrap_or_default();
    let media_type = given.split(';').next().unwrap_or_default().trim();
    if media_type.eq_ignore_ascii_case(wanted) { Ok(()) } else { Err(refused) }
}

/// The caller: the owner from the token, the client from its header. A client of another
/// owner than the default one is told apart by its owner's name, before a sign that no
/// header can carry.
fn caller(owner: Owner, headers: &HeaderMap) -> Result<Caller, HttpError> {
    let name = single(headers, &HeaderName::from_static(CLIENT_HEADER));
    let name = name.map_err(|()| HttpError::BadClient)?.unwrap_or(UNNAMED_CLIENT);
    if !(1..=128).contains(&name.len()) || !name.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
        return Err(HttpError::BadClient);
    }
    let client = match owner.as_str() {
        DEFAULT_OWNER => ClientId::from(name),
        _ => ClientId::from(format!("{}·{name}", owner.name())),
    };
    let pin = single(headers, &HeaderName::from_static(BROWSER_HEADER));
    let pin = pin.map_err(|()| HttpError::BadBrowser)?.map(BrowserName::from_header).transpose();
    let client = match pin.map_err(|_| HttpError::BadBrowser)? {
        Some(browser) => client.pinned_to(&browser),
        None => client,
    };
    Ok(Caller { owner, client })
}

/// The one value of a header. `Err`: there are several, or it is no text.
pub(super) fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, ()> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| ()),
        (Some(_), Some(_)) => Err(()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::{option, prop_assert_eq, proptest};

    use super::*;
    use crate::protocol::{WS_PATH, garbled};

    #[tokio::test]
    async fn a_route_that_nobody_has_declared_is_closed_even_to_the_holder_of_a_token() {
        let dir = tempfile::tempdir().unwrap();
        let hub = Hub::start(crate::lifecycle::Limits::default());
        let guard =
            RequestGuard::new(StateDirectory::open(&dir.path().join("state")).unwrap(), 1234, hub);
        let ask = |token: &str| {
            let request = axum::http::Request::get("/new")
                .header(HOST, "127.0.0.1:1234")
                .header(AUTHORIZATION, format!("Bearer {token}"));
            request.body(()).unwrap().into_parts().0
        };
        let right = ask(&guard.token);
        assert_eq!(guard.check(&right).err(), Some(HttpError::NoRoute));
        assert_eq!(guard.check(&ask("wrong")).err(), Some(HttpError::NoToken));
    }

    #[test]
    fn a_wrong_method_is_told_which_ones_there_are() {
        let allowed = |path| {
            let error = undeclared(path);
            let HttpError::NoMethod { allow } = error else { panic!("{path}: {error:?}") };
            allow.into_iter().flatten().collect::<Vec<_>>()
        };
        assert_eq!(allowed("/mcp"), ["POST", "GET"]);
        assert_eq!(allowed("/frames"), ["GET", "POST"]);
        assert_eq!(allowed("/logs"), ["POST", "DELETE"]);
        for RouteRule { path, .. } in &TABLE {
            let methods = TABLE.iter().filter(|rule| rule.path == *path).count();
            assert!(methods <= 2, "{path} has more methods than an answer has room for");
        }
    }

    #[tokio::test]
    async fn a_port_that_is_spelled_otherwise_is_not_ours() {
        let dir = tempfile::tempdir().unwrap();
        let hub = Hub::start(crate::lifecycle::Limits::default());
        let guard =
            RequestGuard::new(StateDirectory::open(&dir.path().join("state")).unwrap(), 1234, hub);
        assert!(guard.is_own("127.0.0.1:1234"));
        for other in ["127.0.0.1:+1234", "localhost:01234", "[::1]: 1234", "localhost:", "1234"] {
            assert!(!guard.is_own(other), "{other}");
        }
    }

    #[tokio::test]
    async fn only_our_own_names_pass_and_only_origins_that_may_call() {
        const HOSTS: [&str; 3] = ["127.0.0.1:1234", "localhost:1234", "[::1]:1234"];
        let dir = tempfile::tempdir().unwrap();
        let hub = Hub::start(crate::lifecycle::Limits::default());
        let guard =
            RequestGuard::new(StateDirectory::open(&dir.path().join("state")).unwrap(), 1234, hub);
        let own = format!("chrome-extension://{EXTENSION_ID}");
        let origins = HOSTS.map(|host| format!("http://{host}"));
        let samples: Vec<_> = origins.iter().chain([&own]).map(String::as_str).collect();
        let token = format!("Bearer {}", guard.token);
        let ask = |method: Method, path: &str, host: &[u8], origin: Option<&[u8]>| {
            let mut request = axum::http::Request::builder().method(method).uri(path);
            request = request.header(HOST, host).header(AUTHORIZATION, &token);
            if let Some(origin) = origin {
                request = request.header(ORIGIN, origin);
            }
            let request = request.header(CONTENT_TYPE, "application/json").body(()).ok()?;
            Some(guard.check(&request.into_parts().0))
        };
        let (hosts, origins) = (garbled::nearly(&HOSTS), garbled::nearly(&samples));
        proptest!(garbled::cases(2_000), |(host in hosts, origin in option::of(origins))| {
            let is_own = |host: &[u8]| HOSTS.iter().any(|own| own.as_bytes() == host);
            let origin = origin.as_deref();
            let of_page = origin.and_then(|origin| origin.strip_prefix(b"http://"));
            let passes = |method, path| matches!(ask(method, path, &host, origin), Some(Ok(_)));
            prop_assert_eq!(passes(Method::GET, "/health"), is_own(&host) && origin.is_none());
            let same_origin = origin.is_none() || of_page.is_some_and(is_own);
            prop_assert_eq!(passes(Method::POST, "/mcp"), is_own(&host) && same_origin);
            let is_extension = origin == Some(own.as_bytes());
            prop_assert_eq!(passes(Method::GET, WS_PATH), is_own(&host) && is_extension);
        });
    }
}
