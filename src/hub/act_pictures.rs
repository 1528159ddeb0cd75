//! Pictures of tabs before and after the acts of agents, for the person who has switched them on: in
//! memory, bounded, for as long as they are on.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;

use super::Hub;
use crate::protocol::{ActMoment, BrowserId, CorrelationId};

/// How many bytes of pictures are kept.
const KEPT_BYTES: usize = 32 * 1024 * 1024;

/// The largest picture, in bytes.
const PICTURE_BYTES: usize = 512 * 1024;

/// The pictures of one command.
#[derive(Debug, Default)]
struct ActPictures {
    before: Option<Bytes>,
    after: Option<Bytes>,
}

impl ActPictures {
    const fn at(&self, moment: ActMoment) -> Option<&Bytes> {
        match moment {
            ActMoment::Before => self.before.as_ref(),
            ActMoment::After => self.after.as_ref(),
        }
    }

    fn bytes(&self) -> usize {
        [&self.before, &self.after].into_iter().flatten().map(Bytes::len).sum()
    }
}

/// The kept pictures. Those of the oldest command make room for newer ones.
#[derive(Debug, Default)]
pub(super) struct ActPictureStore(Mutex<KeptPictures>);

#[derive(Debug, Default)]
struct KeptPictures {
    of: HashMap<CorrelationId, ActPictures>,
    /// The oldest command first.
    order: VecDeque<CorrelationId>,
    bytes: usize,
}

impl ActPictureStore {
    fn kept(&self) -> MutexGuard<'_, KeptPictures> {
        // Nothing panics under the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeptPictures {
    fn keep(&mut self, id: CorrelationId, moment: ActMoment, picture: Bytes) {
        let pictures = self.of.entry(id.clone()).or_default();
        let before = pictures.bytes();
        if before == 0 {
            self.order.push_back(id);
        }
        match moment {
            ActMoment::Before => pictures.before = Some(picture),
            ActMoment::After => pictures.after = Some(picture),
        }
        self.bytes = self.bytes - before + pictures.bytes();
        while self.bytes > KEPT_BYTES {
            let Some(dropped) = self.order.pop_front().and_then(|oldest| self.of.remove(&oldest))
            else {
                return;
            };
            self.bytes -= dropped.bytes();
        }
    }
}

impl Hub {
    /// Whether tabs are pictured before and after acts.
    #[must_use]
    pub fn pictures_acts(&self) -> bool {
        self.view(|engine| engine.pictures_acts())
    }

    /// The person switches the pictures on or off. Off, those that are kept are dropped.
    pub fn picture_acts(&self, is_on: bool) {
        self.transact(|tx| tx.set_pictures_acts(is_on));
        if !is_on {
            *self.0.act_pictures.kept() = KeptPictures::default();
        }
    }

    /// One picture of a command's tab: a JPEG.
    #[must_use]
    pub fn act_picture(&self, id: &CorrelationId, moment: ActMoment) -> Option<Bytes> {
        self.0.act_pictures.kept().of.get(id)?.at(moment).cloned()
    }

    /// The moments of which there are pictures.
    #[must_use]
    pub fn pictured_moments(&self, id: &CorrelationId) -> Vec<ActMoment> {
        let kept = self.0.act_pictures.kept();
        let has = |moment: &ActMoment| {
            kept.of.get(id).is_some_and(|pictures| pictures.at(*moment).is_some())
        };
        [ActMoment::Before, ActMoment::After].into_iter().filter(has).collect()
    }

    /// Keeps a picture that a browser has sent of a command that it runs. Others are dropped.
    pub(super) fn keep_act_picture(
        &self,
        browser: &BrowserId,
        id: CorrelationId,
        moment: ActMoment,
        jpeg: &str,
    ) {
        if jpeg.len() > PICTURE_BYTES / 3 * 4
            || !self.view(|engine| engine.takes_picture(browser, &id))
        {
            return tracing::debug!(%browser, %id, "a picture of an act is dropped");
        }
        match STANDARD.decode(jpeg) {
            Ok(picture) if picture.starts_with(&[0xff, 0xd8]) => {
                self.0.act_pictures.kept().keep(id, moment, picture.into());
            }
            Ok(_) | Err(_) => tracing::debug!(%browser, %id, "a picture of an act is no JPEG"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pictures_of_the_oldest_commands_make_room() {
        let mut kept = KeptPictures::default();
        let picture = Bytes::from(vec![0; PICTURE_BYTES]);
        for number in 0..100 {
            for moment in [ActMoment::Before, ActMoment::After, ActMoment::After] {
                kept.keep(format!("click_{number}").into(), moment, picture.clone());
            }
        }
        let there = KEPT_BYTES / PICTURE_BYTES / 2;
        assert_eq!((kept.of.len(), kept.order.len(), kept.bytes), (there, there, KEPT_BYTES));
        assert!(kept.of.contains_key(&CorrelationId::from("click_99")));
        assert!(!kept.of.contains_key(&CorrelationId::from("click_0")));
    }
}
