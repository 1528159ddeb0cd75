//! The size of a picture in px, as its own header says.

/// Width and height of a PNG, JPEG or WebP. `None`: it is none of these, or is broken off.
pub(super) fn picture_size(bytes: &[u8]) -> Option<(u32, u32)> {
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        return Some((big_endian(bytes, 16, 4)?, big_endian(bytes, 20, 4)?));
    }
    if bytes.starts_with(b"RIFF") && bytes.get(8..12)? == b"WEBP" {
        return webp_size(bytes);
    }
    bytes.starts_with(&[0xff, 0xd8]).then(|| jpeg_size(bytes))?
}

/// The first frame header of a JPEG. Each segment before it says how long it is.
fn jpeg_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        let &[0xff, marker] = bytes.get(at..at + 2)? else { return None };
        match marker {
            // Fill bytes and markers without a length.
            0xff => at += 1,
            0x01 | 0xd0..=0xd7 => at += 2,
            // Start of a frame; the others of this range are tables.
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                return Some((big_endian(bytes, at + 7, 2)?, big_endian(bytes, at + 5, 2)?));
            }
            _ => at += 2 + usize::try_from(big_endian(bytes, at + 2, 2)?).ok()?,
        }
    }
}

/// The first chunk of a WebP: extended, lossless or lossy.
fn webp_size(bytes: &[u8]) -> Option<(u32, u32)> {
    match bytes.get(12..16)? {
        b"VP8X" => Some((little_endian(bytes, 24, 3)? + 1, little_endian(bytes, 27, 3)? + 1)),
        b"VP8L" => {
            let packed = little_endian(bytes, 21, 4)?;
            Some(((packed & 0x3fff) + 1, (packed >> 14 & 0x3fff) + 1))
        }
        b"VP8 " => {
            Some((little_endian(bytes, 26, 2)? & 0x3fff, little_endian(bytes, 28, 2)? & 0x3fff))
        }
        _ => None,
    }
}

fn big_endian(bytes: &[u8], at: usize, length: usize) -> Option<u32> {
    let number = bytes.get(at..at + length)?;
    Some(number.iter().fold(0, |all, byte| all << 8 | u32::from(*byte)))
}

fn little_endian(bytes: &[u8], at: usize, length: usize) -> Option<u32> {
    let number = bytes.get(at..at + length)?;
    Some(number.iter().rev().fold(0, |all, byte| all << 8 | u32::from(*byte)))
}

#[cfg(test)]
pub(super) mod tests {
    use super::picture_size;

    /// The head of a PNG of this size.
    pub(crate) fn png_head(width: u32, height: u32) -> Vec<u8> {
        let chunk = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        [chunk, width.to_be_bytes().to_vec(), height.to_be_bytes().to_vec()].concat()
    }

    fn webp(chunk: &[u8; 4], data: &[u8]) -> Vec<u8> {
        [b"RIFF\0\0\0\0WEBP", &chunk[..], &[0; 4], data].concat()
    }

    #[test]
    fn each_format_says_its_size_and_others_say_none() {
        assert_eq!(picture_size(&png_head(4_096, 30)), Some((4_096, 30)));
        let jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xdb\0\x03c\xff\xc2\0\x11\x08\x01\x02\x03\x04";
        assert_eq!(picture_size(jpeg), Some((0x0304, 0x0102)));
        let extended = webp(b"VP8X", &[0, 0, 0, 0, 0x2b, 0x01, 0, 0xc7, 0, 0]);
        assert_eq!(picture_size(&extended), Some((300, 200)));
        let lossless = webp(b"VP8L", &[0x2f, 0x2b, 0xc1, 0x31, 0]);
        assert_eq!(picture_size(&lossless), Some((300, 200)));
        let lossy = webp(b"VP8 ", &[0, 0, 0, 0x9d, 0x01, 0x2a, 0x2c, 0x01, 0xc8, 0]);
        assert_eq!(picture_size(&lossy), Some((300, 200)));
        for whole in [&png_head(9, 9), &jpeg.to_vec(), &extended, &lossless, &lossy] {
            assert_eq!(picture_size(&whole[..whole.len() - 3]), None, "it is broken off");
        }
        for other in [&b""[..], b"GIF89a", b"\xff\xd8\0\0", b"\xff\xd8\xff\xe0\0\0\0\0\0\0"] {
            assert_eq!(picture_size(other), None, "{other:?}");
        }
    }
}
