//! Numbers with a fraction or an exponent, as specification 3.1 writes them.

const WHOLE_BELOW: f64 = 1e15;
/// Python writes exponents from here on, counted in digits before the point.
const LONGEST: i32 = 16;
const SMALLEST: i32 = -4;

/// Returns a number as text: a whole one below 1e15 as an integer, any other as Python's `repr` writes it. `None`
/// for a number beyond the doubles.
pub fn shortest(written: &str) -> Option<String> {
    let number: f64 = written.parse().ok()?;
    if number.is_infinite() {
        return None;
    }
    if number.abs() < WHOLE_BELOW && number.fract() == 0.0 {
        // Adding 0.0 takes the sign from -0.0.
        return Some(format!("{:.0}", number + 0.0));
    }
    repr(number)
}

/// Writes the digits that `ryu` finds in the form of Python.
///
/// Rust's own writer finds as few digits. But if two of the shortest are as near, Python and `ryu` take the even one.
fn repr(number: f64) -> Option<String> {
    let mut buffer = ryu::Buffer::new();
    let (mantissa, exponent) = split(buffer.format_finite(number.abs()), 'e');
    let (whole, fraction) = split(mantissa, '.');
    let places = i32::try_from(whole.len()).ok()? + exponent.parse().unwrap_or(0);
    let all = [whole, fraction].concat();
    let digits = all.trim_start_matches('0');
    let places = places - i32::try_from(all.len() - digits.len()).ok()?;
    let digits = digits.trim_end_matches('0');
    let sign = if number < 0.0 { "-" } else { "" };
    Some(format!("{sign}{}", placed(digits, places)?))
}

fn split(text: &str, at: char) -> (&str, &str) {
    text.split_once(at).unwrap_or((text, ""))
}

/// Writes digits of which so many stand before the point.
fn placed(digits: &str, places: i32) -> Option<String> {
    if !(SMALLEST < places && places <= LONGEST) {
        let (first, rest) = digits.split_at_checked(1)?;
        let point = if rest.is_empty() { "" } else { "." };
        let (sign, exponent) = if places < 1 {
            ('-', 1 - places)
        } else {
            ('+', places - 1)
        };
        return Some(format!("{first}{point}{rest}e{sign}{exponent:02}"));
    }
    let Ok(before) = usize::try_from(places) else {
        let zeros = usize::try_from(-places).ok()?;
        return Some(format!("0.{}{digits}", "0".repeat(zeros)));
    };
    Some(match digits.split_at_checked(before) {
        Some(("", fraction)) => format!("0.{fraction}"),
        Some((whole, "")) => format!("{whole}.0"),
        Some((whole, fraction)) => format!("{whole}.{fraction}"),
        None => format!("{digits}{}.0", "0".repeat(before - digits.len())),
    })
}

#[cfg(test)]
mod tests {
    use super::shortest;

    #[test]
    fn numbers_are_written_as_python_writes_them() {
        for (written, wanted) in [
            ("1.0", "1"),
            ("-0.0", "0"),
            ("0e5", "0"),
            ("1E2", "100"),
            ("2.50", "2.5"),
            ("1e21", "1e+21"),
            ("999999999999999.0", "999999999999999"),
            ("1e15", "1000000000000000.0"),
            ("1e16", "1e+16"),
            ("-1.5e16", "-1.5e+16"),
            ("0.0001", "0.0001"),
            ("0.00001", "1e-05"),
            ("1e-400", "0"),
            ("5e-324", "5e-324"),
            ("1.7976931348623157e308", "1.7976931348623157e+308"),
            ("-0.1", "-0.1"),
            ("123456789012345.678", "123456789012345.67"),
            ("1795692364276282.25", "1795692364276282.2"),
            ("0.001", "0.001"),
            ("123.0e-6", "0.000123"),
            ("-12.0e1", "-120"),
        ] {
            assert_eq!(shortest(written).as_deref(), Some(wanted));
        }
        assert_eq!(shortest("1e309"), None);
        assert_eq!(shortest("-1e999999999999"), None);
    }
}
