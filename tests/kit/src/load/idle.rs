//! Browsers that are connected and have nothing to do.

use tabwire::home::StateDirectory;
use tokio::task::JoinSet;

use super::LoadExtension;
use crate::ExtensionIdentity;

/// Connected extensions, which answer the daemon's heartbeats until this is dropped.
#[derive(Default)]
pub struct IdleBrowsers(JoinSet<anyhow::Result<()>>);

impl IdleBrowsers {
    /// Connects more of them, one after the other, until there are `count`.
    pub async fn fill_up(
        &mut self,
        port: u16,
        home: &StateDirectory,
        count: usize,
    ) -> anyhow::Result<()> {
        while self.0.len() < count {
            let identity = ExtensionIdentity::new(port, home, &format!("idle-{}", self.0.len()));
            let mut extension = LoadExtension::connect(port, &identity).await?;
            self.0.spawn(async move { extension.answer().await });
        }
        Ok(())
    }

    /// Fails if one of them has lost its connection.
    pub fn check(&mut self) -> anyhow::Result<()> {
        match self.0.try_join_next() {
            None => Ok(()),
            Some(ended) => {
                ended??;
                anyhow::bail!("a browser that had nothing to do has ended")
            }
        }
    }
}
