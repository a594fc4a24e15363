//! The API key a request carries: `cm_<keyid>_<secret>`.

use crate::headers::{Headers, Single};
use crate::hex;
use crate::reason::Reason;

pub const ID_SIZE: usize = 8;
pub const SECRET_SIZE: usize = 43;

/// A key as sent; well formed, not yet checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credential<'a> {
    pub id: &'a str,
    /// The whole text, which is what is hashed.
    pub text: &'a str,
}

impl<'a> Credential<'a> {
    /// From `authorization: Bearer …` or `x-api-key`; from both only when they agree.
    pub fn read(headers: &Headers<'a>) -> Result<Self, Reason> {
        match (headers.single("authorization"), headers.single("x-api-key")) {
            (Single::Absent, Single::Absent) => Err(Reason::MissingKey),
            (Single::Repeated, _) | (_, Single::Repeated) => Err(Reason::ConflictingKeys),
            (Single::One(value), Single::Absent) => Self::of_bearer(value),
            (Single::Absent, Single::One(value)) => Self::parse(value),
            (Single::One(bearer), Single::One(key)) => agreeing(Self::of_bearer(bearer)?, Self::parse(key)?),
        }
    }

    fn of_bearer(value: &'a [u8]) -> Result<Self, Reason> {
        let text = std::str::from_utf8(value).map_err(|_| Reason::MalformedKey)?;
        match text.split_once(' ') {
            Some((scheme, key)) if scheme.eq_ignore_ascii_case("bearer") => {
                Self::parse(key.trim_start_matches(' ').as_bytes())
            }
            _ => Err(Reason::MalformedKey),
        }
    }

    fn parse(value: &'a [u8]) -> Result<Self, Reason> {
        std::str::from_utf8(value).ok().and_then(well_formed).ok_or(Reason::MalformedKey)
    }
}

fn agreeing<'a>(bearer: Credential<'a>, key: Credential<'a>) -> Result<Credential<'a>, Reason> {
    if bearer == key {
        Ok(bearer)
    } else {
        Err(Reason::ConflictingKeys)
    }
}

fn well_formed(text: &str) -> Option<Credential<'_>> {
    let (id, secret) = text.strip_prefix("cm_")?.split_once('_')?;
    let good = is_id(id) && secret.len() == SECRET_SIZE && secret.bytes().all(is_base64url);
    good.then_some(Credential { id, text })
}

/// Eight lowercase hex digits.
pub fn is_id(text: &str) -> bool {
    text.len() == ID_SIZE && text.bytes().all(hex::is_digit)
}

fn is_base64url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "cm_0123abcd_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmno-_";
    const OTHER: &str = "cm_0123abce_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmno-_";

    fn read<'a>(pairs: &[(&'a str, &'a str)]) -> Result<&'a str, Reason> {
        let pairs = pairs.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
        Credential::read(&Headers::new(pairs)).map(|credential| credential.text)
    }

    #[test]
    fn either_header_will_do() {
        for scheme in ["Bearer", "bearer", "BEARER", "Bearer  "] {
            assert_eq!(read(&[("authorization", &format!("{scheme} {KEY}"))].map(leak)), Ok(KEY));
        }
        assert_eq!(read(&[("x-api-key", KEY)]), Ok(KEY));
        let bearer = format!("Bearer {KEY}");
        assert_eq!(read(&[("x-api-key", KEY), ("authorization", &bearer)]), Ok(KEY));
    }

    fn leak<'a>(pair: (&'a str, &String)) -> (&'a str, &'a str) {
        (pair.0, Box::leak(pair.1.clone().into_boxed_str()))
    }

    #[test]
    fn two_keys_are_refused() {
        let (bearer, other) = (format!("Bearer {KEY}"), format!("Bearer {OTHER}"));
        let conflict = Err(Reason::ConflictingKeys);
        assert_eq!(read(&[("x-api-key", OTHER), ("authorization", &bearer)]), conflict);
        assert_eq!(read(&[("authorization", &bearer), ("authorization", &other)]), conflict);
        assert_eq!(read(&[("authorization", &bearer), ("authorization", &bearer)]), conflict);
        assert_eq!(read(&[("x-api-key", KEY), ("x-api-key", OTHER)]), conflict);
    }

    #[test]
    fn refuses_what_is_no_key() {
        assert_eq!(read(&[]), Err(Reason::MissingKey));
        let joined = format!("Bearer {KEY},Bearer {OTHER}");
        for bad in ["", "Bearer", "Bearer ", KEY, "Basic dTpw", &joined, "Bearer cm_", "Bearer\tx"] {
            assert_eq!(read(&[("authorization", bad)]), Err(Reason::MalformedKey), "{bad}");
        }
        let upper = KEY.replace("abcd_", "ABCD_");
        let (long, short) = (format!("{KEY}x"), &KEY[..54]);
        for bad in ["", "cm_", "cm__", "x", &long, short, &upper, "cm_0123abcd", "中文"] {
            assert_eq!(read(&[("x-api-key", bad)]), Err(Reason::MalformedKey), "{bad}");
        }
        let plus = KEY.replace('-', "+");
        assert_eq!(read(&[("x-api-key", &plus)]), Err(Reason::MalformedKey));
    }
}
