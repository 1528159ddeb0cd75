//! Records: the form of everything that must outlive the process, in any store.
//!
//! A record is a JSON object that says its version (`v`) and describes itself. The store files it
//! under a key and does not read it: a command's id, a client's, a browser's, a call's idempotency
//! key. Of a command there are up to four: its acceptance, its lane, its stage and when its outcome
//! was read. So a change of a command never writes its acceptance again, which holds the arguments.
//!
//! JSON, because arguments, results and errors are JSON already and stand in a record as they are,
//! byte for byte. A long one stands beside its record: the store decides where.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::value::RawValue;

use super::trace_record::{StepRecord, TraceParts, TracePointRecord, trace_points, trace_records};
use crate::engine::{ClockAnchor, RecordedCommand, RecordedKey};
use crate::lifecycle::{
    CallDigest, CommandHold, CommandOutcome, CommandSpec, CommandWork, Delivery, ExpiryReason,
    HoldHistory, Lane, Peer, SavedCommand, SavedStage, TargetSelector, Tombstone, TracePoint,
};
use crate::protocol::{
    Attempt, BrowserId, BrowserSession, ClientId, ConsentNeed, CorrelationId, InstanceId, Owner,
    QueryId, TabId, TabScope, Timestamp, TraceContext, Transport,
};

/// A value longer than this, in bytes, stands beside its record.
pub(super) const LONG: usize = 8 * 1024;

/// The version of all records that this build writes, and the only one that it reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordVersion;

impl RecordVersion {
    const NUMBER: u32 = 1;
}

impl Serialize for RecordVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(Self::NUMBER)
    }
}

impl<'de> Deserialize<'de> for RecordVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            Self::NUMBER => Ok(Self),
            other => Err(D::Error::custom(format!("a record has version {other}, not 1"))),
        }
    }
}

/// A JSON value as it stands in its record, or the text that stands beside it.
type SplitValue<'a> = (Option<Box<RawValue>>, Option<Cow<'a, str>>);

/// A command as it was accepted.
#[derive(Serialize, Deserialize)]
pub(super) struct AcceptanceRecord {
    v: RecordVersion,
    query_id: QueryId,
    owner: Owner,
    client: ClientId,
    created_us: u64,
    /// How long the machine had slept. Files of earlier builds do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asleep_us: Option<u64>,
    timeout_us: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    holds_dialogs: bool,
    /// Files of earlier builds do not have it: every owner saw every tab.
    #[serde(default, skip_serializing_if = "TabScope::is_all")]
    scope: TabScope,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trace_context: Option<TraceContext>,
    /// The action, the wait or the job.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    work: Option<Box<RawValue>>,
    /// The browser and the tab as the call named them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wanted_browser: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wanted_tab: Option<TabId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lane: Option<LaneRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trace: Option<Vec<TracePointRecord>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    steps: Vec<StepRecord>,
}

/// Where a command runs.
#[derive(Serialize, Deserialize)]
pub(super) struct LaneRecord {
    v: RecordVersion,
    browser: BrowserId,
    tab: Option<TabId>,
}

/// How far a command has come since its acceptance.
#[derive(Serialize, Deserialize)]
pub(super) struct StageRecord {
    v: RecordVersion,
    stage: StageWord,
    at_us: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delivery: Option<DeliveryRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outcome: Option<OutcomeRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trace: Option<Vec<TracePointRecord>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    steps: Vec<StepRecord>,
    /// What it waits for the person's word for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    need: Option<ConsentNeed>,
    /// How often it was held.
    #[serde(default, skip_serializing_if = "is_zero")]
    held: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    paused_us: Option<u64>,
    /// How long the machine slept while it was held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    held_asleep_us: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    allowed: Vec<ConsentNeed>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StageWord {
    Held,
    Released,
    Started,
    Working,
    Ended,
}

#[derive(Serialize, Deserialize)]
struct DeliveryRecord {
    attempt: Attempt,
    browser: BrowserId,
    instance: InstanceId,
    transport: Transport,
}

/// How a command ended. The value of the first three stands beside the record if it is long.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OutcomeRecord {
    Complete {
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        result: Option<Box<RawValue>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<Arc<str>>,
    },
    Error {
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        error: Option<Box<RawValue>>,
    },
    Timeout {
        #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
        error: Option<Box<RawValue>>,
    },
    Expired {
        reason: String,
        may_have_run: bool,
    },
    Cancelled {
        may_have_run: bool,
        by_user: bool,
    },
}

/// A value that stands in its record. `null` is one too: the result of many a script.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(from).map(Some)
}

/// When an owner read an outcome.
#[derive(Serialize, Deserialize)]
pub(super) struct ReadRecord {
    v: RecordVersion,
    at_us: u64,
}

/// The memory of a command whose records are gone.
#[derive(Serialize, Deserialize)]
pub(super) struct TombstoneRecord {
    v: RecordVersion,
    client: ClientId,
    owner: Owner,
    at_us: u64,
    may_have_run: bool,
}

/// Which command was accepted under an idempotency key.
#[derive(Serialize, Deserialize)]
pub(super) struct KeyRecord {
    v: RecordVersion,
    id: CorrelationId,
    query_id: QueryId,
    accepted_us: u64,
    /// The digest of the call, in hexadecimal. Files before schema 5 did not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
}

/// The session that a browser was in last.
#[derive(Serialize, Deserialize)]
pub(super) struct BrowserRecord {
    v: RecordVersion,
    session: BrowserSession,
}

/// When the daemon was started last, by both clocks.
#[derive(Serialize, Deserialize)]
pub(super) struct RunRecord {
    v: RecordVersion,
    boot: Arc<str>,
    monotonic_us: u64,
    at_us: u64,
}

/// Why a record cannot be read.
pub(super) type RecordError = serde_json::Error;

fn split(text: Cow<'_, str>) -> SplitValue<'_> {
    if text.len() > LONG {
        // Neither copied nor parsed: it may have megabytes.
        return (None, Some(text));
    }
    match RawValue::from_string(text.into_owned()) {
        Ok(value) => (Some(value), None),
        Err(_no_json) => (None, None),
    }
}

/// The text of a value that stands in its record, or beside it.
fn text_of<'a>(
    inline: Option<&'a RawValue>,
    long: Option<&'a str>,
) -> Result<&'a str, RecordError> {
    inline.map(RawValue::get).or(long).ok_or_else(|| RecordError::custom("a value is missing"))
}

impl AcceptanceRecord {
    /// The record, and the command's work if that stands beside it.
    pub(super) fn of(
        spec: &CommandSpec,
        target: &TargetSelector,
        lane: Option<&Lane>,
        trace: &[TracePoint],
    ) -> (Self, Option<Cow<'static, str>>) {
        let unnamed = spec.is_private.then(|| spec.work.unnamed());
        let (work, long) = split(unnamed.as_ref().unwrap_or(&spec.work).to_record().into());
        let (trace, steps) = trace_records(spec.created, trace);
        let record = Self {
            v: RecordVersion,
            query_id: spec.query_id.clone(),
            owner: spec.owner.clone(),
            client: spec.client.clone(),
            created_us: spec.created.unix_micros(),
            asleep_us: spec.asleep.map(micros),
            timeout_us: micros(spec.timeout),
            holds_dialogs: spec.holds_dialogs,
            scope: spec.scope,
            trace_context: spec.trace_context.clone(),
            work,
            wanted_browser: target.browser.clone(),
            wanted_tab: target.tab,
            lane: lane.map(LaneRecord::of),
            trace,
            steps,
        };
        (record, long)
    }
}

/// All records of one command, and the values that stand beside them.
pub(super) struct CommandRecords<'a> {
    pub(super) id: CorrelationId,
    pub(super) acceptance: AcceptanceRecord,
    pub(super) long_work: Option<&'a str>,
    pub(super) lane: Option<LaneRecord>,
    pub(super) stage: Option<StageRecord>,
    pub(super) long_value: Option<&'a str>,
    pub(super) read: Option<ReadRecord>,
}

impl CommandRecords<'_> {
    /// The command that they describe.
    pub(super) fn command(self) -> Result<RecordedCommand, RecordError> {
        let Self { id, acceptance, long_work, lane, stage, long_value, read } = self;
        let work: CommandWork =
            serde_json::from_str(text_of(acceptance.work.as_deref(), long_work)?)?;
        let spec = CommandSpec {
            id,
            query_id: acceptance.query_id,
            owner: acceptance.owner,
            client: acceptance.client,
            params: work.params(),
            is_private: matches!(work, CommandWork::Unnamed { .. }),
            work,
            timeout: Duration::from_micros(acceptance.timeout_us),
            holds_dialogs: acceptance.holds_dialogs,
            scope: acceptance.scope,
            trace_context: acceptance.trace_context,
            created: Timestamp::from_unix_micros(acceptance.created_us),
            asleep: acceptance.asleep_us.map(Duration::from_micros),
        };
        let selector =
            TargetSelector { browser: acceptance.wanted_browser, tab: acceptance.wanted_tab };
        let lane = lane.or(acceptance.lane).map(LaneRecord::lane);
        let holds = stage.as_ref().map(StageRecord::holds).unwrap_or_default();
        let (stage, trace) = match stage {
            Some(stage) => stage.stage(long_value, read.is_some())?,
            None => (SavedStage::Accepted, (acceptance.trace, acceptance.steps)),
        };
        let trace = trace_points(spec.created, trace);
        Ok(RecordedCommand { saved: SavedCommand { spec, stage, trace, holds }, lane, selector })
    }
}

impl LaneRecord {
    pub(super) fn of(Lane { browser, tab }: &Lane) -> Self {
        Self { v: RecordVersion, browser: browser.clone(), tab: *tab }
    }

    fn lane(self) -> Lane {
        Lane { browser: self.browser, tab: self.tab }
    }
}

impl StageRecord {
    /// The record, and the result or error if that stands beside it. `None`: the command is as it
    /// was when it was accepted.
    pub(super) fn of<'a>(
        spec: &CommandSpec,
        stage: &'a SavedStage,
        trace: &[TracePoint],
        holds: &HoldHistory,
    ) -> Option<(Self, Option<Cow<'a, str>>)> {
        let (created, is_private) = (spec.created, spec.is_private);
        let (word, at, delivery, outcome) = match stage {
            SavedStage::Accepted => return None,
            // The word that it waits for names the site.
            SavedStage::Held(hold) if is_private => (StageWord::Released, &hold.since, None, None),
            SavedStage::Held(hold) => (StageWord::Held, &hold.since, None, None),
            SavedStage::Released { at } => (StageWord::Released, at, None, None),
            SavedStage::Started { delivery, at } => (StageWord::Started, at, Some(delivery), None),
            SavedStage::Working { at } => (StageWord::Working, at, None, None),
            SavedStage::Ended { at, outcome, delivery, .. } => {
                (StageWord::Ended, at, delivery.as_ref(), Some(outcome))
            }
        };
        let bare = outcome.filter(|_| is_private).map(CommandOutcome::bare);
        let bare = bare.map(|bare| (OutcomeRecord::of(&bare).0, None));
        let of = |outcome: &'a CommandOutcome| OutcomeRecord::of(outcome);
        let (outcome, long) = bare.or_else(|| outcome.map(of)).unzip();
        let (trace, steps) = trace_records(created, trace);
        let record = Self {
            v: RecordVersion,
            stage: word,
            at_us: at.unix_micros(),
            delivery: delivery.map(DeliveryRecord::of),
            outcome,
            trace,
            steps,
            need: match stage {
                SavedStage::Held(hold) if !is_private => Some(hold.need.clone()),
                SavedStage::Held(_)
                | SavedStage::Accepted
                | SavedStage::Released { .. }
                | SavedStage::Started { .. }
                | SavedStage::Working { .. }
                | SavedStage::Ended { .. } => None,
            },
            held: holds.times,
            paused_us: (holds.times > 0).then(|| micros(holds.paused)),
            held_asleep_us: (!holds.asleep.is_zero()).then(|| micros(holds.asleep)),
            allowed: if is_private { Vec::new() } else { holds.allowed.clone() },
        };
        Some((record, long.flatten()))
    }

    fn holds(&self) -> HoldHistory {
        HoldHistory {
            times: self.held,
            paused: Duration::from_micros(self.paused_us.unwrap_or_default()),
            asleep: Duration::from_micros(self.held_asleep_us.unwrap_or_default()),
            allowed: self.allowed.clone(),
        }
    }

    fn stage(
        self,
        long_value: Option<&str>,
        read: bool,
    ) -> Result<(SavedStage, TraceParts), RecordError> {
        let at = Timestamp::from_unix_micros(self.at_us);
        let delivery = self.delivery.map(DeliveryRecord::delivery);
        let missing = |what: &str| RecordError::custom(format!("a stage has no {what}"));
        let stage = match self.stage {
            StageWord::Started => {
                SavedStage::Started { delivery: delivery.ok_or_else(|| missing("delivery"))?, at }
            }
            StageWord::Held => {
                let need = self.need.ok_or_else(|| missing("need"))?;
                SavedStage::Held(CommandHold { need, since: at })
            }
            StageWord::Released => SavedStage::Released { at },
            StageWord::Working => SavedStage::Working { at },
            StageWord::Ended => {
                let outcome = self.outcome.ok_or_else(|| missing("outcome"))?;
                SavedStage::Ended { at, outcome: outcome.outcome(long_value)?, delivery, read }
            }
        };
        Ok((stage, (self.trace, self.steps)))
    }
}

impl DeliveryRecord {
    fn of(Delivery { attempt, peer, transport }: &Delivery) -> Self {
        let Peer { browser, instance } = peer.clone();
        Self { attempt: *attempt, browser, instance, transport: *transport }
    }

    fn delivery(self) -> Delivery {
        let peer = Peer { browser: self.browser, instance: self.instance };
        Delivery { attempt: self.attempt, peer, transport: self.transport }
    }
}

impl OutcomeRecord {
    fn of(outcome: &CommandOutcome) -> (Self, Option<Cow<'_, str>>) {
        let json = |error| split(serde_json::to_string(error).unwrap_or_default().into());
        match outcome {
            CommandOutcome::Complete { result, origin } => {
                let (result, long) = split(result.get().into());
                (Self::Complete { result, origin: origin.clone() }, long)
            }
            CommandOutcome::Error { error } => {
                let (error, long) = json(&**error);
                (Self::Error { error }, long)
            }
            CommandOutcome::Timeout { error } => {
                let (error, long) = json(&**error);
                (Self::Timeout { error }, long)
            }
            CommandOutcome::Expired { reason, may_have_run } => {
                let reason = reason.code().to_owned();
                (Self::Expired { reason, may_have_run: *may_have_run }, None)
            }
            CommandOutcome::Cancelled { may_have_run, by_user } => {
                (Self::Cancelled { may_have_run: *may_have_run, by_user: *by_user }, None)
            }
        }
    }

    fn outcome(self, long: Option<&str>) -> Result<CommandOutcome, RecordError> {
        let error = |inline: Option<Box<RawValue>>| -> Result<_, RecordError> {
            Ok(Arc::new(serde_json::from_str(text_of(inline.as_deref(), long)?)?))
        };
        Ok(match self {
            Self::Complete { result, origin } => {
                let text = text_of(result.as_deref(), long)?.to_owned();
                CommandOutcome::Complete { result: RawValue::from_string(text)?.into(), origin }
            }
            Self::Error { error: inline } => CommandOutcome::Error { error: error(inline)? },
            Self::Timeout { error: inline } => CommandOutcome::Timeout { error: error(inline)? },
            Self::Expired { reason, may_have_run } => {
                let known = ExpiryReason::of_code(&reason);
                let unknown = || RecordError::custom(format!("there is no reason `{reason}`"));
                CommandOutcome::Expired { reason: known.ok_or_else(unknown)?, may_have_run }
            }
            Self::Cancelled { may_have_run, by_user } => {
                CommandOutcome::Cancelled { may_have_run, by_user }
            }
        })
    }
}

impl ReadRecord {
    pub(super) const fn of(at: Timestamp) -> Self {
        Self { v: RecordVersion, at_us: at.unix_micros() }
    }
}

impl TombstoneRecord {
    pub(super) fn of(client: &ClientId, tombstone: &Tombstone) -> Self {
        let Tombstone { owner, at, may_have_run } = tombstone.clone();
        let client = client.clone();
        Self { v: RecordVersion, client, owner, at_us: at.unix_micros(), may_have_run }
    }

    pub(super) fn tombstone(self) -> (ClientId, Tombstone) {
        let Self { client, owner, at_us, may_have_run, .. } = self;
        (client, Tombstone { owner, at: Timestamp::from_unix_micros(at_us), may_have_run })
    }
}

impl KeyRecord {
    pub(super) fn of(key: &RecordedKey) -> Self {
        let in_hex = |digest: CallDigest| format!("{:032x}", u128::from_be_bytes(*digest.bytes()));
        Self {
            v: RecordVersion,
            id: key.id.clone(),
            query_id: key.query_id.clone(),
            accepted_us: key.accepted.unix_micros(),
            digest: key.digest.map(in_hex),
        }
    }

    pub(super) fn key(
        self,
        owner: Owner,
        client: ClientId,
        key: Arc<str>,
    ) -> Result<RecordedKey, RecordError> {
        let bytes = |hex: String| u128::from_str_radix(&hex, 16).map(u128::to_be_bytes);
        let digest = self.digest.map(bytes).transpose().map_err(RecordError::custom)?;
        Ok(RecordedKey {
            owner,
            key,
            client,
            id: self.id,
            query_id: self.query_id,
            accepted: Timestamp::from_unix_micros(self.accepted_us),
            digest: digest.map(CallDigest::from_bytes),
        })
    }
}

impl BrowserRecord {
    pub(super) fn of(session: &BrowserSession) -> Self {
        Self { v: RecordVersion, session: session.clone() }
    }

    pub(super) fn session(self) -> BrowserSession {
        self.session
    }
}

impl RunRecord {
    pub(super) fn of(ClockAnchor { boot, monotonic, at }: &ClockAnchor) -> Self {
        let (boot, monotonic_us) = (boot.clone(), micros(*monotonic));
        Self { v: RecordVersion, boot, monotonic_us, at_us: at.unix_micros() }
    }

    pub(super) fn anchor(self) -> ClockAnchor {
        let monotonic = Duration::from_micros(self.monotonic_us);
        let at = Timestamp::from_unix_micros(self.at_us);
        ClockAnchor { boot: self.boot, monotonic, at }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn micros(length: Duration) -> u64 {
    u64::try_from(length.as_micros()).unwrap_or(u64::MAX)
}
