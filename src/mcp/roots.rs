//! The one request that the daemon makes of clients: `roots/list`, in the legacy generation. Of the modern
//! generation a server asks by leaving a call unanswered; there nobody is asked.

use serde::Deserialize;
use serde_json::{Value, json};

use super::message::{CANCELLED, RpcReply, RpcRequest};
use super::progress::notification;
use crate::client_roots::{ClientRoots, ROOTS_MAX, RootsMessage};
use crate::hub::Caller;

/// The method.
const LIST: &str = "roots/list";

/// Whether an `initialize` says that its client can be asked in which folders it works.
#[must_use]
pub fn declares_roots(initialize: &RpcRequest) -> bool {
    let capabilities = initialize.params.get("capabilities");
    capabilities.and_then(|all| all.get("roots")).is_some_and(Value::is_object)
}

/// A message about folders as it goes out.
#[must_use]
pub fn roots_message(message: &RootsMessage) -> String {
    match message {
        RootsMessage::Ask(id) => {
            json!({"jsonrpc": "2.0", "id": id.as_str(), "method": LIST}).to_string()
        }
        RootsMessage::Withdraw(id) => notification(
            CANCELLED,
            &json!({"requestId": id.as_str(), "reason": "The answer took too long."}),
        ),
    }
}

/// Takes a client's answer. One to no open question of this client's has no effect; an error and
/// a result of another form name no folder.
pub fn note_reply(roots: &ClientRoots, caller: &Caller, reply: RpcReply) {
    let Some(id) = reply.id else { return };
    let said = reply.result.as_ref().map_or_else(Vec::new, uris_in);
    if !roots.answer(caller, &id, said) {
        tracing::debug!("a client answers a question that nobody asked, or that is over");
    }
}

/// The URIs in a result. An entry without one is left out.
fn uris_in(result: &Value) -> Vec<String> {
    let roots = result.get("roots").and_then(Value::as_array).map(Vec::as_slice);
    let uris = roots.unwrap_or_default().iter().take(ROOTS_MAX).filter_map(|root| root.get("uri"));
    uris.filter_map(Value::as_str).map(str::to_owned).collect()
}

#[derive(Deserialize)]
struct DaemonMessage {
    id: Option<String>,
    method: String,
    params: Option<WithdrawnRequest>,
}

#[derive(Deserialize)]
struct WithdrawnRequest {
    #[serde(rename = "requestId")]
    id: Option<String>,
}

/// The id of the question that a message of the daemon asks, if it asks one.
#[must_use]
pub fn asked_id(message: &str) -> Option<String> {
    let message: DaemonMessage = serde_json::from_str(message).ok()?;
    message.id.filter(|_| message.method == LIST)
}

/// The id of the question that a message of the daemon takes back, if it takes one back.
#[must_use]
pub fn withdrawn_id(message: &str) -> Option<String> {
    let message: DaemonMessage = serde_json::from_str(message).ok()?;
    message.params.filter(|_| message.method == CANCELLED)?.id
}

#[cfg(test)]
mod tests {
    use super::super::{IncomingMessage, RequestId};
    use super::*;

    fn reply(message: &Value) -> RpcReply {
        let parsed = IncomingMessage::parse(message.to_string().as_bytes()).unwrap();
        let IncomingMessage::Response(reply) = parsed else { panic!("{parsed:?}") };
        reply
    }

    #[test]
    fn only_an_object_in_the_capabilities_declares_roots() {
        let declares = |capabilities: Value| {
            let params = json!({"capabilities": capabilities}).as_object().unwrap().clone();
            let (id, method) = (RequestId::Number(1), "initialize".to_owned());
            declares_roots(&RpcRequest { id, method, params })
        };
        assert!(
            declares(json!({"roots": {}})) && declares(json!({"roots": {"listChanged": true}}))
        );
        for bad in [json!(null), json!({}), json!({"roots": true}), json!({"roots": null})] {
            assert!(!declares(bad.clone()), "{bad}");
        }
    }

    #[test]
    fn an_answer_names_the_uris_that_it_has_and_garbage_names_none() {
        let uris = |result: Value| uris_in(&result);
        let named = json!({"roots": [{"uri": "file:///a", "name": "A"}, {"uri": 7}, 8, {}, null,
                                     {"uri": "file:///b"}]});
        assert_eq!(uris(named), ["file:///a", "file:///b"]);
        let many: Vec<_> = (0..10_000).map(|n| json!({"uri": format!("file:///{n}")})).collect();
        assert_eq!(uris(json!({"roots": many})).len(), ROOTS_MAX);
        for garbage in [json!(null), json!([]), json!("file:///a"), json!({"roots": {}}), json!({})]
        {
            assert!(uris(garbage.clone()).is_empty(), "{garbage}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_and_garbage_end_the_question_at_once_and_only_its_own_id_answers() {
        let roots = ClientRoots::default();
        let caller = Caller { owner: "ann".into(), client: "a".into() };
        let mut stream = roots.open(&caller);
        let good = json!({"roots": [{"uri": "file:///a"}]});
        for (answer, expected) in [
            (json!({"result": good}), vec!["file:///a".to_owned()]),
            (json!({"error": {"code": -32601, "message": "Method not found"}}), Vec::new()),
            (json!({"result": good, "error": {"code": 1}}), Vec::new()),
            (json!({"result": {"roots": "all"}}), Vec::new()),
            (json!({"result": null}), Vec::new()),
        ] {
            let answering = async {
                let asked = roots_message(&stream.next().await);
                let id = asked_id(&asked).unwrap();
                for foreign in [json!(null), json!(1), json!("roots-1"), json!([id])] {
                    let other = json!({"jsonrpc": "2.0", "id": foreign, "result": {"roots": []}});
                    note_reply(&roots, &caller, reply(&other));
                }
                let mut answer = answer.clone();
                answer["jsonrpc"] = "2.0".into();
                answer["id"] = id.into();
                note_reply(&roots, &caller, reply(&answer));
                // Twice: the second has no effect.
                note_reply(&roots, &caller, reply(&answer));
            };
            let at_once = std::time::Duration::from_millis(1);
            let asking = tokio::time::timeout(at_once, roots.ask(&caller));
            assert_eq!(tokio::join!(asking, answering).0, Ok(expected), "{answer}");
        }
        let silent = tokio::spawn({
            let (roots, caller) = (roots.clone(), caller.clone());
            async move { roots.ask(&caller).await }
        });
        let asked = asked_id(&roots_message(&stream.next().await)).unwrap();
        let taken_back = roots_message(&stream.next().await);
        assert_eq!(withdrawn_id(&taken_back), Some(asked));
        assert_eq!(asked_id(&taken_back), None);
        assert!(silent.await.unwrap().is_empty());
    }

    #[test]
    fn other_messages_of_the_daemon_neither_ask_nor_take_back() {
        for other in [
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}"#,
            r#"{"jsonrpc":"2.0","id":"1","method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            "no JSON",
        ] {
            assert_eq!((asked_id(other), withdrawn_id(other)), (None, None), "{other}");
        }
    }
}
