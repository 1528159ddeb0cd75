//! `configure` and the rules for sites. An agent may only tighten them: a page that misleads the
//! agent must not get further rights.

use schemars::JsonSchema;
use serde::Serialize;

use super::failure::CallFailure;
use super::{ToolResult, ToolSet};
use crate::home::SiteRulesError;
use crate::protocol::{ActionDenial, SiteChange, SiteDefault, SiteList, SitePattern, SiteRules};

/// The meaning of the rules, and the way to loosen them.
const SCOPE: &str = "deny wins; a list of allowed sites denies all others. Only the user can allow \
                     a site or remove a rule, with `tabwire sites` or in the extension's popup.";

/// The rules as they are now.
#[derive(Serialize, JsonSchema)]
pub(super) struct SitesAnswer<'a> {
    /// If the list has entries, all other sites are denied.
    allow: &'a [SitePattern],
    /// Sites that the user has denied. They stay denied even if `allow` lists them.
    deny: &'a [SitePattern],
    /// Sites that agents have denied. They stay denied even if `allow` lists them.
    agent_deny: &'a [SitePattern],
    /// Sites that agents may read and open, and on which they do not act.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    read: &'a [SitePattern],
    /// Sites on which the user is asked before you act.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    ask: &'a [SitePattern],
    /// `ask`: the user is asked before you act on any other site.
    #[serde(skip_serializing_if = "SiteDefault::is_allow")]
    #[schemars(with = "Option<String>")]
    default: SiteDefault,
    /// Actions that are denied on some sites.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    deny_actions: &'a [ActionDenial],
    /// The meaning of the lists.
    message: &'static str,
}

/// Lists the rules, and denies one more site before if one is named.
pub(super) fn site_rules(tools: &ToolSet, deny: Option<&str>) -> ToolResult {
    let Some(sites) = tools.sites() else {
        let message = "This daemon keeps no rules for sites";
        return CallFailure::new("not_available", message, "Continue without rules for sites.")
            .into();
    };
    let Some(pattern) = deny else { return listed(&sites.rules()) };
    // A list of its own: the person sees which rules an agent has made.
    let list = SiteList::AgentDeny;
    let changed = SitePattern::parse(pattern)
        .map_err(SiteRulesError::from)
        .and_then(|pattern| sites.change(&SiteChange::Add { list, pattern }));
    match changed {
        Ok(rules) => listed(&rules),
        Err(SiteRulesError::Change(why)) => {
            let hint =
                "Pass a host such as example.com, *.example.com or https://example.com:8443.";
            CallFailure::of_param("pattern", why.to_string(), hint).into()
        }
        Err(SiteRulesError::Home(why)) => {
            tracing::warn!(%why, "the rules for sites cannot be changed");
            let hint = "Ask the user to run `tabwire doctor`, which names the file.";
            CallFailure::new("storage_unavailable", why.to_string(), hint).into()
        }
    }
}

fn listed(rules: &SiteRules) -> ToolResult {
    let (allow, deny, agent_deny) = (rules.allow(), rules.deny(), rules.agent_deny());
    let (read, deny_actions) = (rules.read(), rules.deny_actions());
    let (ask, default, message) = (rules.ask(), rules.default_rule(), SCOPE);
    let answer = SitesAnswer { allow, deny, agent_deny, read, ask, default, deny_actions, message };
    ToolResult::of(&answer)
}
