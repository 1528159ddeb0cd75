//! What `configure` does with the rules which sites may be used. An agent may only tighten them:
//! one that is talked into something must not open a door.

use schemars::JsonSchema;
use serde::Serialize;

use super::failure::CallFailure;
use super::{ToolResult, ToolSet};
use crate::home::SiteRulesError;
use crate::protocol::{SiteChange, SiteList, SitePattern, SiteRules};

/// What the rules mean, and who can loosen them.
const SCOPE: &str = "deny wins; a list of allowed sites denies all others. Only the user can allow \
                     a site or remove a rule, with `tabwire sites` or in the extension's popup.";

/// The rules as they are now.
#[derive(Serialize, JsonSchema)]
pub(super) struct SitesAnswer<'a> {
    /// If there are any, no other site may be used.
    allow: &'a [SitePattern],
    /// What the person has denied, whatever is allowed.
    deny: &'a [SitePattern],
    /// What agents have denied, whatever is allowed.
    agent_deny: &'a [SitePattern],
    /// What that means.
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
    ToolResult::of(&SitesAnswer { allow, deny, agent_deny, message: SCOPE })
}
