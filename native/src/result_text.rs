//! What a tool answered, without anything that differs from one run to the next (specification 3.2).
//!
//! Each function looks for the matches of one pattern of the specification, from left to right, and does without
//! regular expressions: every pattern has a rare character at a known place, which `memchr` finds, and what stands
//! around it decides. Letters beyond ASCII match no class of these patterns but "no separator", so the bytes of
//! UTF-8 can be looked at one by one.

use memchr::{memchr_iter, memchr2_iter};

use crate::blank::single_spaced;
use crate::used::used;

/// Where something gives way to a placeholder, as bytes of the text.
type Places = Vec<(usize, usize)>;

/// Returns the first 4,000 characters of a text with placeholders; `None` if that is the text as it came.
#[must_use]
pub fn with_placeholders(text: &str) -> Option<String> {
    let short = used(text);
    let mut changed = None;
    let mut places = Places::new();
    let mut apply = |find: fn(&[u8], &mut Places), placeholder: &str| {
        let now = changed.as_deref().unwrap_or(short);
        places.clear();
        find(now.as_bytes(), &mut places);
        if !places.is_empty() {
            changed = Some(replaced(now, &places, placeholder));
        }
    };
    apply(colours, "");
    apply(uuids, "<uuid>");
    apply(dates, "<time>");
    apply(clocks, "<time>");
    apply(temporary_paths, "<tmp>");
    apply(addresses, "<hex>");
    apply(hex_runs, "<hex>");
    apply(lines, "line <n>");
    apply(cells, "In[<n>]");
    apply(positions, ":<n>");
    apply(durations, "<dur>");
    changed.or_else(|| (short.len() < text.len()).then(|| short.to_owned()))
}

fn replaced(text: &str, places: &[(usize, usize)], placeholder: &str) -> String {
    let mut kept = String::with_capacity(text.len() + places.len() * placeholder.len());
    let mut at = 0;
    for &(start, end) in places {
        // The places begin and end at ASCII, so there is always a text between them.
        kept.push_str(text.get(at..start).unwrap_or_default());
        kept.push_str(placeholder);
        at = end;
    }
    kept.push_str(text.get(at..).unwrap_or_default());
    kept
}

/// The byte at a place; beyond the end NUL, which is in none of the classes.
fn byte(text: &[u8], at: usize) -> u8 {
    text.get(at).copied().unwrap_or(0)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// `\b` before a word.
fn begins_word(text: &[u8], at: usize) -> bool {
    at == 0 || !is_word(byte(text, at - 1))
}

/// `\b` behind a word.
fn ends_word(text: &[u8], at: usize) -> bool {
    !is_word(byte(text, at))
}

/// Where a run of bytes of a class that begins at a place ends.
fn run(text: &[u8], from: usize, of: impl Fn(u8) -> bool) -> usize {
    let mut at = from;
    while text.get(at).is_some_and(|&byte| of(byte)) {
        at += 1;
    }
    at
}

/// Where a run of bytes of a class that ends at a place begins.
fn run_before(text: &[u8], end: usize, of: impl Fn(u8) -> bool) -> usize {
    let mut at = end;
    while at > 0 && of(byte(text, at - 1)) {
        at -= 1;
    }
    at
}

fn digits(text: &[u8], from: usize) -> usize {
    run(text, from, |byte| byte.is_ascii_digit())
}

/// Whether a text stands at a place: `0` stands for any digit, small letters for large ones too.
fn is_at(text: &[u8], at: usize, shape: &[u8]) -> bool {
    text.get(at..at + shape.len()).is_some_and(|there| {
        there
            .iter()
            .zip(shape)
            .all(|(&byte, &wanted)| match wanted {
                b'0' => byte.is_ascii_digit(),
                _ => byte.eq_ignore_ascii_case(&wanted),
            })
    })
}

/// Adds a place, unless it begins before the last one ends.
fn add(places: &mut Places, start: usize, end: usize) {
    if places.last().is_none_or(|&(_, last)| last <= start) {
        places.push((start, end));
    }
}

/// 1: `\x1b\[[0-9;?]*[A-Za-z]`
fn colours(text: &[u8], places: &mut Places) {
    for at in memchr_iter(b'\x1b', text) {
        if byte(text, at + 1) == b'[' {
            let end = run(text, at + 2, |byte| {
                byte.is_ascii_digit() || matches!(byte, b';' | b'?')
            });
            if byte(text, end).is_ascii_alphabetic() {
                add(places, at, end + 1);
            }
        }
    }
}

/// 2: `\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`
fn uuids(text: &[u8], places: &mut Places) {
    const LENGTH: usize = 36;
    const HYPHENS: [usize; 4] = [8, 13, 18, 23];
    for at in memchr_iter(b'-', text) {
        let Some(start) = at.checked_sub(8) else {
            continue;
        };
        let Some(shape) = text.get(start..start + LENGTH) else {
            return;
        };
        // The third hyphen is the cheapest to ask: most texts with a hyphen have none there.
        if byte(shape, 13) == b'-'
            && begins_word(text, start)
            && ends_word(text, start + LENGTH)
            && shape.iter().enumerate().all(|(place, byte)| {
                if HYPHENS.contains(&place) {
                    *byte == b'-'
                } else {
                    byte.is_ascii_hexdigit()
                }
            })
        {
            add(places, start, start + LENGTH);
        }
    }
}

/// 3: `\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?`
fn dates(text: &[u8], places: &mut Places) {
    for at in memchr_iter(b'-', text) {
        let Some(start) = at.checked_sub(4) else {
            continue;
        };
        let day = is_at(text, start, b"0000-00-00");
        if !(day
            && matches!(byte(text, start + 10), b'T' | b't' | b' ')
            && begins_word(text, start))
        {
            continue;
        }
        if !is_at(text, start + 11, b"00:00") {
            continue;
        }
        let mut end = start + 16;
        if is_at(text, end, b":00") {
            end = fraction(text, end + 3).unwrap_or(end + 3);
        }
        match byte(text, end) {
            b'Z' | b'z' => end += 1,
            b'+' | b'-' if is_at(text, end + 1, b"00:00") => end += 6,
            b'+' | b'-' if is_at(text, end + 1, b"0000") => end += 5,
            _ => {}
        }
        add(places, start, end);
    }
}

/// `[.,]\d+`
fn fraction(text: &[u8], at: usize) -> Option<usize> {
    let end = digits(text, at + 1);
    (matches!(byte(text, at), b'.' | b',') && end > at + 1).then_some(end)
}

/// 4: `\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b`
fn clocks(text: &[u8], places: &mut Places) {
    for at in memchr_iter(b':', text) {
        let Some(start) = at.checked_sub(2) else {
            continue;
        };
        if is_at(text, start, b"00:00:00") && begins_word(text, start) {
            let end = start + 8;
            match fraction(text, end) {
                Some(longer) if ends_word(text, longer) => add(places, start, longer),
                _ if ends_word(text, end) => add(places, start, end),
                _ => {}
            }
        }
    }
}

/// 5: `(?:/private)?/(?:tmp|var/tmp|var/folders)/[^\s'":,;()\[\]]+`
fn temporary_paths(text: &[u8], places: &mut Places) {
    const FOLDERS: [&[u8]; 3] = [b"/tmp/", b"/var/tmp/", b"/var/folders/"];
    const PRIVATE: &[u8] = b"/private";
    let mut behind = 0;
    // Folders within a path are not looked at: a text of nothing else would be read as often as it has folders.
    for at in memchr_iter(b'/', text) {
        if at < behind {
            continue;
        }
        let from = if is_at(text, at, PRIVATE) {
            at + PRIVATE.len()
        } else {
            at
        };
        if let Some(folder) = FOLDERS.iter().find(|folder| is_at(text, from, folder)) {
            let inside = from + folder.len();
            let end = run(text, inside, |byte| {
                !matches!(
                    byte,
                    b'\t'
                        ..=b'\r'
                            | b' '
                            | b'\''
                            | b'"'
                            | b':'
                            | b','
                            | b';'
                            | b'('
                            | b')'
                            | b'['
                            | b']'
                )
            });
            if end > inside {
                add(places, at, end);
                behind = end;
            }
        }
    }
}

/// 6: `\b0x[0-9a-f]+\b`
fn addresses(text: &[u8], places: &mut Places) {
    for at in memchr2_iter(b'x', b'X', text) {
        let Some(start) = at.checked_sub(1) else {
            continue;
        };
        if byte(text, start) == b'0' && begins_word(text, start) {
            let end = run(text, at + 1, |byte| byte.is_ascii_hexdigit());
            if end > at + 1 && ends_word(text, end) {
                add(places, start, end);
            }
        }
    }
}

/// 7: `\b(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{8,}\b`
fn hex_runs(text: &[u8], places: &mut Places) {
    const LEAST: usize = 8;
    let is_hex = |byte: u8| byte.is_ascii_hexdigit();
    // A run that is long enough covers one of every eight places.
    let mut at = LEAST - 1;
    while let Some(&there) = text.get(at) {
        if is_hex(there) {
            let (start, end) = (run_before(text, at, is_hex), run(text, at, is_hex));
            let whole = text.get(start..end).unwrap_or_default();
            let mixed = || {
                whole.iter().any(u8::is_ascii_digit) && whole.iter().any(u8::is_ascii_alphabetic)
            };
            if whole.len() >= LEAST && begins_word(text, start) && ends_word(text, end) && mixed() {
                add(places, start, end);
            }
            at = end;
        }
        at += LEAST;
    }
}

/// 8: `\bline \d+(?=[:,])`
fn lines(text: &[u8], places: &mut Places) {
    const LINE: &[u8] = b"line ";
    for end in memchr2_iter(b':', b',', text) {
        let number = run_before(text, end, |byte| byte.is_ascii_digit());
        if number == end {
            continue;
        }
        let Some(start) = number.checked_sub(LINE.len()) else {
            continue;
        };
        if is_at(text, start, LINE) && begins_word(text, start) {
            add(places, start, end);
        }
    }
}

/// 9: `\bIn ?\[\d+\]`
fn cells(text: &[u8], places: &mut Places) {
    for at in memchr_iter(b'[', text) {
        let end = digits(text, at + 1);
        if end == at + 1 || byte(text, end) != b']' {
            continue;
        }
        let word = if at > 0 && byte(text, at - 1) == b' ' {
            at - 1
        } else {
            at
        };
        let Some(start) = word.checked_sub(2) else {
            continue;
        };
        if is_at(text, start, b"in") && begins_word(text, start) {
            add(places, start, end + 1);
        }
    }
}

/// 10: `(\.[a-z]{1,6}):\d+(?::\d+)?\b`, of which the group stays
fn positions(text: &[u8], places: &mut Places) {
    for at in memchr_iter(b':', text) {
        let extension = run_before(text, at, |byte| byte.is_ascii_alphabetic());
        let has_dot = extension > 0 && byte(text, extension - 1) == b'.';
        let line = digits(text, at + 1);
        if !(has_dot && (1..=6).contains(&(at - extension)) && line > at + 1) {
            continue;
        }
        let column = digits(text, line + 1);
        if byte(text, line) == b':' && column > line + 1 && ends_word(text, column) {
            add(places, at, column);
        } else if ends_word(text, line) {
            add(places, at, line);
        }
    }
}

/// 11: `\b(?:\d+\.\d+ ?(?:ms|s|secs?|seconds?)|\d+ ?ms)\b`
fn durations(text: &[u8], places: &mut Places) {
    const UNITS: [&[u8]; 6] = [b"ms", b"s", b"sec", b"secs", b"second", b"seconds"];
    let is_digit = |byte: u8| byte.is_ascii_digit();
    for at in memchr2_iter(b's', b'S', text) {
        let unit = if at > 0 && matches!(byte(text, at - 1), b'm' | b'M') {
            at - 1
        } else {
            at
        };
        let behind = if unit > 0 && byte(text, unit - 1) == b' ' {
            unit - 1
        } else {
            unit
        };
        let last = run_before(text, behind, is_digit);
        if last == behind {
            continue;
        }
        let end = run(text, unit, is_word);
        let called = text.get(unit..end).unwrap_or_default();
        if !UNITS.iter().any(|known| known.eq_ignore_ascii_case(called)) {
            continue;
        }
        let dot = last.wrapping_sub(1);
        let first = if byte(text, dot) == b'.' {
            run_before(text, dot, is_digit)
        } else {
            dot
        };
        if first < dot && dot < last && begins_word(text, first) {
            add(places, first, end);
        } else if called.eq_ignore_ascii_case(b"ms") && begins_word(text, last) {
            add(places, last, end);
        }
    }
}

/// Normalises a result text; `None` if that is the text as it came.
#[must_use]
pub fn normalised(text: &str) -> Option<String> {
    match with_placeholders(text) {
        None => single_spaced(text),
        Some(placed) => single_spaced(&placed).or(Some(placed)),
    }
}

#[cfg(test)]
mod tests {
    use super::normalised;

    #[test]
    fn the_examples_of_the_specification_hold() {
        for (text, wanted) in [
            ("/bin/bash: line 17871: cd: x", "/bin/bash: line <n>: cd: x"),
            ("1 failed in 0.12s", "1 failed in <dur>"),
            ("src/a.py:12:5: E501", "src/a.py:<n>: E501"),
            (
                "object at 0x7fFA10, id 3f2a9c1b77aa",
                "object at <hex>, id <hex>",
            ),
            ("\x1b[31mred\x1b[0m  text", "red text"),
            (
                "at 2024-05-13T10:11:12.5+02:00 and 10:11:12,5",
                "at <time> and <time>",
            ),
            (
                "/private/tmp/x/y.py: In [12] é/tmp/ü",
                "<tmp>: In[<n>] é<tmp>",
            ),
        ] {
            assert_eq!(normalised(text).as_deref(), Some(wanted));
        }
    }

    #[test]
    fn plain_numbers_stay() {
        for text in [
            "read line 7",
            "running (30s)",
            "localhost:8080",
            "on 2024-05-13",
            "deadbeef",
            "order 12345678",
        ] {
            assert_eq!(normalised(text), None);
        }
    }
}
