//! The program. Everything is in the library.

fn main() {}
