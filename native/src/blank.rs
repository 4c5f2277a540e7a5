//! Whitespace as Python's `str.split` knows it.

use memchr::memmem;

/// Tells whether a character separates words for `str.split`.
///
/// Unicode's white space, and the four separators of ASCII, which Rust does not count.
#[must_use]
pub fn is_blank(letter: char) -> bool {
    letter.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&letter)
}

/// Puts one space for every run of blanks, none at the ends; `None` for a text that is so already.
///
/// Does what `" ".join(text.split())` does in Python.
#[must_use]
pub fn single_spaced(text: &str) -> Option<String> {
    if is_single_spaced(text) {
        return None;
    }
    if text.is_ascii() {
        let spaced = single_spaced_ascii(text.as_bytes());
        return spaced.filter(|spaced| spaced != text);
    }
    let mut spaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((word, after)) = next_word(rest) {
        if !spaced.is_empty() {
            spaced.push(' ');
        }
        spaced.push_str(word);
        rest = after;
    }
    (spaced != text).then_some(spaced)
}

fn single_spaced_ascii(text: &[u8]) -> Option<String> {
    let blanks_equal: Vec<u8> = text
        .iter()
        .map(|&byte| match byte {
            b'\t'..=b'\r' | 0x1c..=0x1f => b' ',
            other => other,
        })
        .collect();
    let mut rest = blanks_equal.trim_ascii();
    let mut spaced = Vec::with_capacity(rest.len());
    while let Some(at) = memmem::find(rest, b"  ") {
        let (before, after) = rest.split_at_checked(at + 1)?;
        spaced.extend_from_slice(before);
        rest = after.trim_ascii_start();
    }
    spaced.extend_from_slice(rest);
    String::from_utf8(spaced).ok()
}

fn is_single_spaced(text: &str) -> bool {
    let mut after_blank = true;
    for &byte in text.as_bytes() {
        if byte == b' ' {
            if after_blank {
                return false;
            }
            after_blank = true;
        } else if !(b' '..0x80).contains(&byte) {
            // Some of these are no blanks; the slow way finds out.
            return false;
        } else {
            after_blank = false;
        }
    }
    !after_blank || text.is_empty()
}

/// Returns the next word of a text and what follows it, which begins with a blank or is empty.
fn next_word(text: &str) -> Option<(&str, &str)> {
    let begins = text.find(|letter| !is_blank(letter))?;
    let (_, text) = text.split_at_checked(begins)?;
    text.split_at_checked(blank_in(text).unwrap_or(text.len()))
}

/// Returns where the first blank of a text is.
fn blank_in(text: &str) -> Option<usize> {
    let mut from = 0;
    loop {
        let rest = text.get(from..)?;
        // No blank is a byte of ASCII above the space, so most of a text is passed over byte by byte.
        let at = rest.bytes().position(|byte| byte <= b' ' || byte >= 0x80)?;
        let letter = rest.get(at..)?.chars().next()?;
        if is_blank(letter) {
            return Some(from + at);
        }
        from += at + letter.len_utf8();
    }
}

#[cfg(test)]
mod tests {
    use super::single_spaced;

    #[test]
    fn every_blank_of_python_becomes_a_space() {
        let blanks = "\t\n\u{b}\u{c}\r\u{1c}\u{1d}\u{1e}\u{1f} \u{85}\u{a0}\u{1680}\u{2000}\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}";
        for blank in blanks.chars() {
            assert_eq!(
                single_spaced(&format!("{blank}a{blank}{blank}b{blank}")).as_deref(),
                Some("a b")
            );
        }
    }

    #[test]
    fn what_is_no_blank_stays() {
        for letter in [
            '\0', '\u{8}', '\u{e}', '\u{1b}', '\u{180e}', '\u{200b}', '\u{2060}', '\u{feff}',
        ] {
            let text = format!("a{letter}b");
            assert_eq!(single_spaced(&text).unwrap_or(text.clone()), text);
        }
    }

    #[test]
    fn a_text_that_is_spaced_already_is_not_written_again() {
        assert_eq!(single_spaced("one two three"), None);
        assert_eq!(single_spaced(""), None);
        assert_eq!(single_spaced(" ").as_deref(), Some(""));
        assert_eq!(single_spaced("a ").as_deref(), Some("a"));
    }
}
