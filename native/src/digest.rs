//! Short fingerprints of texts.

use sha2::{Digest, Sha256};

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Returns the first 16 hex digits of SHA-256 over UTF-8 (specification 1.6).
#[must_use]
pub fn digest(text: &str) -> String {
    first_digits(&Sha256::digest(text.as_bytes()))
}

/// Returns the digests of a text, given in parts, and of the same text with an end: the text is read once.
#[must_use]
pub fn digest_and_longer(parts: &[&str], end: &[&str]) -> [String; 2] {
    let hashed = parts.iter().fold(Sha256::new(), |hashed, part| {
        hashed.chain_update(part.as_bytes())
    });
    let longer = end.iter().fold(hashed.clone(), |hashed, part| {
        hashed.chain_update(part.as_bytes())
    });
    [hashed, longer].map(|hashed| first_digits(&hashed.finalize()))
}

fn first_digits(hash: &[u8]) -> String {
    hash.iter()
        .take(8)
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(hex)
        .collect()
}

fn hex(nibble: u8) -> char {
    HEX.get(usize::from(nibble))
        .map_or('0', |&digit| char::from(digit))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_digest_is_the_begin_of_sha_256() {
        assert_eq!(super::digest("abc"), "ba7816bf8f01cfea");
        assert_eq!(super::digest(""), "e3b0c44298fc1c14");
        assert_eq!(
            super::digest_and_longer(&["a", "b"], &["c"]),
            ["ab", "abc"].map(super::digest)
        );
    }
}
