//! The drawings of people, which the dashboard shows to the person: wanted by programs, by other names, and with more in
//! them than the person is to see.

use serde_json::{Value, json};
use tabwire::protocol::{Drawing, ImageFormat, Screenshot, TabScope, Timestamp};
use testkit::{RowReport, TestDaemon, authorization};

use super::dashboard::{get, viewer};

const PNG: &[u8] = include_bytes!("../../../docs/images/popup.png");

/// Keeps a drawing of this owner, as the daemon does; its id.
fn keep(daemon: &TestDaemon, owner: &str, number: u64, page: &str, picture: &[u8]) -> String {
    let id = format!("{number:032x}");
    let body =
        json!({"drawing_id": id, "annotations": [{"id": 1, "kind": "note"}], "page_url": page});
    let drawing = Drawing::parse(body.to_string().as_bytes()).unwrap();
    let screenshot = Screenshot { format: ImageFormat::Png, bytes: picture.to_vec().into() };
    let drawing = Drawing { screenshot: Some(screenshot), ..drawing };
    let at = Timestamp::from_unix_micros(1_795_000_000_000_000 + number);
    daemon.home().drawings().keep(&owner.into(), &drawing, at, TabScope::All).unwrap();
    id
}

#[tokio::test]
async fn row_49_the_drawings_of_all_owners_are_the_persons_and_told_without_queries() {
    let daemon = TestDaemon::start().await;
    let mut row = RowReport::new(49);
    let token = authorization(&viewer(&daemon).await);
    let none = get(&daemon, "/dashboard/drawings", &[&token]).await;
    assert_eq!(none.json(), json!({"drawings": [], "count": 0, "damaged": 0}));
    keep(&daemon, "user", 1, "http://a.example/?token=hunter22#tok_frag", PNG);
    let second = keep(&daemon, "ci", 2, "javascript:alert('<img src=x>')", PNG);
    let told = get(&daemon, "/dashboard/drawings", &[&token]).await;
    assert_eq!(told.status, 200, "{told:?}");
    let json = told.json();
    let list = json["drawings"].as_array().unwrap();
    assert_eq!((json["count"].as_u64(), &list[0]["drawing_id"]), (Some(2), &json!(second)));
    assert_eq!((&list[0]["owner"], &list[1]["page"]), (&json!("ci"), &json!("http://a.example/")));
    row.tried(
        "a secret in an address",
        !told.body.contains("hunter22") && !told.body.contains("tok_frag"),
        &told.body,
    );
    let picture = format!("/dashboard/drawings/{second}");
    for path in ["/dashboard/drawings", picture.as_str()] {
        for other in [daemon.token(), daemon.token_of("ci"), "guess".to_owned(), String::new()] {
            let answer = get(&daemon, path, &[&authorization(&other)]).await;
            row.tried("another token", answer.status == 401, answer.status);
        }
        let page =
            get(&daemon, path, &[&token, "Origin: http://a.example", "Sec-Fetch-Site: cross-site"])
                .await;
        row.tried("a page", page.status == 403, page.status);
    }
    row.report();
    daemon.stop().await;
}

#[tokio::test]
async fn the_newest_fifty_are_told_and_a_damaged_one_is_counted() {
    let daemon = TestDaemon::start().await;
    let token = authorization(&viewer(&daemon).await);
    for number in 1..=60 {
        keep(&daemon, "user", number, "http://a.example/", PNG);
    }
    let folder = daemon.home().dir().join("drawings").join("user");
    std::fs::write(folder.join(format!("{:032x}.json", 1)), "{").unwrap();
    let told = get(&daemon, "/dashboard/drawings", &[&token]).await.json();
    let ids: Vec<&Value> =
        told["drawings"].as_array().unwrap().iter().map(|one| &one["drawing_id"]).collect();
    assert_eq!(
        (ids.len(), ids[0], ids[49]),
        (50, &json!(format!("{:032x}", 60)), &json!(format!("{:032x}", 11)))
    );
    assert_eq!((&told["count"], &told["damaged"]), (&json!(59), &json!(1)), "{told}");
    daemon.stop().await;
}
