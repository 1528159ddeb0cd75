//! The record of a word that the person has given, and that is kept.

use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Serialize};

use super::record::{RecordError, RecordVersion};
use crate::engine::{ConsentSubject, ConsentTerm, KeptConsent};
use crate::protocol::{ClientId, ConsentKind, Owner, Timestamp};

/// The person's word about a client and a site.
#[derive(Serialize, Deserialize)]
pub(super) struct ConsentRecord {
    v: RecordVersion,
    #[serde(flatten)]
    term: ConsentTerm,
    at_us: u64,
}

impl ConsentRecord {
    pub(super) fn of(kept: &KeptConsent) -> Self {
        Self { v: RecordVersion, term: kept.term.clone(), at_us: kept.at.unix_micros() }
    }

    pub(super) fn consent(
        self,
        owner: Owner,
        client: ClientId,
        kind: &str,
        site: Arc<str>,
    ) -> Result<KeptConsent, RecordError> {
        let unknown = || RecordError::custom(format!("there is no consent for `{kind}`"));
        let kind = ConsentKind::of_code(kind).ok_or_else(unknown)?;
        let subject = ConsentSubject { owner, client, kind, site };
        let at = Timestamp::from_unix_micros(self.at_us);
        Ok(KeptConsent { subject, term: self.term, at })
    }
}
