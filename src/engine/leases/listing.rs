//! Whose the tabs of a `tab_list` are.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::TabHolder;
use crate::engine::{Caller, Engine};
use crate::protocol::actions::{BrowserAction, TabListAction};
use crate::protocol::{Action, CorrelationId, TabId, Timestamp};

/// The field of a tab that the caller holds.
const YOURS: &str = "yours";
/// The field of a tab that another client holds, with its name.
const HELD_BY: &str = "held_by";

/// The lists of tabs in a result, and the clients that hold tabs of that browser, as the caller may
/// know them. The extension does not know who holds a tab.
#[derive(Debug)]
pub struct ListedHolders {
    lists: Vec<String>,
    holders: HashMap<TabId, TabHolder>,
}

impl Engine {
    /// The holders of the tabs that a command has listed. `None`: it lists none, or no client holds
    /// one that the caller sees.
    #[must_use]
    pub fn listed_holders(
        &self,
        caller: &Caller,
        id: &CorrelationId,
        now: Timestamp,
    ) -> Option<ListedHolders> {
        let command = self.command(id)?;
        let lists = command.spec().work.action().map(places_of_lists)?;
        let browser = &command.delivery()?.peer.browser;
        let held = self.leases.0.keys().filter(|place| place.browser == *browser);
        // One may have left the caller's scope since it was listed.
        let seen =
            held.filter(|place| self.owner_tabs.inside_since(&caller.owner, place).is_some());
        let holder = |tab| Some((tab, self.holder_of(caller, browser, tab, now)?));
        let holders: HashMap<_, _> = seen.filter_map(|place| holder(place.tab)).collect();
        (!lists.is_empty() && !holders.is_empty()).then_some(ListedHolders { lists, holders })
    }
}

impl ListedHolders {
    /// The result with the holder of each tab in it. `None`: nobody holds one of its tabs.
    #[must_use]
    pub fn shown_in(&self, result: &RawValue) -> Option<Arc<RawValue>> {
        let mut whole: Value = serde_json::from_str(result.get()).ok()?;
        let mut is_changed = false;
        for list in &self.lists {
            let tabs = whole.pointer_mut(list).and_then(Value::as_array_mut);
            for tab in tabs.into_iter().flatten().filter_map(Value::as_object_mut) {
                let id = tab.get("tab_id").and_then(Value::as_i64).map(TabId);
                let Some(holder) = id.and_then(|id| self.holders.get(&id)) else { continue };
                is_changed = true;
                if holder.you {
                    tab.insert(YOURS.to_owned(), true.into());
                } else {
                    tab.insert(HELD_BY.to_owned(), holder.shown_name().into());
                }
            }
        }
        is_changed.then(|| to_raw_value(&whole).ok())?.map(Into::into)
    }
}

/// Where the result of an action has lists of tabs, as JSON pointers.
fn places_of_lists(action: &Action) -> Vec<String> {
    if matches!(action, Action::TabList(_)) {
        return vec!["/value".to_owned()];
    }
    let Action::Batch(batch) = action else { return Vec::new() };
    let steps = batch.steps.iter().enumerate();
    let lists = steps.filter(|(_, step)| step.action == TabListAction::SPEC.name);
    lists.map(|(at, _)| format!("/value/results/{at}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_in_the_steps_of_a_batch_say_it_too_and_no_other_result_is_touched() {
        let steps = r#"{"action":"batch","steps":[{"action":"page_info"},{"action":"tab_list"}]}"#;
        let batch = serde_json::from_str::<Action>(steps).expect("a batch");
        let (client, since) = (Some("a".into()), Timestamp::from_unix_micros(0));
        let holder = TabHolder { client, you: false, opened: true, since, shared: false };
        let holders = HashMap::from([(TabId(3), holder)]);
        let of_batch = ListedHolders { lists: places_of_lists(&batch), holders };
        let result = |first: &str, second: &str| {
            let text = format!(r#"{{"value":{{"results":[{first},{second}]}}}}"#);
            RawValue::from_string(text).expect("JSON")
        };
        let page = r#"[{"tab_id":3}]"#;
        let shown = of_batch.shown_in(&result(page, r#"[{"tab_id":3},{"tab_id":4}]"#));
        let told = result(page, r#"[{"tab_id":3,"held_by":"a"},{"tab_id":4}]"#);
        assert_eq!(shown.expect("one is held").get(), told.get());
        // A list that was too long for the batch, and one of tabs that nobody holds.
        for other in [r#"{"left_out":"9 bytes"}"#, r#"[{"tab_id":4},7]"#] {
            assert!(of_batch.shown_in(&result(page, other)).is_none(), "{other}");
        }
    }
}
