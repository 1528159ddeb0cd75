//! A browser with the extension: its connections to the daemon, and what goes wrong with
//! them.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use testkit::ExtensionIdentity;
use tokio::sync::{Notify, mpsc};
use tokio::task::spawn_local;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_util::sync::CancellationToken;
use turmoil::net::TcpStream;

use super::chance::Chance;
use super::plan::Step;
use super::shim::Shim;
use super::world::{DAEMON, PORT, World};

/// How long a connection may take until `welcome`.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// A link on which nothing came for this long is dead.
const SILENCE: Duration = Duration::from_secs(45);

/// The tabs of every browser.
pub(super) const TABS: [i64; 3] = [1, 2, 3];

type Socket = WebSocketStream<TcpStream>;

/// A browser.
pub(super) struct Browser {
    number: usize,
    shim: Rc<Shim>,
    chance: Chance,
    /// How many connections it has opened.
    n_links: Cell<u64>,
    /// Ends connections: the newest last.
    cuts: RefCell<Vec<CancellationToken>>,
    /// How often it was started again.
    sessions: Cell<u32>,
    deaf_until: Cell<Duration>,
    take_over: Notify,
    /// How long the old connection lingers after a take-over.
    lingers: Cell<Duration>,
}

/// Why a connection is over.
enum End {
    /// It was cut, or broke.
    Lost,
    /// The daemon closed it with this code and reason.
    Closed(u16, String),
}

impl From<tungstenite::Error> for End {
    fn from(_: tungstenite::Error) -> Self {
        Self::Lost
    }
}

impl Browser {
    pub(super) fn new(world: Weak<World>, seed: u64, number: usize) -> Rc<Self> {
        Rc::new(Self {
            number,
            shim: Rc::new(Shim::new(world, seed, number)),
            chance: Chance::of(seed, &format!("browser {number}")),
            n_links: Cell::new(0),
            cuts: RefCell::default(),
            sessions: Cell::default(),
            deaf_until: Cell::default(),
            take_over: Notify::new(),
            lingers: Cell::default(),
        })
    }

    /// The host that it runs on; also its id.
    pub(super) fn host(&self) -> String {
        format!("browser-{}", self.number)
    }

    fn world(&self) -> Rc<World> {
        self.shim.world.upgrade().unwrap()
    }

    /// Reports that the daemon has not acknowledged.
    pub(super) fn n_unacknowledged(&self) -> usize {
        self.shim.n_unacknowledged()
    }

    /// All connections are gone.
    pub(super) fn cut(&self) {
        self.cuts.borrow().iter().for_each(CancellationToken::cancel);
    }

    pub(super) fn kill(&self) {
        self.shim.die();
        self.cut();
    }

    /// The browser dies and is started again.
    pub(super) fn restart(&self) {
        self.sessions.set(self.sessions.get() + 1);
        self.shim.die_with_browser();
        self.cut();
    }

    pub(super) fn take_over(&self, lingers: Duration) {
        self.lingers.set(lingers);
        self.take_over.notify_one();
    }

    pub(super) fn deafen(&self, length: Duration) {
        self.deaf_until.set(self.world().now() + length);
    }

    /// Whatever was wrong with it is over.
    pub(super) fn calm_down(&self) {
        self.deaf_until.set(Duration::ZERO);
    }

    /// What a connection may be closed with.
    fn check_close(&self, code: u16, reason: &str) {
        let is_due = match code {
            1001 => self.world().was_asked_to_end.get(),
            // Of two connections, either may be the later one where the daemon is.
            4001 => self.n_links.get() > 1,
            // They heard nothing of us, or nothing of our `hello`, for too long.
            1002 | 4408 => true,
            _ => false,
        };
        if !is_due {
            let host = self.host();
            self.world().breaks(format!("{host}: its link was closed with {code} {reason}"));
        }
    }
}

/// The browser's host: the extension is connected, or tries to be.
pub(super) async fn live(browser: Rc<Browser>) -> turmoil::Result {
    sleep(browser.chance.millis(0..=1_500)).await;
    loop {
        let cut = CancellationToken::new();
        browser.cuts.borrow_mut().retain(|cut| !cut.is_cancelled());
        browser.cuts.borrow_mut().push(cut.clone());
        let number = browser.n_links.get() + 1;
        browser.n_links.set(number);
        let link = Link { browser: browser.clone(), number, cut: cut.clone() };
        let mut ended = spawn_local(link.live());
        tokio::select! {
            biased;
            _ = &mut ended => sleep(browser.chance.millis(10..=1_000)).await,
            () = browser.take_over.notified() => {
                let lingers = browser.lingers.get();
                spawn_local(async move {
                    sleep(lingers).await;
                    cut.cancel();
                });
            }
        }
    }
}

/// One connection.
struct Link {
    browser: Rc<Browser>,
    number: u64,
    cut: CancellationToken,
}

impl Link {
    async fn live(self) {
        let talk = async {
            let (socket, welcome) = match timeout(HANDSHAKE, self.greet()).await {
                Ok(Ok(greeted)) => greeted,
                Ok(Err(end)) => return end,
                Err(_elapsed) => return End::Lost,
            };
            let Err(end) = self.serve(socket, &welcome).await;
            end
        };
        let end = tokio::select! {
            biased;
            () = self.cut.cancelled() => End::Lost,
            end = talk => end,
        };
        if let End::Closed(code, reason) = end {
            self.browser.check_close(code, &reason);
        }
    }

    /// Connects, proves itself, and has the daemon prove itself.
    async fn greet(&self) -> Result<(Socket, Value), End> {
        let stream = TcpStream::connect((DAEMON, PORT)).await.map_err(|_refused| End::Lost)?;
        let mut identity =
            ExtensionIdentity::new(PORT, &self.browser.world().home(), &self.browser.host());
        identity.instance = format!("{}-{}", self.browser.host(), self.browser.shim.instance());
        let (mut socket, _) =
            tokio_tungstenite::client_async(identity.upgrade(PORT), stream).await?;
        let challenge = next(&mut socket).await?;
        let challenge = challenge["nonce"].as_str().unwrap_or_default();
        let hello = identity.hello_to(challenge);
        socket.send(Message::text(hello.to_string())).await?;
        let welcome = next(&mut socket).await?;
        if !identity.is_proven_by(&welcome, &hello, challenge) {
            self.browser.world().breaks("the daemon did not prove itself".to_owned());
        }
        Ok((socket, welcome))
    }

    /// Everything from `ready` on.
    async fn serve(
        &self,
        mut socket: Socket,
        welcome: &Value,
    ) -> Result<std::convert::Infallible, End> {
        let (browser, shim) = (&self.browser, &self.browser.shim);
        let (outbound, mut frames) = mpsc::unbounded_channel();
        let epoch = welcome["epoch"].as_str().unwrap_or_default();
        // Overtaken by a newer one while it connected.
        let in_flight = shim.welcome(self.number, epoch, outbound).ok_or(End::Lost)?;
        let session = format!("session-{}", browser.sessions.get());
        let tabs = TABS.map(|id| {
            json!({"tab_id": id, "window_id": 1, "url": format!("http://{session}.test/{id}"),
                   "active": id == 1})
        });
        let ready = json!({
            "type": "ready", "label": browser.host(), "user_agent": "simulated", "tabs": tabs,
            "actions": ["execute_js", "page_info", "tab_list", "tab_close"],
            "in_flight": in_flight, "session": session,
        });
        let n_in_flight = in_flight.as_array().map_or(0, Vec::len);
        browser.world().note(&format!("{} is ready, {n_in_flight} in flight", browser.host()));
        socket.send(Message::text(ready.to_string())).await?;
        shim.replay();
        browser.world().reach(Step::Ready);
        loop {
            self.may_go_on().await;
            tokio::select! {
                biased;
                frame = frames.recv() => match frame {
                    Some(frame) => self.send(&mut socket, &frame).await?,
                    // A newer connection has taken over: this one only hears.
                    None => self.take(next(&mut socket).await?).await,
                },
                frame = self.hear(&mut socket) => self.take(frame?).await,
            }
        }
    }

    /// The next frame, unless the extension is deaf.
    async fn hear(&self, socket: &mut Socket) -> Result<Value, End> {
        let world = self.browser.world();
        while world.now() < self.browser.deaf_until.get() {
            sleep(Duration::from_millis(20)).await;
        }
        timeout(SILENCE, next(socket)).await.unwrap_or(Err(End::Lost))
    }

    async fn send(&self, socket: &mut Socket, frame: &Value) -> Result<(), End> {
        socket.send(Message::text(frame.to_string())).await?;
        match frame["type"].as_str() {
            Some("claim") => self.browser.world().reach(Step::Claimed),
            Some("complete" | "error" | "timeout" | "cancelled") => {
                self.browser.world().reach(Step::Reported);
            }
            _ => {}
        }
        Ok(())
    }

    async fn take(&self, frame: Value) {
        let world = self.browser.world();
        match frame["type"].as_str() {
            Some("command") => world.reach(Step::Command),
            Some("go") => world.reach(Step::Go),
            Some("result_ack") => world.reach(Step::Acked),
            _ => {}
        }
        self.may_go_on().await;
        self.browser.shim.handle(&frame);
    }

    /// Does not return if the connection was cut in between.
    async fn may_go_on(&self) {
        if self.cut.is_cancelled() {
            std::future::pending::<()>().await;
        }
    }
}

/// The next frame.
async fn next(socket: &mut Socket) -> Result<Value, End> {
    loop {
        match socket.next().await {
            Some(Ok(Message::Text(text))) => return Ok(serde_json::from_str(&text).unwrap()),
            Some(Ok(Message::Close(Some(frame)))) => {
                return Err(End::Closed(frame.code.into(), frame.reason.as_str().to_owned()));
            }
            Some(Ok(Message::Close(None)) | Err(_)) | None => return Err(End::Lost),
            Some(Ok(_)) => {}
        }
    }
}
