//! The numbered frames of a session for its extension, until their arrival is confirmed.

use std::collections::{HashSet, VecDeque};

use crate::edge::conversation::LinkClose;
use crate::protocol::{Attempt, CorrelationId, ExtensionReport, FromExtension, ToExtension};

/// Names the answer to a claim or a report.
pub(super) type ReplyKey = (CorrelationId, Attempt);

/// A frame that the extension is not known to have.
#[derive(Debug)]
pub(super) struct PendingFrame {
    text: String,
    /// A POST waits for it, so no poll need end for it.
    is_awaited: bool,
}

/// The frames for the extension, and the requests that wait for them.
#[derive(Debug, Default)]
pub(super) struct SessionState {
    pub(super) waiting: VecDeque<PendingFrame>,
    /// The number of the newest frame. They count from 1.
    pub(super) last: u64,
    /// The newest frame that an answer has carried.
    pub(super) carried: u64,
    /// The newest POST that was taken.
    pub(super) taken: u64,
    /// The newest poll.
    pub(super) poll: u64,
    /// POSTs that wait for answers, and which.
    pub(super) posts: u32,
    pub(super) awaited: HashSet<ReplyKey>,
    /// Requests in progress, and all that there ever were.
    pub(super) open: u32,
    pub(super) requests: u64,
    pub(super) end: Option<LinkClose>,
}

impl SessionState {
    pub(super) fn push(&mut self, frame: &ToExtension) {
        // The POST that asked brings it; waking the poll as well would send it twice.
        let is_awaited = answer_to(frame).is_some_and(|answered| self.awaited.remove(&answered));
        let text = serde_json::to_string(frame).unwrap_or_default();
        self.waiting.push_back(PendingFrame { text, is_awaited });
        self.last += 1;
    }

    /// How many of the frames that wait come after this one.
    pub(super) fn count_after(&self, after: u64) -> usize {
        let newer = usize::try_from(self.last.saturating_sub(after)).unwrap_or(usize::MAX);
        newer.min(self.waiting.len())
    }

    /// Frames up to this one have come.
    pub(super) fn acknowledge(&mut self, after: u64) {
        let kept = self.count_after(after);
        self.waiting.drain(..self.waiting.len() - kept);
    }

    /// The frames after this one, as a request is answered.
    pub(super) fn frames_after(&mut self, after: u64) -> String {
        let count = self.count_after(after);
        // The extension may confirm late, and these are on their way already.
        self.carried = self.carried.max(self.last);
        let newer = self.waiting.iter().skip(self.waiting.len() - count);
        answer(&newer.map(|frame| frame.text.as_str()).collect::<Vec<_>>(), self.last)
    }

    /// Whether a poll has to end: there is a frame after `after` that no other answer
    /// brings. What answers have carried since the poll began, they bring.
    pub(super) fn has_for_poll(&self, after: u64, carried_before: u64) -> bool {
        let is_news = self.carried > carried_before;
        let after = if is_news { after.max(self.carried) } else { after };
        let newer = self.waiting.iter().rev().take(self.count_after(after));
        // When the POST has gone, its answers are the poll's to bring.
        newer.into_iter().any(|frame| !frame.is_awaited || self.posts == 0)
    }
}

pub(super) fn answer(frames: &[&str], last: u64) -> String {
    format!(r#"{{"frames":[{}],"last":{last}}}"#, frames.join(","))
}

/// The answer that a frame asks for.
pub(super) fn awaits(frame: &FromExtension) -> Option<ReplyKey> {
    match frame {
        FromExtension::Report { report: ExtensionReport::Pending { .. }, .. } => None,
        FromExtension::Claim { correlation_id, attempt }
        | FromExtension::Report { correlation_id, attempt, .. } => {
            Some((correlation_id.clone(), *attempt))
        }
        FromExtension::Hello(_)
        | FromExtension::Ready(_)
        // Nothing answers it but the person, minutes later.
        | FromExtension::Hold { .. }
        | FromExtension::ActPicture { .. }
        | FromExtension::Events { .. }
        | FromExtension::Annotations(_)
        | FromExtension::Tabs { .. }
        | FromExtension::Stop { .. }
        | FromExtension::Stopped { .. }
        | FromExtension::SiteRule(_)
        | FromExtension::OlderExtension(_)
        | FromExtension::ConfirmWidening { .. }
        | FromExtension::TakeTab { .. }
        | FromExtension::NameBrowser { .. }
        | FromExtension::KeepTab { .. }
        | FromExtension::SharedTabs { .. }
        | FromExtension::TabOpened { .. }
        | FromExtension::TabCreated { .. }
        | FromExtension::RestoredTabs { .. }
        | FromExtension::History { .. }
        | FromExtension::PageStates { .. }
        | FromExtension::AskAnswer { .. }
        | FromExtension::KeptWords { .. }
        | FromExtension::FarOwners(_)
        | FromExtension::LocalFileRule(_)
        | FromExtension::FileCheck { .. }
        | FromExtension::UploadRequest(_)
        | FromExtension::KeyStored {}
        | FromExtension::Nack { .. }
        | FromExtension::Pong { .. } => None,
    }
}

/// The claim or report that a frame answers.
fn answer_to(frame: &ToExtension) -> Option<ReplyKey> {
    match frame {
        ToExtension::Go { correlation_id, attempt }
        | ToExtension::ResultAck { correlation_id, attempt } => {
            Some((correlation_id.clone(), *attempt))
        }
        ToExtension::Nack { correlation_id, attempt, .. } => {
            Some((correlation_id.clone()?, (*attempt)?))
        }
        ToExtension::Challenge { .. }
        | ToExtension::Welcome { .. }
        | ToExtension::Command { .. }
        | ToExtension::Cancel { .. }
        | ToExtension::AnnotationsAck { .. }
        | ToExtension::AnnotationsOver { .. }
        | ToExtension::Capture { .. }
        | ToExtension::SiteRules { .. }
        | ToExtension::OlderExtensions { .. }
        | ToExtension::Widenings { .. }
        | ToExtension::HeldTabs { .. }
        | ToExtension::OpenedTabs { .. }
        | ToExtension::CloseTabs { .. }
        | ToExtension::History { .. }
        | ToExtension::KeptWords { .. }
        | ToExtension::FarOwners { .. }
        | ToExtension::PageStatesOver { .. }
        | ToExtension::Asks { .. }
        | ToExtension::ExtensionChanged {}
        | ToExtension::Reload { .. }
        | ToExtension::LocalFiles { .. }
        | ToExtension::BrowserName { .. }
        | ToExtension::FileVerdict { .. }
        | ToExtension::UploadCopies { .. }
        | ToExtension::Ping { .. } => None,
    }
}
