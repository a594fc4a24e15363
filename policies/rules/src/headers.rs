//! Request headers in the ABI's serialised form.
//!
//! Little-endian 32-bit words: the count, then a name size and a value size per header; then every
//! name and value in turn, each followed by a zero byte.

/// Headers of one request that a policy looks at; one with more is refused.
pub const MAX_HEADERS: usize = 256;
/// Names and values together, bytes.
pub const MAX_BYTES: usize = 128 * 1024;

/// Names (lowercase, as Envoy keeps them) and values, in the order they came.
#[derive(Debug, PartialEq, Eq)]
pub struct Headers<'a>(Vec<(&'a [u8], &'a [u8])>);

/// A header that should be there once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Single<'a> {
    Absent,
    One(&'a [u8]),
    Repeated,
}

impl<'a> Headers<'a> {
    /// None when the form is broken or over the limits.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (count, sizes) = word(bytes)?;
        if count > MAX_HEADERS || bytes.len() > MAX_BYTES {
            return None;
        }
        let sizes_end = count.checked_mul(8)?;
        let (mut sizes, mut texts) = (sizes.get(..sizes_end)?, sizes.get(sizes_end..)?);
        let mut pairs = Vec::with_capacity(count);
        for _ in 0..count {
            let (name_size, after_name) = word(sizes)?;
            let (value_size, after_value) = word(after_name)?;
            let (name, after) = text(texts, name_size)?;
            let (value, after) = text(after, value_size)?;
            pairs.push((name, value));
            (sizes, texts) = (after_value, after);
        }
        Some(Headers(pairs))
    }

    pub fn new(pairs: Vec<(&'a [u8], &'a [u8])>) -> Self {
        Headers(pairs)
    }

    pub fn names(&self) -> impl Iterator<Item = &'a [u8]> + '_ {
        self.0.iter().map(|(name, _)| *name)
    }

    pub fn single(&self, name: &str) -> Single<'a> {
        let mut values =
            self.0.iter().filter(|(other, _)| *other == name.as_bytes()).map(|(_, value)| *value);
        match (values.next(), values.next()) {
            (None, _) => Single::Absent,
            (Some(value), None) => Single::One(value),
            (Some(_), Some(_)) => Single::Repeated,
        }
    }
}

fn word(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let value = bytes.get(..4)?.iter().rev().fold(0u32, |value, byte| (value << 8) | u32::from(*byte));
    Some((usize::try_from(value).ok()?, bytes.get(4..)?))
}

fn text(bytes: &[u8], size: usize) -> Option<(&[u8], &[u8])> {
    let (text, rest) = (bytes.get(..size)?, bytes.get(size..)?);
    match rest.split_first() {
        Some((0, rest)) => Some((text, rest)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serialised(pairs: &[(&str, &str)]) -> Vec<u8> {
        let mut bytes = (pairs.len() as u32).to_le_bytes().to_vec();
        for (name, value) in pairs {
            bytes.extend_from_slice(&(name.len() as u32).to_le_bytes());
            bytes.extend_from_slice(&(value.len() as u32).to_le_bytes());
        }
        for (name, value) in pairs {
            bytes.extend_from_slice(format!("{name}\0{value}\0").as_bytes());
        }
        bytes
    }

    #[test]
    fn reads_what_the_host_writes() {
        let bytes = serialised(&[("a", "1"), ("b", ""), ("a", "中")]);
        let headers = Headers::parse(&bytes).expect("headers");
        assert_eq!(headers.single("a"), Single::Repeated);
        assert_eq!(headers.single("b"), Single::One(b""));
        assert_eq!(headers.single("c"), Single::Absent);
        assert_eq!(headers.names().count(), 3);
    }

    #[test]
    fn refuses_every_cut_and_survives_every_change() {
        let bytes = serialised(&[("name", "value"), ("other", "")]);
        for at in 0..bytes.len() {
            assert_eq!(Headers::parse(&bytes[..at]), None);
            for byte in [0, 1, 127, 128, 255] {
                let mut changed = bytes.clone();
                changed[at] = byte;
                let _ = Headers::parse(&changed);
            }
        }
        assert_eq!(Headers::parse(&[255; 64]), None);
    }

    #[test]
    fn has_limits() {
        let many: Vec<(&str, &str)> = vec![("a", "b"); MAX_HEADERS + 1];
        assert!(Headers::parse(&serialised(&many[1..])).is_some());
        assert_eq!(Headers::parse(&serialised(&many)), None);
        let long = "x".repeat(MAX_BYTES);
        assert_eq!(Headers::parse(&serialised(&[("a", &long)])), None);
    }
}
