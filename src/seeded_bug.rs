//! Bugs put in on purpose, one at a time, to see that a test notices: `make controls`.

/// Whether the bug of this name is switched on. Never, but in the build of `make controls`, where
/// `TABWIRE_SEEDED_BUG` names it.
#[cfg(feature = "seeded-bugs")]
pub(crate) fn is_on(name: &str) -> bool {
    std::env::var_os("TABWIRE_SEEDED_BUG").is_some_and(|bug| bug == name)
}

/// Never.
#[cfg(not(feature = "seeded-bugs"))]
pub(crate) const fn is_on(_name: &str) -> bool {
    false
}
