//! Lowercase hexadecimal of a fixed size.

/// Exactly `2 * N` lowercase hex digits as bytes, else nothing.
pub fn decode<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != N.checked_mul(2)? {
        return None;
    }
    let mut bytes = [0u8; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        if let [high, low] = pair {
            *byte = (digit(*high)? << 4) | digit(*low)?;
        }
    }
    Some(bytes)
}

pub fn is_digit(byte: u8) -> bool {
    digit(byte).is_some()
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn takes_exactly_the_digits_asked_for() {
        assert_eq!(decode::<2>("00ff"), Some([0, 255]));
        for bad in ["", "00f", "00ff0", "00fF", "0xff", "00g0", "é0"] {
            assert_eq!(decode::<2>(bad), None, "{bad}");
        }
    }
}
