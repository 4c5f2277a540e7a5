//! Integers as Avro writes them: zig-zag, seven bits in each byte, the lowest first.

/// Bytes of the longest 64-bit integer.
const LONGEST: usize = 10;

/// Appends an integer.
pub fn write(number: i64, written: &mut Vec<u8>) {
    // Taking the bits as they are is what zig-zag is defined by.
    let mut rest = ((number << 1) ^ (number >> 63)).cast_unsigned();
    while rest >= 0x80 {
        written.push(rest.to_le_bytes()[0] | 0x80);
        rest >>= 7;
    }
    written.push(rest.to_le_bytes()[0]);
}

/// Returns the integer that data begins with, and the data behind it; `None` if there is none of 64 bits.
#[must_use]
pub fn read(data: &[u8]) -> Option<(i64, &[u8])> {
    let mut zigzag = 0_u64;
    for (place, &byte) in data.iter().take(LONGEST).enumerate() {
        let bits = u64::from(byte & 0x7f);
        if place == LONGEST - 1 && bits > 1 {
            return None;
        }
        zigzag |= bits << (7 * place);
        if byte < 0x80 {
            let number = (zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed();
            return Some((number, data.get(place + 1..)?));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{read, write};

    #[test]
    fn an_integer_is_read_as_it_was_written() {
        for number in [
            0,
            1,
            -1,
            63,
            64,
            -64,
            -65,
            8191,
            8192,
            i64::MAX,
            i64::MIN,
            1_760_000_000_000,
        ] {
            let mut written = Vec::new();
            write(number, &mut written);
            written.push(7);
            assert_eq!(read(&written), Some((number, &[7][..])));
        }
    }

    #[test]
    fn what_has_no_end_or_too_many_bits_is_no_integer() {
        assert_eq!(read(&[]), None);
        assert_eq!(read(&[0x80]), None);
        assert_eq!(read(&[0xff; 10]), None);
        assert_eq!(
            read(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02]),
            None
        );
        assert_eq!(read(&[0x80, 0x00]), Some((0, &[][..])));
    }
}
