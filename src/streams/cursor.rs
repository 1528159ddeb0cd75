//! Cursors: the next place in each stream of a view, as a text for callers.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::StreamView;

/// How many bytes of a sealed cursor prove that the daemon has made it.
const PROOF: usize = 16;

/// The next place in each stream of a view. Opaque to callers, and valid during one run of the
/// daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageCursor(pub(super) Vec<u64>);

/// The reason why a text is not a cursor of this view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CursorError {
    /// It is not a cursor, or a cursor of another view.
    #[error("this is not a cursor of this view")]
    Foreign,
    /// It is from an earlier run of the daemon, whose entries are gone.
    #[error("the daemon was restarted, and the entries of this cursor are gone")]
    Stale,
}

/// The key that closes the cursors of a reader who does not see every tab: the places count the
/// entries of all tabs, and the reader could count along, or make places up.
#[derive(Clone)]
pub struct CursorSeal(Hmac<Sha256>);

impl CursorSeal {
    /// The seal of one reader. `secret`: of this run of the daemon.
    #[must_use]
    pub fn new(secret: &[u8], reader: &str) -> Self {
        // HMAC takes a key of any length.
        let mut keyed = Hmac::new_from_slice(secret).unwrap_or_else(|_| unreachable!());
        keyed.update(reader.as_bytes());
        keyed.update(b"\n");
        Self(keyed)
    }

    fn mac(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut mac = self.0.clone();
        for part in parts {
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }

    /// The same places give the same bytes: a reader to whom nothing has come sees no change.
    fn close(&self, head: &str, places: &[u64]) -> Vec<u8> {
        let open: Vec<u8> = places.iter().flat_map(|place| place.to_be_bytes()).collect();
        let mut closed = self.mac(&[b"proof", head.as_bytes(), &open])[..PROOF].to_vec();
        let hidden = self.hide(&closed, &open);
        closed.extend(hidden);
        closed
    }

    fn open(&self, head: &str, closed: &[u8]) -> Option<Vec<u64>> {
        let (proof, hidden) = closed.split_at_checked(PROOF)?;
        let open = self.hide(proof, hidden);
        let mut mac = self.0.clone();
        for part in [b"proof", head.as_bytes(), &open] {
            mac.update(part);
        }
        mac.verify_truncated_left(proof).ok()?;
        let (places, rest) = open.as_chunks::<8>();
        rest.is_empty().then(|| places.iter().map(|place| u64::from_be_bytes(*place)).collect())
    }

    /// Hides bytes, and shows hidden ones.
    fn hide(&self, proof: &[u8], bytes: &[u8]) -> Vec<u8> {
        let blocks = bytes.chunks(32).zip(0_u8..);
        let hidden = blocks.flat_map(|(block, number)| {
            let pad = self.mac(&[b"pad", &[number], proof]);
            block.iter().zip(pad).map(|(byte, pad)| byte ^ pad).collect::<Vec<_>>()
        });
        hidden.collect()
    }
}

impl fmt::Debug for CursorSeal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CursorSeal(…)")
    }
}

impl PageCursor {
    /// The cursor's text for callers. `seal`: of a reader who does not see every tab.
    #[must_use]
    pub fn text(&self, view: StreamView, life: &str, seal: Option<&CursorSeal>) -> String {
        let head = format!("{}|{life}|", view.name());
        let mut bytes = head.clone().into_bytes();
        match seal {
            Some(seal) => bytes.extend(seal.close(&head, &self.0)),
            None => {
                let places: Vec<_> = self.0.iter().map(u64::to_string).collect();
                bytes.extend(places.join("|").into_bytes());
            }
        }
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Reads a cursor of this view and this run of the daemon. `seal`: of a reader who does not see
    /// every tab, and has no other cursors.
    ///
    /// # Errors
    ///
    /// See [`CursorError`].
    pub fn parse(
        text: &str,
        view: StreamView,
        life: &str,
        seal: Option<&CursorSeal>,
    ) -> Result<Self, CursorError> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| CursorError::Foreign)?;
        let mut parts = bytes.splitn(3, |byte| *byte == b'|');
        if parts.next() != Some(view.name().as_bytes()) {
            return Err(CursorError::Foreign);
        }
        // Places begin anew with each daemon, so an old cursor names other entries (decision 123).
        if parts.next() != Some(life.as_bytes()) {
            return Err(CursorError::Stale);
        }
        let places = parts.next().ok_or(CursorError::Foreign)?;
        let places = match seal {
            Some(seal) => seal.open(&format!("{}|{life}|", view.name()), places),
            None => str::from_utf8(places)
                .ok()
                .and_then(|places| places.split('|').map(|place| place.parse().ok()).collect()),
        };
        let places = places.filter(|places| places.len() == view.streams().len());
        places.map(Self).ok_or(CursorError::Foreign)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::StreamKind;

    const VIEW: StreamView = StreamView::Errors;

    #[test]
    fn a_sealed_cursor_tells_no_place_and_is_good_for_its_reader_view_and_life_only() {
        let (ours, theirs) = (CursorSeal::new(b"secret", "a"), CursorSeal::new(b"secret", "b"));
        let cursor = PageCursor(vec![7, 1_000_000]);
        let text = cursor.text(VIEW, "life", Some(&ours));
        assert_eq!(PageCursor::parse(&text, VIEW, "life", Some(&ours)), Ok(cursor.clone()));
        assert_eq!(text, cursor.text(VIEW, "life", Some(&ours)), "nothing came, nothing changes");
        let near = PageCursor(vec![7, 1_000_001]).text(VIEW, "life", Some(&ours));
        assert_eq!(near.len(), text.len());
        // Behind the head, which is the same, two sealed cursors have nothing in common.
        let head = URL_SAFE_NO_PAD.encode("errors|life|").len();
        let same = near[head..].bytes().zip(text[head..].bytes()).filter(|(a, b)| a == b).count();
        assert!(same < 12, "{same} of {} signs are the same", text.len() - head);
        let foreign = Err(CursorError::Foreign);
        assert_eq!(PageCursor::parse(&text, VIEW, "life", Some(&theirs)), foreign);
        assert_eq!(PageCursor::parse(&text, VIEW, "life", None), foreign);
        assert_eq!(PageCursor::parse(&text, VIEW, "next", Some(&ours)), Err(CursorError::Stale));
        let logs = StreamView::Of(StreamKind::Logs);
        assert_eq!(PageCursor::parse(&text, logs, "life", Some(&ours)), foreign);
        let open = cursor.text(VIEW, "life", None);
        assert_eq!(PageCursor::parse(&open, VIEW, "life", Some(&ours)), foreign, "made up");
    }

    #[test]
    fn a_sealed_cursor_of_which_one_bit_is_another_is_refused() {
        let seal = CursorSeal::new(b"secret", "a");
        let text = PageCursor(vec![1, 2]).text(VIEW, "life", Some(&seal));
        let bytes = URL_SAFE_NO_PAD.decode(text).unwrap();
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 1;
            let other = URL_SAFE_NO_PAD.encode(other);
            assert!(PageCursor::parse(&other, VIEW, "life", Some(&seal)).is_err(), "byte {at}");
        }
    }
}
