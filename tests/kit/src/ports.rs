//! Ports of the loopback.

/// A port that nobody has now, for a program that has to be told one.
///
/// # Panics
///
/// The system gives none.
pub fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
