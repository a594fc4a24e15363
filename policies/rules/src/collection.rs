//! Which collections a key may reach: `*`, `name`, `prefix*`; and the list of them that a header carries.

/// Patterns of one key.
pub const MAX_COLLECTIONS: usize = 64;
/// A collection's name, bytes.
const MAX_NAME: usize = 64;

/// `*`, a name, or the beginning of names with a `*` behind it.
pub fn is_pattern(text: &[u8]) -> bool {
    match text.split_last() {
        Some((b'*', [])) => true,
        Some((b'*', beginning)) => is_name(beginning),
        _ => is_name(text),
    }
}

/// Patterns with commas between, as they stand in a header.
pub fn is_list(value: &[u8]) -> bool {
    let longest = MAX_COLLECTIONS * (MAX_NAME + 2);
    let mut patterns = value.split(|byte| *byte == b',');
    value.len() <= longest
        && value.iter().filter(|byte| **byte == b',').count() < MAX_COLLECTIONS
        && patterns.all(is_pattern)
}

fn is_name(text: &[u8]) -> bool {
    let alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.len() <= MAX_NAME
        && text.first().map_or(false, alphanumeric)
        && text.iter().all(|byte| alphanumeric(byte) || b"_-".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let long = "a".repeat(64);
        for good in ["*", "a", "7", "a-b_c", "a*", "team-*", &long, &format!("{long}*")] {
            assert!(is_pattern(good.as_bytes()), "{good}");
        }
        let longer = "a".repeat(65);
        for bad in ["", "**", "-a", "_*", "A", "a b", "a,b", "*a", "a*b", "a**", "é", "a.b", "a\n", &longer]
        {
            assert!(!is_pattern(bad.as_bytes()), "{bad}");
        }
    }

    #[test]
    fn lists() {
        let most = vec!["a"; MAX_COLLECTIONS].join(",");
        for good in ["*", "a", "a,b-*", "*,a", &most] {
            assert!(is_list(good.as_bytes()), "{good}");
        }
        for bad in ["", ",", "a,", ",a", "a,,b", "a, b", "a;b", &format!("{most},a")] {
            assert!(!is_list(bad.as_bytes()), "{bad}");
        }
    }
}
