//! Pictures of tabs before and after acts, as the person sees them in the dashboard.

use serde_json::{Value, json};
use testkit::{TestPages, cli_of, finish};

use super::dashboard::Viewing;

/// The state of the switch, once the daemon has told it.
const SWITCH: &str = "(({disabled, ariaPressed}) => disabled || ariaPressed)(document.querySelector('#picture-acts'))";

/// The pictures of the tab that are shown: their texts, and whether they have a size.
const SHOWN: &str = "Promise.all([...document.querySelectorAll('.film figure img')].map(async (picture) => {\
     await picture.decode(); return [picture.alt, picture.naturalWidth > 300]; }))";

/// Opens the details of the command that has answered so.
async fn open_details(viewing: &mut Viewing, answer: &Value) {
    let row = format!(".row[data-id=\"{}\"]", answer["correlation_id"].as_str().unwrap());
    viewing.becomes(&format!("!!document.querySelector('{row}')")).await;
    viewing.hand.click(&row).await;
    viewing.becomes("document.querySelector('#detail-body').innerText.includes('Arguments')").await;
}

#[tokio::test]
async fn an_act_has_a_picture_of_its_tab_before_and_after_once_the_person_has_switched_that_on() {
    let mut viewing = Viewing::begin().await;
    let paint = |colour: &str| json!({"action": "execute_js", "script": format!("document.body.style.background = '{colour}'; document.body.innerText = '{colour}'; 1")});
    viewing.agent_does(paint("red")).await;
    viewing.becomes(&format!("{SWITCH} === 'false'")).await;
    viewing.hand.click("#picture-acts").await;
    viewing.becomes(&format!("{SWITCH} === 'true'")).await;
    let painted = viewing.agent_does(paint("blue")).await;
    open_details(&mut viewing, &painted).await;
    viewing.becomes("document.querySelectorAll('.film figure img[src]').length === 2").await;
    let shown = viewing.hand.read(SHOWN).await;
    assert_eq!(shown, json!([["The tab before it", true], ["The tab after it", true]]));
    // The tab was red before it, and is blue after it.
    let colours = viewing.hand.read(
        "[...document.querySelectorAll('.film figure img')].map((picture) => { const canvas = document.createElement('canvas');\
         [canvas.width, canvas.height] = [picture.naturalWidth, picture.naturalHeight]; const paint = canvas.getContext('2d');\
         paint.drawImage(picture, 0, 0); const [red, , blue] = paint.getImageData(picture.naturalWidth - 5, picture.naturalHeight - 5, 1, 1).data;\
         return red > 200 && blue < 60 ? 'red' : blue > 200 && red < 60 ? 'blue' : [red, blue].join(); })",
    );
    assert_eq!(colours.await, json!(["red", "blue"]));
    viewing.is_accessible().await;
    // Off again, nothing of it is kept.
    viewing.hand.set_view(1440, 900, "light").await;
    viewing.hand.click("#picture-acts").await;
    viewing.becomes(&format!("{SWITCH} === 'false'")).await;
    let painted = viewing.agent_does(paint("green")).await;
    viewing.hand.click("#close").await;
    open_details(&mut viewing, &painted).await;
    assert_eq!(viewing.hand.read("document.querySelectorAll('.film figure').length").await, 0);
    viewing.end().await;
}

#[tokio::test]
async fn a_page_that_is_closed_to_agents_is_in_no_picture_of_an_act_that_leads_there() {
    let mut viewing = Viewing::begin().await;
    viewing.becomes(&format!("{SWITCH} === 'false'")).await;
    viewing.hand.click("#picture-acts").await;
    viewing.becomes(&format!("{SWITCH} === 'true'")).await;
    let closed = TestPages::start().await;
    let (denied, site) = (closed.url("/second"), closed.url("/"));
    let ran = finish(cli_of(&viewing.daemon, &["sites", "deny", site.trim_end_matches('/')])).await;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let goes = json!({"action": "execute_js", "script": format!("location.assign({denied:?}); await new Promise((go) => setTimeout(go, 3000))")});
    let went = viewing.agent_does(goes).await;
    open_details(&mut viewing, &went).await;
    viewing.becomes("document.querySelectorAll('.film figure').length > 0").await;
    let alts = "[...document.querySelectorAll('.film figure img')].map(({alt}) => alt)";
    assert_eq!(viewing.hand.read(alts).await, json!(["The tab before it"]));
    viewing.end().await;
}
