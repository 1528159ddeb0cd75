//! The conversation of an extension and the daemon, on any transport: the mutual proof, the
//! heartbeat, malformed frames, and the end. A transport brings the extension's frames as a
//! stream, and sends it the frames of the link's outbox.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::{Stream, StreamExt as _};

use super::EdgeState;
use super::side_work::SideWork;
use super::yield_budget::YieldBudget;
use crate::extension::FolderCheck;
use crate::hub::{CloseReason, ExtensionFiles, ExtensionLink, Outbox};
use crate::lifecycle::Peer;
use crate::proof::HandshakeTranscript;
use crate::protocol::{
    DrawingRefusalCode, FrameError, FromExtension, NackReason, PROTOCOL_VERSION, SERVER_VERSION,
    ToExtension, Transport, is_newer_version,
};
use crate::renewals;

/// How long an extension may take to answer `challenge`.
pub(super) const HELLO: Duration = Duration::from_secs(5);

/// The largest frame, in bytes.
pub(super) const LARGEST_FRAME: usize = 8 * 1024 * 1024;

/// How often `ping` goes out: a worker without data frames is stopped after 30 s.
const HEARTBEAT: Duration = Duration::from_secs(20);

/// A link on which nothing came for this long is dead.
const DEAD: Duration = Duration::from_secs(45);

/// How many frames of one link are taken in before others get a turn.
pub(super) const FRAMES_AT_ONCE: usize = 8;

/// This many malformed frames end a link.
const MALFORMED: u32 = 3;

/// How many of an extension's protocol versions it is told of, and the log, as not spoken here.
const VERSIONS_TOLD: usize = 8;

/// How many unknown frame types are remembered as answered.
const UNKNOWN_TYPES: usize = 32;

/// Why a link ends, in the words for the extension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LinkClose {
    /// The WebSocket close code, the same on every transport.
    pub(super) code: u16,
    pub(super) reason: String,
}

impl LinkClose {
    pub(super) fn new(code: u16, reason: impl Into<String>) -> Self {
        Self { code, reason: reason.into() }
    }
}

/// A connection that ended by itself: there is nobody to say goodbye to.
#[derive(Debug)]
pub(super) struct LinkLost;

/// How a link ends.
pub(super) type LinkOutcome = Result<LinkClose, LinkLost>;

/// A text of an extension, as a frame.
pub(super) type ParsedFrame = Result<FromExtension, FrameError>;

/// The next frame of an extension, or the end of its link.
pub(super) type ReceivedFrame = Result<ParsedFrame, LinkOutcome>;

/// An extension whose proof was valid, and the proof that it gets.
pub(super) struct AcceptedHello {
    pub(super) link: ExtensionLink,
    pub(super) outbox: Outbox,
    pub(super) welcome: ToExtension,
}

/// Takes the answer to a challenge. The version comes before the proof.
pub(super) fn accept_hello(
    edge: &EdgeState,
    carrier: Transport,
    extension_id: &str,
    challenge: &str,
    answer: Result<FromExtension, FrameError>,
) -> Result<AcceptedHello, LinkClose> {
    let Ok(FromExtension::Hello(hello)) = answer else {
        return Err(LinkClose::new(4401, "the first frame must be hello"));
    };
    // Before the proof: an old extension may prove differently, and must hear about its version.
    if let Err(mismatch) = check_version(&hello.protocol) {
        // `tabwire status` and `doctor` show it: the person has to reload the extension.
        if mismatch.is_outdated {
            edge.tools.hub().note_outdated_extension();
        }
        return Err(mismatch.close);
    }
    let key = edge.guard.home().auth().extension_key(extension_id);
    let said = HandshakeTranscript {
        port: edge.guard.port(),
        challenge,
        hello: &hello.nonce,
        instance: &hello.instance_id,
    };
    if !key.proves_hello(said, &hello.mac) {
        edge.tools.hub().note_wrong_key();
        let reason =
            "hello does not prove the key; run `tabwire install`, then reload the extension";
        return Err(LinkClose::new(4401, reason));
    }
    edge.guard.admission().note_paired();
    let hub = edge.tools.hub();
    let mac = key.welcome_mac(said, &hub.epoch());
    let browser = hello.browser_id;
    let peer = Peer { browser: browser.clone(), instance: hello.instance_id };
    let extension_newer = is_newer_version(&hello.extension_version, SERVER_VERSION);
    let (link, outbox) = hub.attach(peer, carrier, hello.extension_version);
    let welcome = ToExtension::Welcome {
        protocol: PROTOCOL_VERSION,
        epoch: hub.epoch(),
        server_version: SERVER_VERSION,
        extension_newer,
        heartbeat_ms: u64::try_from(HEARTBEAT.as_millis()).unwrap_or(u64::MAX),
        capture: hub.capture_of(&browser),
        mac,
    };
    Ok(AcceptedHello { link, outbox, welcome })
}

/// An extension with which this daemon has no version of the protocol in common.
struct VersionMismatch {
    close: LinkClose,
    /// All versions of the extension are older.
    is_outdated: bool,
}

fn check_version(theirs: &[u32]) -> Result<(), VersionMismatch> {
    if theirs.contains(&PROTOCOL_VERSION) {
        return Ok(());
    }
    let is_outdated = theirs.iter().all(|version| *version < PROTOCOL_VERSION);
    let step = if is_outdated {
        "run `tabwire install`, then reload the extension at chrome://extensions"
    } else {
        "update Tabwire, then run `tabwire stop`"
    };
    // Nothing is proven yet: the list may have a million.
    let theirs: Vec<_> = theirs.iter().take(VERSIONS_TOLD).map(u32::to_string).collect();
    // The step comes first: a close frame may have no room for the rest.
    let reason = format!(
        "{step}: this daemon speaks protocol {PROTOCOL_VERSION}, the extension {}",
        theirs.join(", ")
    );
    Err(VersionMismatch { close: LinkClose::new(4409, reason), is_outdated })
}

/// The close of a link whose `hello` did not come in time.
pub(super) fn no_hello() -> LinkClose {
    LinkClose::new(4408, "no hello within 5 s")
}

/// The next frame for the extension; `Err` says why there is none.
pub(super) async fn next_frame(outbox: &mut Outbox) -> Result<ToExtension, LinkClose> {
    outbox.next().await.map_err(close_of)
}

pub(super) fn close_of(reason: CloseReason) -> LinkClose {
    match reason {
        CloseReason::Shutdown => LinkClose::new(1001, "the daemon is shutting down"),
        CloseReason::Unpaired => {
            LinkClose::new(4401, "the key was replaced: pair this extension again")
        }
        CloseReason::Replaced => {
            LinkClose::new(4001, "replaced by a new connection of this browser")
        }
        CloseReason::Overflow => {
            LinkClose::new(4429, "the extension reads too slowly: too many frames wait")
        }
    }
}

/// Handles the extension's frames, and sends heartbeats.
pub(super) async fn listen(
    edge: &EdgeState,
    extension_id: &str,
    link: &ExtensionLink,
    said: &mut (impl Stream<Item = ReceivedFrame> + Unpin),
) -> LinkOutcome {
    let mut side_work = SideWork::new(edge, extension_id, link);
    let mut budget = YieldBudget::of(FRAMES_AT_ONCE);
    let mut malformed = 0;
    // One `nack` for each unknown type: an extension that repeats one would fill the outbox.
    let mut answered = HashSet::new();
    let mut last_heard = link.now();
    let mut next_ping = last_heard + HEARTBEAT;
    // One for both: each of many idle links pays for it.
    let timer = tokio::time::sleep(HEARTBEAT);
    tokio::pin!(timer);
    loop {
        let frame = tokio::select! {
            biased;
            heard = said.next() => match heard.unwrap_or(Err(Err(LinkLost))) {
                Ok(frame) => frame,
                Err(end) => return end,
            },
            () = side_work.next_done() => continue,
            () = &mut timer => {
                let now = link.now();
                // Wound up again only now: that is cheaper than with every frame.
                let left = DEAD.saturating_sub(now.since(last_heard));
                if left.is_zero() {
                    return Ok(LinkClose::new(1002, "no frame for 45 s"));
                }
                if now >= next_ping {
                    link.ping();
                    next_ping = now + HEARTBEAT;
                }
                timer.set(tokio::time::sleep(left.min(next_ping.since(now))));
                continue;
            }
        };
        // Also a malformed frame is a sign of life.
        last_heard = link.now();
        budget.spend(1).await;
        match frame {
            Ok(frame) => {
                let is_renewed = matches!(frame, FromExtension::Ready(_))
                    && look_at_folder(edge, link, side_work.is_ours()).await;
                if let Some(frame) = side_work.take(frame) {
                    link.receive(frame);
                }
                // It may be told only when its `ready` was received.
                if is_renewed {
                    link.tell_renewed(SERVER_VERSION);
                }
            }
            Err(FrameError::BadDrawing { drawing_id, why }) => {
                let code = DrawingRefusalCode::Malformed;
                side_work.refuse_drawing(drawing_id, code, why.to_string());
            }
            Err(FrameError::UnknownType(kind)) => {
                if answered.len() < UNKNOWN_TYPES && answered.insert(kind) {
                    link.refuse(NackReason::UnknownType);
                }
            }
            Err(FrameError::Malformed(error)) => {
                tracing::debug!(%error, "malformed frame");
                malformed += 1;
                if malformed == MALFORMED {
                    return Ok(LinkClose::new(1008, "three malformed frames"));
                }
                link.refuse(NackReason::Malformed);
            }
        }
    }
}

/// Compares the folder of the Tabwire extension before its `ready`. True: it holds this version and
/// nothing else.
async fn look_at_folder(edge: &EdgeState, link: &ExtensionLink, is_ours: bool) -> bool {
    let check = if is_ours { renewals::check(edge.guard.home()).await } else { None };
    let files = match &check {
        None if !is_ours => ExtensionFiles::Foreign,
        Some(FolderCheck::Changed { .. }) => ExtensionFiles::Changed,
        Some(FolderCheck::Unchanged { .. } | FolderCheck::Unknown) | None => ExtensionFiles::Ours,
    };
    link.note_files(files);
    check == Some(FolderCheck::Unchanged { is_whole: true })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_versions_that_nobody_speaks_here_a_few_are_named() {
        assert!(check_version(&[7, PROTOCOL_VERSION]).is_ok());
        let refused = |theirs: &[u32]| check_version(theirs).err().unwrap();
        let newer = refused(&[7, 8]);
        assert!(newer.close.reason.ends_with("7, 8") && !newer.is_outdated);
        assert!(newer.close.reason.starts_with("update Tabwire"), "{:?}", newer.close);
        assert!(refused(&[u32::MAX; 100_000]).close.reason.len() < 200);
        let older = refused(&[1]);
        assert!(older.close.reason.starts_with("run `tabwire install`") && older.is_outdated);
        assert!(older.close.reason.len() <= 123, "a close frame has room for it");
    }
}
