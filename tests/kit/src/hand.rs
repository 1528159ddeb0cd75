//! A person's hand: input that a page cannot tell from a person's. Script cannot make such,
//! so it comes through the browser's own debugging port.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use tabwire::demo::{Browser, find_browser};
use tabwire::extension;
use tabwire::protocol::EXTENSION_ID;

use super::{TestDaemon, scratch_folder, soon, until};

/// A name under which a [`BrowserUser`]'s browser finds the pages of this computer, as another site.
pub const OTHER_SITE: &str = "denied.example";

/// The page of the extension that a person draws in, without the tab that the picture is of.
const DRAW_PAGE: &str = "/src/draw/page/draw.html?tab=";

/// How long a page of the extension may take before it is asked for again.
const AGAIN: Duration = Duration::from_secs(3);

/// What the browser answers for a tab that has closed.
const NO_SESSION: i64 = -32_001;
/// The error of a question to a page that goes elsewhere.
const LEFT: &str = "Inspected target navigated or closed";

/// What is seen of a picture.
#[derive(Debug, Deserialize)]
pub struct SeenPicture {
    /// Its width and height.
    pub size: [u64; 2],
    /// Red, green and blue at each point that was looked at.
    pub colours: Vec<[u64; 3]>,
}

/// Uses the page that is open in a browser, or the picture of it that is drawn on.
pub struct BrowserUser {
    socket: WebSocketStream<TcpStream>,
    /// Of the page, and of whatever is used now.
    page: String,
    session: String,
    /// Where the top left of the page, or of its picture, is in what is used now.
    corner: (f64, f64),
    asked: u32,
}

/// What the folders of such browsers are called.
const PREFIX: &str = "tabwire-it-hand-";

impl BrowserUser {
    /// A browser that a hand can reach into, with the extension for this daemon, connected to
    /// `port`, and a page. Its folder has the profile, too.
    pub fn open_browser(
        daemon: &TestDaemon,
        port: u16,
        page: &str,
    ) -> (Browser, tempfile::TempDir) {
        Self::open_browser_with(daemon, port, page, &[])
    }

    /// The same with further flags of the browser.
    pub fn open_browser_with(
        daemon: &TestDaemon,
        port: u16,
        page: &str,
        flags: &[&str],
    ) -> (Browser, tempfile::TempDir) {
        let folder = scratch_folder(PREFIX);
        (Self::open_browser_in(folder.path(), daemon, port, page, flags), folder)
    }

    /// The same with the extension and the profile on the disk, beside the state of the daemon.
    pub fn open_browser_on_disk(daemon: &TestDaemon, page: &str) -> (Browser, tempfile::TempDir) {
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir().unwrap();
        (Self::open_browser_in(folder.path(), daemon, daemon.port(), page, &[]), folder)
    }

    fn open_browser_in(
        folder: &Path,
        daemon: &TestDaemon,
        port: u16,
        page: &str,
        flags: &[&str],
    ) -> Browser {
        let unpacked = Self::unpack(folder, daemon, port);
        let chromium = find_browser().expect("the tests need a Chromium");
        let program = Self::lets_in_with(folder, &chromium, flags);
        Browser::launch(&program, &folder.join("profile"), &unpacked, page).unwrap()
    }

    /// A folder for a browser, and the extension in it, which dials this port.
    fn unpacked_for(daemon: &TestDaemon, port: u16) -> (tempfile::TempDir, PathBuf) {
        let folder = scratch_folder(PREFIX);
        let unpacked = Self::unpack(folder.path(), daemon, port);
        (folder, unpacked)
    }

    fn unpack(folder: &Path, daemon: &TestDaemon, port: u16) -> PathBuf {
        let unpacked = folder.join("extension");
        let key = daemon.home().auth().extension_key(EXTENSION_ID);
        extension::unpack(&unpacked, port, &key).unwrap();
        unpacked
    }

    /// The same beside another extension.
    pub fn open_browser_beside(
        daemon: &TestDaemon,
        page: &str,
        other: &Path,
    ) -> (Browser, tempfile::TempDir) {
        let (folder, unpacked) = Self::unpacked_for(daemon, daemon.port());
        let chromium = find_browser().expect("the tests need a Chromium");
        let program = Self::lets_in_with(folder.path(), &chromium, &[]);
        let profile = folder.path().join("profile");
        let mut loaded = unpacked.into_os_string();
        loaded.push(",");
        loaded.push(other);
        (Browser::launch(&program, &profile, Path::new(&loaded), page).unwrap(), folder)
    }

    /// The same, whose connections to this daemon go to a relay. The extension has dialled the
    /// daemon's port, so the proofs hold.
    pub fn open_browser_behind(
        daemon: &TestDaemon,
        relay: u16,
        page: &str,
    ) -> (Browser, tempfile::TempDir) {
        let (folder, unpacked) = Self::unpacked_for(daemon, daemon.port());
        let chromium = find_browser().expect("the tests need a Chromium");
        let port = daemon.port();
        let flags = [
            "--remote-debugging-port=0",
            &format!("--host-resolver-rules='MAP 127.0.0.1:{port} 127.0.0.1:{relay}'"),
        ];
        let program = Self::with_flags(folder.path(), &chromium, &flags);
        let profile = folder.path().join("profile");
        (Browser::launch(&program, &profile, &unpacked, page).unwrap(), folder)
    }

    /// A program that starts the browser so that a hand can reach in.
    pub fn lets_in(folder: &Path, chromium: &Path) -> PathBuf {
        Self::lets_in_with(folder, chromium, &[])
    }

    fn lets_in_with(folder: &Path, chromium: &Path, more: &[&str]) -> PathBuf {
        let other_site = format!(
            "--host-resolver-rules='MAP {OTHER_SITE} 127.0.0.1, MAP *.{OTHER_SITE} 127.0.0.1'"
        );
        let flags = [&["--remote-debugging-port=0", &other_site], more].concat();
        Self::with_flags(folder, chromium, &flags)
    }

    fn with_flags(folder: &Path, chromium: &Path, flags: &[&str]) -> PathBuf {
        let program = folder.join("browser");
        let flags = flags.join(" ");
        let script = format!("#!/bin/sh\nexec '{}' {flags} \"$@\"\n", chromium.display());
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, Permissions::from_mode(0o700)).unwrap();
        program
    }

    /// Reaches for the page in the browser with this profile.
    pub async fn reach(profile: &Path) -> Self {
        let file = profile.join("DevToolsActivePort");
        let told = || std::fs::read_to_string(&file).ok().filter(|told| told.contains("/devtools"));
        soon("the debugging port", until(async || told().is_some())).await;
        let told = told().unwrap();
        let (port, path) = told.trim().split_once('\n').unwrap();
        let stream = TcpStream::connect(format!("127.0.0.1:{port}")).await.unwrap();
        let url = format!("ws://127.0.0.1:{port}{path}");
        let (socket, _) = tokio_tungstenite::client_async(url, stream).await.unwrap();
        let (page, session) = (String::new(), String::new());
        let mut hand = Self { socket, page, session, corner: (0.0, 0.0), asked: 0 };
        let targets = hand.targets().await;
        let page = targets.iter().find(|target| target["type"] == "page").expect("a page");
        hand.session = hand.attach(page).await;
        hand.page = hand.session.clone();
        hand
    }

    /// All that is open in the browser.
    async fn targets(&mut self) -> Vec<Value> {
        let session = std::mem::take(&mut self.session);
        let targets = self.ask("Target.getTargets", json!({})).await;
        self.session = session;
        targets["targetInfos"].as_array().unwrap().clone()
    }

    async fn attach(&mut self, target: &Value) -> String {
        let session = std::mem::take(&mut self.session);
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let attached = self.ask("Target.attachToTarget", attach).await;
        self.session = session;
        attached["sessionId"].as_str().unwrap().to_owned()
    }

    async fn drawing_page(&mut self) -> Option<Value> {
        let targets = self.targets().await;
        targets.into_iter().find(|target| {
            let url = target["url"].as_str().unwrap_or_default();
            url.starts_with(&format!("chrome-extension://{EXTENSION_ID}{DRAW_PAGE}"))
        })
    }

    /// How many pages there are.
    pub async fn pages(&mut self) -> usize {
        self.targets().await.iter().filter(|target| target["type"] == "page").count()
    }

    /// How many pages of the extension for drawing there are, frames in other pages included.
    pub async fn drawing_pages(&mut self) -> usize {
        let page = format!("chrome-extension://{EXTENSION_ID}{DRAW_PAGE}");
        let is_one = |target: &Value| target["url"].as_str().unwrap_or_default().starts_with(&page);
        self.targets().await.iter().filter(|target| is_one(target)).count()
    }

    /// Whether a picture of a page is there to be drawn on.
    pub async fn sees_drawing(&mut self) -> bool {
        self.drawing_page().await.is_some()
    }

    /// Turns to the picture that is drawn on, once it takes what a person does. There is room for
    /// all of it: a pixel of it is one of the page.
    pub async fn turn_to_drawing(&mut self) {
        let seen = async {
            loop {
                if let Some(target) = self.drawing_page().await {
                    return target;
                }
            }
        };
        let target = soon("the picture to draw on", seen).await;
        self.session = self.attach(&target).await;
        let size = json!({"width": 1400, "height": 1100, "deviceScaleFactor": 1, "mobile": false});
        self.ask("Emulation.setDeviceMetricsOverride", size).await;
        let is_ready = "document.body?.ariaBusy === 'false' && innerHeight === 1100";
        self.becomes(is_ready, true).await;
        let corner =
            "(({x, y}) => [x, y])(document.querySelector('#canvas').getBoundingClientRect())";
        let corner = self.read(corner).await;
        self.corner = (corner[0].as_f64().unwrap(), corner[1].as_f64().unwrap());
    }

    /// Turns back to the page.
    pub fn turn_to_page(&mut self) {
        self.session = self.page.clone();
        self.corner = (0.0, 0.0);
    }

    /// Turns to the tab that is at this address, without showing it.
    pub async fn turn_to(&mut self, url: &str) {
        let found = async {
            loop {
                let targets = self.targets().await;
                let is_it = |one: &&Value| one["type"] == "page" && one["url"] == url;
                if let Some(target) = targets.iter().find(is_it) {
                    return target.clone();
                }
            }
        };
        let target = soon(url, found).await;
        self.session = self.attach(&target).await;
        self.corner = (0.0, 0.0);
    }

    /// Turns to the tab of this number, once it is in front, from a page of the extension: two tabs
    /// at one address are told apart by it alone.
    pub async fn turn_to_tab(&mut self, tab: &Value) {
        let front =
            format!("chrome.tabs.get({tab}).then(({{ active, status }}) => active && status)");
        self.becomes(&front, "complete").await;
        let id = format!(
            "chrome.debugger.getTargets().then((all) => all.find(({{ tabId }}) => tabId === {tab}).id)"
        );
        let target = json!({"targetId": self.read(&id).await});
        self.session = self.attach(&target).await;
        self.corner = (0.0, 0.0);
        let is_seen = "document.visibilityState === 'visible'";
        self.becomes(is_seen, true).await;
    }

    /// Goes to the tab that it has turned to.
    pub async fn show(&mut self) {
        self.ask("Page.bringToFront", json!({})).await;
    }

    /// Gives the page this size, and these colours: `light` or `dark`.
    pub async fn set_view(&mut self, width: u32, height: u32, colours: &str) {
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.ask("Emulation.setDeviceMetricsOverride", size).await;
        let features = json!([{"name": "prefers-color-scheme", "value": colours}]);
        self.ask("Emulation.setEmulatedMedia", json!({"features": features})).await;
    }

    /// Stops the page, as the browser does with pages that nobody has seen for long.
    pub async fn freeze(&mut self) {
        self.ask("Page.setWebLifecycleState", json!({"state": "frozen"})).await;
    }

    /// The types of the events that scripts of any world listen to at the window and the document.
    pub async fn listeners(&mut self) -> Vec<String> {
        let mut types = Vec::new();
        for place in ["window", "document"] {
            let object = self.ask("Runtime.evaluate", json!({"expression": place})).await;
            let id = json!({"objectId": object["result"]["objectId"]});
            let told = self.ask("DOMDebugger.getEventListeners", id).await;
            let listeners = told["listeners"].as_array().unwrap().iter();
            types.extend(listeners.map(|one| format!("{place} {}", one["type"])));
        }
        types.sort();
        types
    }

    /// Opens a page in a tab of its own, in front, and turns to it.
    pub async fn open_beside(&mut self, url: &str) {
        self.session = String::new();
        let opened = self.ask("Target.createTarget", json!({"url": "about:blank"})).await;
        self.session = self.attach(&opened).await;
        self.corner = (0.0, 0.0);
        self.go(url).await;
    }

    pub(super) async fn send(&mut self, method: &str, params: Value) {
        self.asked += 1;
        let mut question = json!({"id": self.asked, "method": method, "params": params});
        if !self.session.is_empty() {
            question["sessionId"] = json!(self.session);
        }
        self.socket.send(Message::text(question.to_string())).await.unwrap();
    }

    /// An answer, or an event; `method`: what it is waited for.
    pub(super) async fn message(&mut self, method: &str) -> Value {
        loop {
            let message = soon(method, self.socket.next()).await.unwrap().unwrap();
            if let Message::Text(text) = message {
                return serde_json::from_str(&text).unwrap();
            }
        }
    }

    pub(super) async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.send(method, params).await;
        loop {
            let answer = self.message(method).await;
            // A tab that closes by what was asked of it answers nothing any more.
            let is_closed = answer["method"] == "Target.detachedFromTarget"
                && answer["params"]["sessionId"] == self.session;
            let error = &answer["error"];
            // Nor does a page that is left while it is asked.
            let is_left = error["code"] == NO_SESSION || error["message"] == LEFT;
            if is_closed || (answer["id"] == self.asked && is_left) {
                return Value::Null;
            }
            if answer["id"] == self.asked {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    /// The role and the name of each of these elements in the browser's own accessibility tree, behind
    /// the value of an attribute.
    pub async fn accessible(
        &mut self,
        selector: &str,
        attribute: &str,
    ) -> Vec<(String, String, String)> {
        let root = self.ask("DOM.getDocument", json!({})).await["root"]["nodeId"].clone();
        let query = json!({"nodeId": root, "selector": selector});
        let found = self.ask("DOM.querySelectorAll", query).await["nodeIds"].clone();
        let mut told = Vec::new();
        for node in found.as_array().unwrap() {
            let attributes = self.ask("DOM.getAttributes", json!({"nodeId": node})).await;
            let attributes = attributes["attributes"].as_array().unwrap();
            let at = attributes.iter().step_by(2).position(|name| name == attribute).unwrap();
            let value = attributes[at * 2 + 1].as_str().unwrap().to_owned();
            let asked = json!({"nodeId": node, "fetchRelatives": false});
            let tree = self.ask("Accessibility.getPartialAXTree", asked).await;
            let text = |field: &str| {
                tree["nodes"][0][field]["value"].as_str().unwrap_or_default().to_owned()
            };
            told.push((value, text("role"), text("name")));
        }
        told
    }

    /// Clicks into the middle of an element.
    pub async fn click(&mut self, selector: &str) {
        self.click_times(selector, 1).await;
    }

    /// Clicks there twice, as fast as a double click is.
    pub async fn double_click(&mut self, selector: &str) {
        self.click_times(selector, 2).await;
    }

    async fn click_times(&mut self, selector: &str, times: usize) {
        // A person does not click what is not there yet, or just moving.
        let expression = format!(
            "(async () => {{ const end = performance.now() + 20_000; \
             for (let last = ''; performance.now() < end;) {{ \
             const box = document.querySelector('{selector}')?.getBoundingClientRect(); \
             const at = box?.width ? [box.x + box.width / 2, box.y + box.height / 2] : ''; \
             if (at && last === String(at)) return at; last = String(at); \
             await new Promise((done) => setTimeout(done, 50)) }} return 'nothing to click' }})()"
        );
        let found = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let at = self.ask("Runtime.evaluate", found).await["result"]["value"].clone();
        assert!(at.is_array(), "{selector}: {at}");
        for count in 1..=times {
            for kind in ["mousePressed", "mouseReleased"] {
                let event = json!({"type": kind, "x": at[0], "y": at[1], "button": "left", "clickCount": count});
                self.ask("Input.dispatchMouseEvent", event).await;
            }
        }
    }

    /// The text of the person's own clipboard.
    pub async fn clipboard(&mut self) -> Value {
        let session = std::mem::take(&mut self.session);
        self.ask("Browser.grantPermissions", json!({"permissions": ["clipboardReadWrite"]})).await;
        self.session = session;
        self.read("navigator.clipboard.readText()").await
    }

    /// Lets all pages have something that they ask for, such as `geolocation`, or keeps it from them.
    pub async fn set_permission(&mut self, name: &str, setting: &str) {
        let session = std::mem::take(&mut self.session);
        let asked = json!({"permission": {"name": name}, "setting": setting});
        self.ask("Browser.setPermission", asked).await;
        self.session = session;
    }

    /// What an expression is in the page.
    pub async fn read(&mut self, expression: &str) -> Value {
        self.evaluate(expression, false).await
    }

    /// Waits until an expression is this value in the page.
    pub async fn becomes(&mut self, expression: &str, value: impl Into<Value>) {
        let value = value.into();
        soon(expression, until(async || self.read(expression).await == value)).await;
    }

    /// The same as [`read`](Self::read), as if somebody had just clicked in the page.
    pub async fn read_clicked(&mut self, expression: &str) -> Value {
        self.evaluate(expression, true).await
    }

    async fn evaluate(&mut self, expression: &str, clicked: bool) -> Value {
        let asked = json!({"expression": expression, "returnByValue": true, "awaitPromise": true,
                           "userGesture": clicked});
        let answer = self.ask("Runtime.evaluate", asked).await;
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// The width and height of a picture, and its colours at these points. The page must let pictures
    /// in.
    pub async fn look_at(&mut self, picture: &str, points: &[(i32, i32)]) -> SeenPicture {
        let seen = self
            .read(&format!(
                "(async () => {{ const image = new Image(); image.src = {}; await image.decode();
                 const canvas = new OffscreenCanvas(image.width, image.height);
                 const paint = canvas.getContext('2d'); paint.drawImage(image, 0, 0);
                 const at = ([x, y]) => [...paint.getImageData(x, y, 1, 1).data].slice(0, 3);
                 return {{size: [image.width, image.height], colours: {}.map(at)}} }})()",
                json!(picture),
                json!(points),
            ))
            .await;
        serde_json::from_value(seen).unwrap()
    }

    /// Presses the button of the mouse at the first point, goes on to the others, lets it go at
    /// the last. One point alone is a click.
    pub async fn drag(&mut self, points: &[(i32, i32)]) {
        let [first, .., last] = [points, points].concat()[..] else { panic!("no points") };
        self.mouse("mousePressed", first).await;
        for &point in &points[1..] {
            self.mouse("mouseMoved", point).await;
        }
        self.mouse("mouseReleased", last).await;
    }

    async fn mouse(&mut self, kind: &str, (x, y): (i32, i32)) {
        let (left, top) = self.corner;
        let event = json!({"type": kind, "x": f64::from(x) + left, "y": f64::from(y) + top,
                           "button": "left", "buttons": 1, "clickCount": 1});
        self.ask("Input.dispatchMouseEvent", event).await;
    }

    /// Presses a key so often, with Shift or Control if its name says so: `Shift+ArrowLeft`.
    pub async fn press(&mut self, key: &str, times: usize) {
        let (held, key) = key.split_once('+').unwrap_or(("", key));
        let modifiers = match held {
            "Control" => 2,
            "Shift" => 8,
            _ => 0,
        };
        let (text, code) = match key {
            "Enter" => ("\r", 13),
            "Escape" => ("", 27),
            "Tab" => ("", 9),
            " " => (" ", 32),
            one if one.len() == 1 && held.is_empty() => (one, 0),
            _ => ("", 0),
        };
        for _ in 0..times {
            let mut event = json!({"type": "keyDown", "key": key, "modifiers": modifiers,
                                   "windowsVirtualKeyCode": code});
            if !text.is_empty() {
                event["text"] = text.into();
            }
            self.ask("Input.dispatchKeyEvent", event.clone()).await;
            event["type"] = "keyUp".into();
            event.as_object_mut().unwrap().remove("text");
            self.ask("Input.dispatchKeyEvent", event).await;
        }
    }

    /// Sends the tab to a page, and waits until it is there.
    pub async fn go(&mut self, url: &str) {
        let here = format!("location.href === '{url}' && document.readyState === 'complete'");
        let comes = async {
            loop {
                self.ask("Page.navigate", json!({"url": url})).await;
                let there = until(async || self.read(&here).await == true);
                // A page of the extension is lost if it was to come into a process that was just killed.
                if !url.starts_with("chrome-extension:") {
                    return there.await;
                }
                if tokio::time::timeout(AGAIN, there).await.is_ok() {
                    return;
                }
            }
        };
        soon(url, comes).await;
    }

    /// Lets the extension into private windows, which loads it anew. The page is at the list of extensions.
    pub async fn let_into_private_windows(&mut self) {
        self.go("chrome://extensions/").await;
        let allow = format!(
            "chrome.developerPrivate.updateProfileConfiguration({{inDeveloperMode: true}})\
             .then(() => chrome.developerPrivate.updateExtensionConfiguration(\
             {{extensionId: '{EXTENSION_ID}', incognitoAccess: true}})).then(() => 1, String)"
        );
        // The browser takes it from a click alone, and loads no unpacked extension for others.
        assert_eq!(self.read_clicked(&allow).await, 1);
        let is_allowed = format!(
            "chrome.developerPrivate.getExtensionInfo('{EXTENSION_ID}')\
             .then((info) => info.state === 'ENABLED' && info.incognitoAccess.isActive)"
        );
        self.becomes(&is_allowed, true).await;
    }

    /// Has the browser list errors of the extension from now on: of one that came by the command
    /// line it lists none unless it is told to.
    pub async fn begin_list_of_errors(&mut self) {
        self.go("chrome://extensions/").await;
        let begin = format!(
            "chrome.developerPrivate.updateExtensionConfiguration(\
             {{extensionId: '{EXTENSION_ID}', errorCollection: true}}).then(() => 1)"
        );
        self.read(&begin).await;
    }

    /// What the browser lists at `chrome://extensions` as errors of the extension, once it was told
    /// to [list them](Self::begin_list_of_errors).
    pub async fn listed_errors(&mut self) -> Vec<Value> {
        self.go("chrome://extensions/").await;
        let listed = format!(
            "chrome.developerPrivate.getExtensionInfo('{EXTENSION_ID}').then((info) => \
             [...info.manifestErrors, ...info.runtimeErrors].map((one) => one.message))"
        );
        self.read(&listed).await.as_array().unwrap().clone()
    }

    /// Sends the tab to a page that goes on to another one.
    pub async fn leave_for(&mut self, url: &str) {
        self.ask("Page.navigate", json!({"url": url})).await;
    }

    /// Closes the page.
    pub async fn close_page(&mut self) {
        self.ask("Page.close", json!({})).await;
    }

    /// Types where the focus is.
    pub async fn type_text(&mut self, text: &str) {
        for character in text.chars() {
            let key = json!({"type": "keyDown", "text": character, "key": character});
            self.ask("Input.dispatchKeyEvent", key).await;
        }
    }
}
