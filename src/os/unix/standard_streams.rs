//! Standard input and output without a thread for each: what a client sends is read where it is answered, and
//! no other thread has to be woken for it.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};

use rustix::fs::FileType;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// Standard input.
pub(crate) fn standard_input() -> Box<dyn AsyncRead + Send + Unpin> {
    input_of(io::stdin().as_fd()).unwrap_or_else(|| Box::new(tokio::io::stdin()))
}

/// Standard output.
pub(crate) fn standard_output() -> Box<dyn AsyncWrite + Send + Unpin> {
    output_of(io::stdout().as_fd()).unwrap_or_else(|| Box::new(tokio::io::stdout()))
}

/// `None`: the system does not tell when files and terminals are ready, so a thread has to wait for them.
fn input_of(fd: BorrowedFd<'_>) -> Option<Box<dyn AsyncRead + Send + Unpin>> {
    if file_type(fd)? == FileType::Fifo {
        Some(Box::new(pipe::OpenOptions::new().open_receiver(own_opening(fd)).ok()?))
    } else {
        Some(Box::new(unix_socket(fd)?))
    }
}

/// The same for output.
fn output_of(fd: BorrowedFd<'_>) -> Option<Box<dyn AsyncWrite + Send + Unpin>> {
    if file_type(fd)? == FileType::Fifo {
        Some(Box::new(pipe::OpenOptions::new().open_sender(own_opening(fd)).ok()?))
    } else {
        Some(Box::new(unix_socket(fd)?))
    }
}

fn file_type(fd: BorrowedFd<'_>) -> Option<FileType> {
    Some(FileType::from_raw_mode(rustix::fs::fstat(fd).ok()?.st_mode))
}

/// The pipe once more, for a mode of its own: a shell or another program may have it open, and would not
/// expect it to be non-blocking. Linux has this path; elsewhere nothing is there.
fn own_opening(fd: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}

/// A socket has one mode for all who have it open: those are Node and its like, which set this mode too.
fn unix_socket(fd: BorrowedFd<'_>) -> Option<UnixStream> {
    if file_type(fd)? != FileType::Socket {
        return None;
    }
    let socket = std::os::unix::net::UnixStream::from(fd.try_clone_to_owned().ok()?);
    // Fails for sockets of other families.
    socket.local_addr().ok()?;
    socket.set_nonblocking(true).ok()?;
    UnixStream::from_std(socket).ok()
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;

    use rustix::fs::{OFlags, fcntl_getfl};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    fn ends() -> [(&'static str, OwnedFd, OwnedFd); 2] {
        let (reader, writer) = io::pipe().unwrap();
        let (one, other) = std::os::unix::net::UnixStream::pair().unwrap();
        [("pipe", reader.into(), writer.into()), ("socket", one.into(), other.into())]
    }

    /// There is one thread: if one end blocked it, the other end could never go on.
    #[tokio::test]
    async fn more_than_a_stream_holds_passes_and_no_thread_is_blocked() {
        let sent: Vec<u8> = (0..3_000_000_u32).map(|n| n.to_le_bytes()[1]).collect();
        for (what, read_end, write_end) in ends() {
            let (mut input, mut output) =
                (input_of(read_end.as_fd()).unwrap(), output_of(write_end.as_fd()).unwrap());
            let mut got = vec![0; sent.len()];
            let (read, written) = tokio::join!(input.read_exact(&mut got), output.write_all(&sent));
            read.and(written.map(|()| 0)).unwrap();
            assert!(got == sent, "{what}");
        }
    }

    #[tokio::test]
    async fn a_pipe_stays_as_it_is_for_the_others_who_have_it_open() {
        let (reader, writer) = io::pipe().unwrap();
        let _both = (input_of(reader.as_fd()).unwrap(), output_of(writer.as_fd()).unwrap());
        for mode in [fcntl_getfl(&reader), fcntl_getfl(&writer)] {
            assert!(!mode.unwrap().contains(OFlags::NONBLOCK));
        }
    }

    #[tokio::test]
    async fn the_end_of_a_stream_is_the_end_for_a_reader_and_an_error_for_a_writer() {
        for (what, read_end, write_end) in ends() {
            let mut input = input_of(read_end.as_fd()).unwrap();
            rustix::io::write(&write_end, b"last").unwrap();
            drop(write_end);
            let mut got = Vec::new();
            input.read_to_end(&mut got).await.unwrap();
            assert_eq!(got, b"last", "{what}");
        }
        for (what, read_end, write_end) in ends() {
            let mut output = output_of(write_end.as_fd()).unwrap();
            drop(read_end);
            let error = output.write_all(b"lost").await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::BrokenPipe, "{what}");
        }
    }

    #[tokio::test]
    async fn a_file_and_a_socket_of_another_family_are_left_to_a_thread() {
        let file = tempfile::tempfile().unwrap();
        assert!(input_of(file.as_fd()).is_none() && output_of(file.as_fd()).is_none());
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(input_of(listener.as_fd()).is_none());
        let mode = fcntl_getfl(&listener).unwrap();
        assert!(!mode.contains(OFlags::NONBLOCK));
    }
}
