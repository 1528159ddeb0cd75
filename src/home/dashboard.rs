//! The file by which `tabwire open` gives the browser a code.

use std::fs;
use std::path::PathBuf;

use super::{StateDirectory, StateDirectoryError, write_private};

/// Its name in the state directory.
const DASHBOARD_LINK: &str = "dashboard.html";

impl StateDirectory {
    /// Writes a file that sends this code to the daemon on this port when a browser opens it. The code is
    /// then in no address and in no history. An earlier file is replaced.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn write_dashboard_link(
        &self,
        port: u16,
        code: &str,
    ) -> Result<PathBuf, StateDirectoryError> {
        let path = self.dir.join(DASHBOARD_LINK);
        let failed = |source| StateDirectoryError::Io { path: path.clone(), source };
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(failed(error));
            }
            Ok(()) | Err(_) => {}
        }
        let page = format!(
            "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Tabwire</title>\n\
             <form method=\"post\" action=\"http://127.0.0.1:{port}/dashboard\">\n\
             <input type=\"hidden\" name=\"code\" value=\"{code}\">\n\
             <noscript><button>Open the dashboard</button></noscript></form>\n\
             <script>document.forms[0].submit()</script></html>\n"
        );
        write_private(&path, page.as_bytes()).map_err(failed)?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::home::in_temporary;

    #[test]
    fn the_link_is_for_its_owner_alone_and_replaces_the_one_before_it() {
        let (_dir, home) = in_temporary();
        home.write_dashboard_link(7890, "first").unwrap();
        let path = home.write_dashboard_link(7890, "second").unwrap();
        assert_eq!(crate::os::testing::mode(&path), 0o600);
        let page = fs::read_to_string(&path).unwrap();
        assert!(page.contains("second") && !page.contains("first"));
        // In the form alone: an address would end up in the history.
        assert!(!page.contains("?code") && !page.contains("#"));
    }
}
