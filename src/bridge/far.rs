//! A daemon on another machine, by the socket of a place. Nothing is started or replaced there, and no token
//! is sent: home adds it.
//!
//! The line home can break at any time, so a call that was sent may have run. It is sent again only if that
//! is harmless: under the key of its command, or if it only reads. Each call says until when it may come,
//! and says the same when it is sent again, so that nothing of it runs late.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{HeaderMap, Request, StatusCode};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::daemon_finder::{BridgeClient, DaemonIdentity, FoundDaemon};
use super::daemon_link::{DaemonLink, OutgoingCall};
use super::request::{
    CallHeaders, DAEMON_LOST, ForwardError, HttpClient, OUT_OF_TURN, PLACE_LOST, PLACE_OFFLINE,
    http, read_answer, request,
};
use crate::daemon_connector::{CallCarrier, DaemonConnector};
use crate::hub::RefusalReason;
use crate::mcp::{self, LEGACY_VERSIONS};
use crate::os;
use crate::protocol::{CLOCK_HEADER, RunClock};

/// The address of MCP: the host is of no account, for the socket leads to one only.
const URL: &str = "http://tabwire/mcp";

/// The address at which the program at the socket tells of itself, without asking home.
const CARRIER_URL: &str = "http://tabwire/carrier";

/// The address at which home tells of itself, and starts no daemon.
const HOME_URL: &str = "http://tabwire/home";

/// For how long after its line came a call may reach the daemon.
const IN_TIME: Duration = Duration::from_secs(10);

/// For how long a call is sent again after the line broke.
const AGAIN: Duration = Duration::from_secs(10);

/// The shortest and the longest pause before it is sent again.
const REST: Duration = Duration::from_millis(50);
const REST_MAX: Duration = Duration::from_millis(800);

/// After this long the daemon's clock is asked for anew: another machine's clock may go otherwise.
const CLOCK_AGE: Duration = Duration::from_secs(60);

/// How long the daemon may take to tell its clock. It may have to start.
const ASK: Duration = Duration::from_secs(12);

/// How often the program at the socket is asked for a sign of life during a call, and how long that may take.
const LOOK: Duration = Duration::from_secs(1);
const SIGN: Duration = Duration::from_secs(2);

/// The daemon of a place.
#[derive(Clone, Debug)]
pub struct FarTarget {
    /// The place as the person named it: a name, `unix:PATH` or another address.
    pub place: String,
    /// How calls get there.
    pub way: FarWay,
}

/// How calls get to a place.
#[derive(Clone, Debug)]
pub enum FarWay {
    /// By a socket, at which another program carries them.
    Socket {
        /// The socket.
        path: PathBuf,
        /// Whether it has to be this user's own: another machine's user has another number in a container.
        is_own: bool,
    },
    /// By a part of this program.
    Carrier(CallCarrier),
}

impl FarTarget {
    pub(super) fn connector(&self) -> DaemonConnector {
        match &self.way {
            FarWay::Socket { path, .. } => DaemonConnector::of_socket(path),
            FarWay::Carrier(carrier) => DaemonConnector::of_carrier(carrier.clone()),
        }
    }
}

/// A reading of the daemon's clock.
#[derive(Clone, Debug)]
pub(super) struct FarClock {
    told: RunClock,
    /// When the reading came, by this machine's clock that counts sleep.
    came: Duration,
}

impl FarClock {
    /// The daemon's clock at a moment of this machine's, at the earliest.
    fn at(&self, moment: Duration) -> Duration {
        (self.told.elapsed + moment).saturating_sub(self.came)
    }

    /// Until when a call may come whose line came at this moment.
    fn limit(&self, line: Duration) -> RunClock {
        RunClock { run: self.told.run.clone(), elapsed: self.at(line + IN_TIME) }
    }

    /// The same for one that is made now.
    pub(super) fn limit_from_now(&self) -> RunClock {
        self.limit(os::time_with_sleep())
    }

    /// Whether this reading counts instead of an earlier one: that is of another run or too old, or lay
    /// longer on its way.
    fn replaces(&self, earlier: &Self) -> bool {
        self.told.run != earlier.told.run
            || !earlier.is_young(self.came)
            || self.at(self.came) >= earlier.at(self.came)
    }

    fn is_young(&self, now: Duration) -> bool {
        now.saturating_sub(self.came) < CLOCK_AGE
    }
}

/// Finds the daemon of a place.
pub(super) struct FarDaemonFinder {
    target: FarTarget,
    client: BridgeClient,
    http: HttpClient,
    clock: Mutex<Option<FarClock>>,
    /// Held while the clock is asked for: calls that come together ask once.
    asking: tokio::sync::Mutex<()>,
    found: watch::Sender<Option<DaemonIdentity>>,
}

impl FarDaemonFinder {
    pub(super) fn new(target: FarTarget, client: BridgeClient, http: HttpClient) -> Self {
        let (clock, asking) = Default::default();
        Self { target, client, http, clock, asking, found: watch::Sender::new(None) }
    }

    pub(super) fn finds(&self) -> watch::Receiver<Option<DaemonIdentity>> {
        self.found.subscribe()
    }

    /// The daemon, whose clock is asked for if it is not known.
    pub(super) async fn find(&self) -> Result<FoundDaemon, ForwardError> {
        check_socket(&self.target).map_err(|why| self.offline(why))?;
        let clock = match self.young_clock() {
            Some(clock) => clock,
            None => self.ask_for_clock().await?,
        };
        let identity = DaemonIdentity::Far(clock.told.run.clone());
        self.found
            .send_if_modified(|last| last.replace(identity.clone()).as_ref() != Some(&identity));
        Ok(self.found_at(identity, Some(clock)))
    }

    /// The daemon, if one runs. The person may have ended it: what nobody has called for starts none.
    pub(super) async fn running(&self) -> Option<FoundDaemon> {
        check_socket(&self.target).ok()?;
        let home = get(&self.http, HOME_URL).await?;
        if home["daemon"].is_null() {
            return None;
        }
        self.find().await.ok()
    }

    fn found_at(&self, identity: DaemonIdentity, clock: Option<FarClock>) -> FoundDaemon {
        let (client, url) = (self.client.clone(), URL.to_owned());
        FoundDaemon { identity, url, authorization: None, listed: None, client, clock }
    }

    fn young_clock(&self) -> Option<FarClock> {
        let now = os::time_with_sleep();
        self.clock().clone().filter(|clock| clock.is_young(now))
    }

    /// A ping, which changes nothing. Its refusal tells the clock, too: it cannot say until when it may come.
    async fn ask_for_clock(&self) -> Result<FarClock, ForwardError> {
        let _others_wait = self.asking.lock().await;
        if let Some(clock) = self.young_clock() {
            return Ok(clock);
        }
        let ping = json!({"jsonrpc": "2.0", "id": 0, "method": "ping"}).to_string();
        let headers = CallHeaders { version: LEGACY_VERSIONS[0], ..CallHeaders::default() };
        let unknown = self.found_at(DaemonIdentity::Far(Arc::from("")), None);
        let asked = self.http.request(request(&unknown, ping.into(), &headers)?);
        let response = tokio::select! {
            response = tokio::time::timeout(ASK, asked) => response,
            () = self.carrier_silence() => return Err(self.offline(SILENT)),
        };
        let response = response
            .map_err(|_elapsed| self.offline("the daemon there does not answer"))?
            .map_err(|error| match error.is_connect() {
                true => self.offline("nobody answers at its socket"),
                false => self.offline("the line broke"),
            })?;
        self.note_clock(response.headers());
        if let Some(clock) = self.young_clock() {
            return Ok(clock);
        }
        // Refused on the way.
        match read_answer(response, None).await {
            Err(ForwardError::Refused { body }) if is_final(&body) => Err(refused_for_good(&body)),
            Err(ForwardError::Refused { body }) if !is_broken_line(&body) => {
                Err(ForwardError::Refused { body })
            }
            Ok(_) | Err(_) => Err(self.offline("the line is broken")),
        }
    }

    pub(super) fn note_clock(&self, headers: &HeaderMap) {
        let told = headers.get(CLOCK_HEADER).and_then(|told| told.to_str().ok()?.parse().ok());
        let Some(told) = told else { return };
        let new = FarClock { told, came: os::time_with_sleep() };
        let mut clock = self.clock();
        if clock.as_ref().is_none_or(|known| new.replaces(known)) {
            *clock = Some(new);
        }
    }

    pub(super) fn forget_clock(&self) {
        *self.clock() = None;
    }

    fn clock(&self) -> MutexGuard<'_, Option<FarClock>> {
        self.clock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn offline(&self, why: impl Into<String>) -> ForwardError {
        ForwardError::Offline { place: self.target.place.clone(), why: why.into() }
    }

    pub(super) fn timed_out(&self, timeout: Duration, was_sent: bool) -> ForwardError {
        ForwardError::PlaceTimedOut { place: self.target.place.clone(), timeout, was_sent }
    }

    fn lost(&self) -> ForwardError {
        ForwardError::PlaceLost { place: self.target.place.clone() }
    }

    /// Returns once the program at the socket gives no sign of life. A call can wait for minutes, and the
    /// socket of a program that stands still takes connections.
    async fn carrier_silence(&self) {
        loop {
            tokio::time::sleep(LOOK).await;
            let sign = Request::get(CARRIER_URL).body(Full::<Bytes>::default());
            let Ok(sign) = sign else { return std::future::pending().await };
            // Any answer is one.
            let answered = tokio::time::timeout(SIGN, self.http.request(sign)).await;
            if !matches!(answered, Ok(Ok(_))) {
                return;
            }
        }
    }
}

const SILENT: &str = "the program at its socket does not answer";

/// Whether the socket can be one of a place.
fn check_socket(FarTarget { way, .. }: &FarTarget) -> Result<(), String> {
    let FarWay::Socket { path: socket, is_own } = way else { return Ok(()) };
    let shown = socket.display();
    match fs::symlink_metadata(socket) {
        Ok(found) if found.is_symlink() => {
            Err(format!("{shown} is a link. Name the socket itself"))
        }
        Ok(found) if !os::is_socket(found.file_type()) => Err(format!("{shown} is no socket")),
        Ok(found) if *is_own && !os::is_owner(socket, &found) => {
            Err(format!("{shown} is another user's"))
        }
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(format!("there is no socket {shown}"))
        }
        Err(error) => Err(format!("{shown} cannot be looked at: {error}")),
    }
}

/// Whether an answer says that the line is broken, and whether the call may have run: it comes from a program
/// on the way, and not from the daemon.
fn lost_on_the_way(body: &Value) -> Option<bool> {
    is_broken_line(body).then(|| body["may_have_run"] != false)
}

fn is_broken_line(body: &Value) -> bool {
    let codes = [PLACE_OFFLINE, PLACE_LOST, DAEMON_LOST];
    body["error"].as_str().is_some_and(|code| codes.contains(&code))
}

/// The word of a program on the way that says whether another try at once could help.
const MAY_RESEND: &str = "may_resend";

/// Whether it could not: that program has waited for the place itself.
fn is_final(body: &Value) -> bool {
    body[MAY_RESEND] == false
}

/// The refusal without the word, which is for the bridge alone.
fn refused_for_good(body: &Value) -> ForwardError {
    let mut body = body.clone();
    if let Some(body) = body.as_object_mut() {
        body.remove(MAY_RESEND);
    }
    ForwardError::Refused { body }
}

/// The pauses of a call that is sent again.
struct ResendPauses {
    first_loss: Option<Duration>,
    next: Duration,
}

impl ResendPauses {
    /// Rests; false: there is no time left.
    async fn rest(&mut self) -> bool {
        let now = os::time_with_sleep();
        let since = *self.first_loss.get_or_insert(now);
        if now.saturating_sub(since) >= AGAIN {
            return false;
        }
        tokio::time::sleep(self.next).await;
        self.next = (self.next * 2).min(REST_MAX);
        true
    }
}

impl DaemonLink {
    /// Sends a call and waits for its answer. `None`: it was cancelled.
    pub(super) async fn exchange_far(
        &self,
        far: &FarDaemonFinder,
        call: &mut OutgoingCall,
    ) -> Result<Option<String>, ForwardError> {
        let mut pauses = ResendPauses { first_loss: None, next: REST };
        let mut may_have_run = false;
        while !call.in_progress.is_cancelled() {
            let found = match far.find().await {
                Ok(found) => found,
                Err(why) if pauses.first_loss.is_none() => return Err(why),
                // A program on the way has waited for the place itself: what is left of the pauses helps nobody.
                Err(ForwardError::Refused { body }) if is_broken_line(&body) => {
                    let refused = ForwardError::Refused { body };
                    return Err(if may_have_run { far.lost() } else { refused });
                }
                Err(why) => {
                    if pauses.rest().await {
                        continue;
                    }
                    return Err(if may_have_run { far.lost() } else { why });
                }
            };
            self.handshake.repeat_to(&found, &self.http).await;
            self.listener.until_it_hears(&found).await;
            if let (None, Some(clock)) = (&call.headers.before, &found.clock) {
                // Fixed for good: a call that is sent again is as old as its line.
                call.headers.before = Some(clock.limit(call.came));
            }
            let answer = tokio::select! {
                answer = self.attempt(&found, call) => answer,
                () = far.carrier_silence() => {
                    Err(ForwardError::Lost { detail: SILENT.to_owned(), was_sent: true })
                }
            };
            let was_sent = match &answer {
                Err(ForwardError::Lost { was_sent, .. }) => *was_sent,
                Err(ForwardError::Refused { body }) if body["error"] == OUT_OF_TURN => {
                    call.wait_for_turn().await;
                    continue;
                }
                // It has waited for the place itself.
                Err(ForwardError::Refused { body }) if is_final(body) => {
                    let is_lost = may_have_run || body["may_have_run"] == true;
                    return Err(if is_lost { far.lost() } else { refused_for_good(body) });
                }
                Err(ForwardError::Refused { body }) => match lost_on_the_way(body) {
                    Some(was_sent) => was_sent,
                    None if may_have_run && is_too_late(body) => return Err(far.lost()),
                    None => return answer,
                },
                // The first time may have run, whatever came of the second one.
                Ok(Some(text)) if may_have_run && mcp::is_too_late(text) => return Err(far.lost()),
                Ok(_)
                | Err(
                    ForwardError::NoDaemon(_)
                    | ForwardError::NoOwner(_)
                    | ForwardError::TimedOut { .. }
                    | ForwardError::Offline { .. }
                    | ForwardError::PlaceLost { .. }
                    | ForwardError::PlaceTimedOut { .. },
                ) => return answer,
            };
            far.forget_clock();
            may_have_run |= was_sent;
            let is_harmless = call.submits() || call.only_reads;
            if may_have_run && !is_harmless {
                return Err(far.lost());
            }
            if !pauses.rest().await {
                return Err(if may_have_run { far.lost() } else { far.offline("the line breaks") });
            }
        }
        Ok(None)
    }
}

fn is_too_late(body: &Value) -> bool {
    body["error"] == RefusalReason::TooLate.code()
}

/// The program at a socket, for a look at each part of the way: its own word, and what home says by it.
pub struct FarPlace {
    target: FarTarget,
    http: HttpClient,
}

impl FarPlace {
    /// The place of this target.
    #[must_use]
    pub fn new(target: FarTarget) -> Self {
        Self { http: http(target.connector()), target }
    }

    /// The socket, if there has to be one and it can be one of a place.
    ///
    /// # Errors
    ///
    /// Why it cannot, in words.
    pub fn check_socket(&self) -> Result<Option<&Path>, String> {
        check_socket(&self.target)?;
        Ok(match &self.target.way {
            FarWay::Socket { path, .. } => Some(path),
            FarWay::Carrier(_) => None,
        })
    }

    /// The word of the program at the socket. `None`: it gives none in time.
    pub async fn carrier(&self) -> Option<Value> {
        get(&self.http, CARRIER_URL).await
    }

    /// The word of home. `None`: there is none in time.
    pub async fn home(&self) -> Option<Value> {
        get(&self.http, HOME_URL).await
    }

    /// The same, or the word of a program on the way that has an `error`.
    pub async fn home_or_refusal(&self) -> Option<Value> {
        ask(&self.http, HOME_URL).await.map(|(_, told)| told)
    }
}

/// The JSON at an address of the program at the socket. `None`: there is none in time.
async fn get(http: &HttpClient, url: &str) -> Option<Value> {
    ask(http, url).await.filter(|(status, _)| status.is_success()).map(|(_, told)| told)
}

async fn ask(http: &HttpClient, url: &str) -> Option<(StatusCode, Value)> {
    let request = Request::get(url).body(Full::<Bytes>::default()).ok()?;
    let asked = async {
        let response = http.request(request).await.ok()?;
        let status = response.status();
        let body = response.into_body().collect().await.ok()?;
        Some((status, serde_json::from_slice(&body.to_bytes()).ok()?))
    };
    tokio::time::timeout(SIGN * 2, asked).await.ok()?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(text: &str, came: u64) -> FarClock {
        FarClock { told: text.parse().unwrap(), came: Duration::from_secs(came) }
    }

    #[test]
    fn a_call_may_come_until_ten_seconds_after_its_line_whenever_the_clock_was_read() {
        let line = Duration::from_secs(100);
        // Read before the line came, and after it.
        for (told, came) in [("run-1.50000", 90), ("run-1.65000", 105)] {
            let limit = clock(told, came).limit(line);
            assert_eq!(limit.to_string(), "run-1.70000", "{told}");
        }
        // A daemon that has just started.
        assert_eq!(clock("run-2.100", 105).limit(line).to_string(), "run-2.5100");
    }

    #[test]
    fn of_two_readings_of_a_run_the_one_counts_that_lay_on_its_way_for_less_time() {
        let known = clock("run-1.50000", 90);
        assert!(!clock("run-1.50500", 95).replaces(&known), "it was late by 4.5 s");
        assert!(clock("run-1.55100", 95).replaces(&known));
        assert!(clock("run-2.1", 95).replaces(&known), "another run");
    }

    #[test]
    fn a_reading_over_a_line_that_has_become_slower_counts_once_the_earlier_one_is_old() {
        let known = clock("run-1.50000", 90);
        let late =
            |came: u64| clock(&format!("run-1.{}", 50_000 + (came - 90) * 1_000 - 900), came);
        assert!(!late(149).replaces(&known));
        assert!(late(150).replaces(&known) && !known.is_young(Duration::from_secs(150)));
    }

    #[test]
    fn a_break_on_the_way_is_told_from_an_answer_of_the_daemon() {
        let lost = |body: &Value| lost_on_the_way(body);
        assert_eq!(lost(&json!({"error": "place_offline", "may_have_run": false})), Some(false));
        assert_eq!(lost(&json!({"error": "place_lost", "may_have_run": true})), Some(true));
        assert_eq!(lost(&json!({"error": "daemon_lost"})), Some(true), "it is not said");
        assert_eq!(lost(&json!({"error": "busy", "may_have_run": false})), None);
    }
}
