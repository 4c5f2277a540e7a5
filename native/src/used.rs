//! How much of a text counts.

/// Characters of a text that count.
pub const USED: usize = 4_000;

/// Returns the first 4,000 characters of a text.
#[must_use]
pub fn used(text: &str) -> &str {
    first(text, USED)
}

/// Returns the first so many characters of a text.
#[must_use]
pub fn first(text: &str, most: usize) -> &str {
    // A character has a byte or more, so most texts need no counting.
    if text.len() <= most {
        return text;
    }
    let end = match text.as_bytes().get(..most) {
        Some(begin) if begin.is_ascii() => most,
        _ => text
            .char_indices()
            .nth(most)
            .map_or(text.len(), |(at, _)| at),
    };
    text.get(..end).unwrap_or(text)
}
