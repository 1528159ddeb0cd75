//! `configure` and the values that agents store. Their files are read and written on other
//! threads: the disk delays no other call.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::arguments::closest;
use super::failure::CallFailure;
use super::parts::{PartPlace, RequestedPart, USUAL_PART, cut};
use super::result::status;
use super::{ToolResult, ToolSet};
use crate::home::{NAME_MAX, StoreError, StoredValue, ValueName, ValueStore};
use crate::hub::{Caller, RefusalReason};
use crate::protocol::{Owner, Timestamp};

/// Where a value is stored whose name is not given.
const DEFAULT_NAME: &str = "default";

/// A value that was stored.
#[derive(Serialize, JsonSchema)]
pub(super) struct StoredAnswer {
    status: status::Stored,
    name: String,
    size_bytes: usize,
}

/// A loaded value, or a part of it.
#[derive(Serialize, JsonSchema)]
pub(super) struct LoadedAnswer {
    status: status::Ok,
    name: String,
    size_bytes: u64,
    stored_at: Timestamp,
    #[serde(flatten)]
    place: Option<PartPlace>,
    /// The value, or a part of it.
    data: Box<RawValue>,
}

/// The stored values.
#[derive(Serialize, JsonSchema)]
pub(super) struct ListOfValues {
    count: usize,
    values: Vec<ListedValue>,
}

/// One value of the list.
#[derive(Serialize, JsonSchema)]
struct ListedValue {
    name: String,
    size_bytes: u64,
    stored_at: Timestamp,
}

/// A value that was deleted.
#[derive(Serialize, JsonSchema)]
pub(super) struct DeletedAnswer {
    status: status::Deleted,
    name: String,
}

pub(super) async fn store(
    tools: &ToolSet,
    caller: &Caller,
    name: Option<String>,
    data: Value,
) -> ToolResult {
    let name = match named(name) {
        Ok(name) => name,
        Err(wrong) => return wrong,
    };
    let answer = move |store: &ValueStore, owner: &Owner| {
        let data = to_raw_value(&data).unwrap_or_default();
        store.store(owner, &name, &data)?;
        let (name, size_bytes) = (name.as_str().to_owned(), data.get().len());
        Ok(StoredAnswer { status: status::Stored::Stored, name, size_bytes })
    };
    on_disk(tools, caller, answer).await
}

pub(super) async fn load(
    tools: &ToolSet,
    caller: &Caller,
    name: Option<String>,
    part: Option<RequestedPart>,
) -> ToolResult {
    let name = match named(name) {
        Ok(name) => name,
        Err(wrong) => return wrong,
    };
    let answer = move |store: &ValueStore, owner: &Owner| {
        let (StoredValue { size, at, .. }, value) = store.load(owner, &name)?;
        let name = name.as_str();
        let quoted = Value::from(name);
        let read_on = format!("configure({{action:\"load\", name:{quoted}");
        let (data, place) = match cut(&value, part, USUAL_PART, &read_on) {
            Some((data, place)) => (data, Some(place)),
            None => (value, None),
        };
        let name = name.to_owned();
        Ok(LoadedAnswer {
            status: status::Ok::Ok,
            name,
            size_bytes: size,
            stored_at: at,
            place,
            data,
        })
    };
    on_disk(tools, caller, answer).await
}

/// A stored value, for another tool.
pub(super) async fn value(
    tools: &ToolSet,
    caller: &Caller,
    name: &str,
) -> Result<Value, ToolResult> {
    let name = named(Some(name.to_owned()))?;
    let Some(store) = tools.store.clone() else { return Err(no_disk()) };
    let owner = caller.owner.clone();
    let read = tokio::task::spawn_blocking(move || match store.load(&owner, &name) {
        Ok((_, value)) => {
            serde_json::from_str(value.get()).map_err(|error| unavailable(&error.to_string()))
        }
        Err(error) => Err(failed(&error, &store, &owner)),
    });
    read.await.unwrap_or_else(|error| Err(unavailable(&error.to_string())))
}

pub(super) async fn list(tools: &ToolSet, caller: &Caller) -> ToolResult {
    let answer = |store: &ValueStore, owner: &Owner| {
        let describe = |StoredValue { name, size, at }: StoredValue| ListedValue {
            name: name.as_str().to_owned(),
            size_bytes: size,
            stored_at: at,
        };
        let values: Vec<_> = store.list(owner)?.into_iter().map(describe).collect();
        Ok(ListOfValues { count: values.len(), values })
    };
    on_disk(tools, caller, answer).await
}

pub(super) async fn delete(tools: &ToolSet, caller: &Caller, name: String) -> ToolResult {
    let name = match named(Some(name)) {
        Ok(name) => name,
        Err(wrong) => return wrong,
    };
    let answer = move |store: &ValueStore, owner: &Owner| {
        store.delete(owner, &name)?;
        Ok(DeletedAnswer { status: status::Deleted::Deleted, name: name.as_str().to_owned() })
    };
    on_disk(tools, caller, answer).await
}

/// Runs this on a thread that may wait for the disk. It finishes even if its caller is gone.
async fn on_disk<T, F>(tools: &ToolSet, caller: &Caller, run: F) -> ToolResult
where
    T: Serialize + JsonSchema,
    F: FnOnce(&ValueStore, &Owner) -> Result<T, StoreError> + Send + 'static,
{
    // Cloned into the other thread, which may outlive this call.
    let Some(store) = tools.store.clone() else { return no_disk() };
    let owner = caller.owner.clone();
    let done = tokio::task::spawn_blocking(move || match run(&store, &owner) {
        Ok(answer) => ToolResult::of(&answer),
        Err(error) => failed(&error, &store, &owner),
    });
    done.await.unwrap_or_else(|error| unavailable(&error.to_string()))
}

fn named(name: Option<String>) -> Result<ValueName, ToolResult> {
    let name = name.unwrap_or_else(|| DEFAULT_NAME.to_owned());
    ValueName::parse(&name).map_err(|why| {
        let message = format!("invalid value {} for `name`: {why}", Value::from(name));
        let hint = "Pass a short name such as `login-flow`, or omit `name` for `default`.";
        let expected = format!("1 to {NAME_MAX} bytes of text in one line");
        CallFailure::of_param("name", message, hint).expecting(expected).into()
    })
}

fn failed(error: &StoreError, store: &ValueStore, owner: &Owner) -> ToolResult {
    let (code, hint) = match error {
        StoreError::TooLarge { .. } => {
            ("value_too_large", "Store it in parts, under several names.".to_owned())
        }
        StoreError::Full => (
            "store_full",
            "Delete values that you no longer need; configure({action:\"list\"}) lists them."
                .to_owned(),
        ),
        StoreError::NotFound { name } => ("not_found", what_there_is(name, store, owner)),
        StoreError::Damaged { .. } => {
            ("stored_value_damaged", "Store it again, or delete it.".to_owned())
        }
        StoreError::Io { .. } => return unavailable(&error.to_string()),
    };
    CallFailure::new(code, error.to_string(), hint).into()
}

fn what_there_is(name: &ValueName, store: &ValueStore, owner: &Owner) -> String {
    let values = store.list(owner).unwrap_or_default();
    let known = || values.iter().map(|value| value.name.as_str());
    match closest(name.as_str(), known()) {
        Some(near) => format!("Did you mean `{near}`?"),
        None if values.is_empty() => "There are no stored values yet.".to_owned(),
        None => "configure({action:\"list\"}) lists the stored values.".to_owned(),
    }
}

/// The failure of a daemon without a state directory.
pub(super) fn no_disk() -> ToolResult {
    unavailable("this daemon has no state directory")
}

/// The failure of the disk.
pub(super) fn unavailable(why: &str) -> ToolResult {
    let refusal = RefusalReason::StorageUnavailable { why: why.into() };
    let message = format!("Reading or writing the disk failed: {why}");
    CallFailure::new(refusal.code(), message, refusal.hint()).into()
}
