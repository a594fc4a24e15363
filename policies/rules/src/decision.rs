//! The identity decision: who calls, from where, and whether they may; and the header edits it takes.

use crate::cidr::Address;
use crate::collection::is_list;
use crate::config::{is_name, Config, Key};
use crate::credential::Credential;
use crate::headers::{Headers, Single};
use crate::reason::Reason;
use crate::sha256::{equal, sha256};
use crate::target::Target;

pub const SUBJECT: &str = "x-citemesh-subject";
pub const TENANT: &str = "x-citemesh-tenant";
/// What the caller may reach: patterns with commas between.
pub const COLLECTIONS: &str = "x-citemesh-collections";
/// The headers under our prefix that any caller may send: how urgent the call is, and the collection and the shard
/// that it is addressed to. None of them grants anything.
const FREE: [&[u8]; 3] = [b"x-citemesh-priority", b"x-citemesh-collection", b"x-citemesh-shard"];
const CREDENTIALS: [&[u8]; 2] = [b"authorization", b"x-api-key"];
const PREFIX: &[u8] = b"x-citemesh-";

/// A call that may pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grant<'a> {
    /// Without anybody's name.
    Public,
    Caller {
        subject: &'a str,
        tenant: &'a str,
        collections: &'a str,
        delegate: bool,
    },
}

/// `peer` is the host's `source.address`.
pub fn decide<'a>(config: &'a Config, peer: &[u8], headers: &Headers<'a>) -> Result<Grant<'a>, Reason> {
    let address = Address::of_peer(peer).ok_or(Reason::AddressUnknown)?;
    if !config.allows(address) {
        return Err(Reason::Address);
    }
    let target = Target::read(headers)?;
    if config.public().iter().any(|pattern| pattern.matches(&target)) {
        return Ok(Grant::Public);
    }
    let key = authenticated(config, Credential::read(headers)?)?;
    if !key.methods.iter().any(|pattern| pattern.matches(&target)) {
        return Err(Reason::Method);
    }
    named(key, headers)
}

fn authenticated<'a>(config: &'a Config, credential: Credential) -> Result<&'a Key, Reason> {
    let key = config.key(credential.id).ok_or(Reason::UnknownKey)?;
    if equal(&sha256(&[&key.salt, credential.text.as_bytes()]), &key.digest) {
        Ok(key)
    } else {
        Err(Reason::WrongKey)
    }
}

/// A delegating key passes on what it was sent of its caller, all three or none; another key's are its own.
fn named<'a>(key: &'a Key, headers: &Headers<'a>) -> Result<Grant<'a>, Reason> {
    let own = Grant::Caller {
        subject: &key.subject,
        tenant: &key.tenant,
        collections: &key.collections,
        delegate: key.delegate,
    };
    if !key.delegate {
        return Ok(own);
    }
    match (headers.single(SUBJECT), headers.single(TENANT), headers.single(COLLECTIONS)) {
        (Single::Absent, Single::Absent, Single::Absent) => Ok(own),
        (Single::One(subject), Single::One(tenant), Single::One(collections)) => Ok(Grant::Caller {
            subject: name(subject)?,
            tenant: name(tenant)?,
            collections: reach(collections)?,
            delegate: true,
        }),
        _ => Err(Reason::Delegation),
    }
}

fn reach(value: &[u8]) -> Result<&str, Reason> {
    let text = std::str::from_utf8(value).map_err(|_| Reason::Delegation)?;
    is_list(value).then_some(text).ok_or(Reason::Delegation)
}

fn name(value: &[u8]) -> Result<&str, Reason> {
    let text = std::str::from_utf8(value).map_err(|_| Reason::Delegation)?;
    is_name(value).then_some(text).ok_or(Reason::Delegation)
}

/// The headers that must not reach the application as the caller sent them.
pub fn removed<'a>(grant: &Grant, headers: &Headers<'a>) -> Vec<&'a [u8]> {
    let delegate = matches!(grant, Grant::Caller { delegate: true, .. });
    headers.names().filter(|name| is_removed(name, delegate)).collect()
}

fn is_removed(name: &[u8], delegate: bool) -> bool {
    let named = [SUBJECT, TENANT, COLLECTIONS].iter().any(|ours| name == ours.as_bytes());
    CREDENTIALS.contains(&name) || named || (!delegate && is_reserved(name))
}

/// Under our prefix, also when spelt with `_`, which some servers read as `-`.
fn is_reserved(name: &[u8]) -> bool {
    let spelt = |byte: &u8| if *byte == b'_' { b'-' } else { byte.to_ascii_lowercase() };
    let ours =
        name.len() >= PREFIX.len() && name.iter().map(spelt).zip(PREFIX).all(|(byte, ours)| byte == *ours);
    ours && !FREE.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "cm_0123abcd_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmno-_";

    fn config(methods: &str, delegate: bool) -> Config {
        reaching(methods, delegate, r#"["*"]"#)
    }

    fn reaching(methods: &str, delegate: bool, collections: &str) -> Config {
        let digest: String =
            sha256(&[&[0; 16], TEXT.as_bytes()]).iter().map(|byte| format!("{byte:02x}")).collect();
        let key = format!(
            concat!(
                r#"{{"id": "0123abcd", "salt": "{}", "sha256": "{}", "subject": "own", "tenant": "t", "#,
                r#""methods": {}, "delegate": {}, "collections": {}}}"#
            ),
            "0".repeat(32),
            digest,
            methods,
            delegate,
            collections
        );
        let text = format!(
            r#"{{"version": 1, "keys": [{key}], "allow": ["127.0.0.0/8"], "public": ["GET /healthz"]}}"#
        );
        Config::parse(text.as_bytes()).expect("a configuration")
    }

    fn headers<'a>(more: &[(&'a str, &'a str)]) -> Headers<'a> {
        let base = [(":method", "GET"), (":path", "/v1/a")];
        let given = |name: &str| more.iter().any(|(other, _)| *other == name);
        let base = base.iter().filter(|(name, _)| !given(name));
        Headers::new(base.chain(more).map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect())
    }

    fn reason(config: &Config, peer: &str, more: &[(&str, &str)]) -> Option<Reason> {
        decide(config, peer.as_bytes(), &headers(more)).err()
    }

    #[test]
    fn the_order_of_refusals() {
        let config = config(r#"["GET /v1/*"]"#, false);
        let wrong = TEXT.replace("ABC", "ABD");
        let unknown = TEXT.replace("0123", "0124");
        let here = "127.0.0.1:9";
        assert_eq!(reason(&config, "", &[]), Some(Reason::AddressUnknown));
        assert_eq!(reason(&config, "10.0.0.1:9", &[("x-api-key", TEXT)]), Some(Reason::Address));
        assert_eq!(reason(&config, "10.0.0.1:9", &[(":path", "/healthz")]), Some(Reason::Address));
        assert_eq!(reason(&config, here, &[(":path", "/v1//a"), ("x-api-key", TEXT)]), Some(Reason::Path));
        assert_eq!(reason(&config, here, &[]), Some(Reason::MissingKey));
        assert_eq!(reason(&config, here, &[("x-api-key", "x")]), Some(Reason::MalformedKey));
        assert_eq!(reason(&config, here, &[("x-api-key", &unknown)]), Some(Reason::UnknownKey));
        assert_eq!(reason(&config, here, &[("x-api-key", &wrong)]), Some(Reason::WrongKey));
        assert_eq!(reason(&config, here, &[("x-api-key", TEXT), (":path", "/v2/a")]), Some(Reason::Method));
        assert_eq!(reason(&config, here, &[("x-api-key", TEXT)]), None);
        assert_eq!(reason(&config, here, &[(":path", "/healthz?full=1"), ("x-api-key", "x")]), None);
    }

    #[test]
    fn only_a_delegate_speaks_for_others() {
        let sent = [("x-api-key", TEXT), (SUBJECT, "user:bob"), (TENANT, "t2"), (COLLECTIONS, "a,b-*")];
        let own = Grant::Caller { subject: "own", tenant: "t", collections: "*", delegate: false };
        assert_eq!(decide(&config(r#"["*"]"#, false), b"127.0.0.1:9", &headers(&sent)), Ok(own));
        let passed =
            Grant::Caller { subject: "user:bob", tenant: "t2", collections: "a,b-*", delegate: true };
        let delegating = config(r#"["*"]"#, true);
        assert_eq!(decide(&delegating, b"127.0.0.1:9", &headers(&sent)), Ok(passed));
        let alone = Grant::Caller { subject: "own", tenant: "t", collections: "*", delegate: true };
        assert_eq!(decide(&delegating, b"127.0.0.1:9", &headers(&sent[..1])), Ok(alone));
        let three = [(SUBJECT, "a"), (TENANT, "t"), (COLLECTIONS, "*")];
        for bad in [
            &three[..1],
            &three[1..2],
            &three[2..],
            &three[..2],
            &three[1..],
            &[(SUBJECT, "a"), (SUBJECT, "b"), (TENANT, "t"), (COLLECTIONS, "*")],
            &[(SUBJECT, "a"), (TENANT, "t"), (COLLECTIONS, "a"), (COLLECTIONS, "*")],
        ] {
            let sent: Vec<_> = [("x-api-key", TEXT)].iter().chain(bad).copied().collect();
            assert_eq!(reason(&delegating, "127.0.0.1:9", &sent), Some(Reason::Delegation));
        }
        for bad in ["", "a b", "a,b", "中"] {
            let sent = [("x-api-key", TEXT), (SUBJECT, bad), (TENANT, "t"), (COLLECTIONS, "*")];
            assert_eq!(reason(&delegating, "127.0.0.1:9", &sent), Some(Reason::Delegation));
        }
        for bad in ["", ",", "a,", "A", "a b", "a, *", "中"] {
            let sent = [("x-api-key", TEXT), (SUBJECT, "a"), (TENANT, "t"), (COLLECTIONS, bad)];
            assert_eq!(reason(&delegating, "127.0.0.1:9", &sent), Some(Reason::Delegation), "{bad}");
        }
    }

    #[test]
    fn a_key_reaches_its_own_collections_whatever_it_says() {
        let config = reaching(r#"["*"]"#, false, r#"["mine", "team-*"]"#);
        let sent = [("x-api-key", TEXT), (COLLECTIONS, "*"), (COLLECTIONS, "theirs")];
        let own = Grant::Caller { subject: "own", tenant: "t", collections: "mine,team-*", delegate: false };
        assert_eq!(decide(&config, b"127.0.0.1:9", &headers(&sent)), Ok(own));
        assert_eq!(removed(&own, &headers(&sent)).len(), 3);
    }

    #[test]
    fn what_is_removed() {
        let sent = headers(&[
            ("authorization", "a"),
            ("x-api-key", "b"),
            (SUBJECT, "c"),
            (TENANT, "d"),
            (COLLECTIONS, "*"),
            ("x-citemesh-priority", "batch"),
            ("x-citemesh-collection", "c"),
            ("x-citemesh-shard", "0"),
            ("x-citemesh-other", "e"),
            ("x_citemesh_subject", "f"),
            ("x-citemesh_priority", "g"),
            ("x-citemes", "h"),
            ("cookie", "i"),
        ]);
        let names = |grant| {
            removed(&grant, &sent).iter().map(|name| String::from_utf8_lossy(name)).collect::<Vec<_>>()
        };
        let always = ["authorization", "x-api-key", SUBJECT, TENANT, COLLECTIONS];
        let reserved = ["x-citemesh-other", "x_citemesh_subject", "x-citemesh_priority"];
        assert_eq!(names(Grant::Public), [&always[..], &reserved].concat());
        assert_eq!(
            names(Grant::Caller { subject: "s", tenant: "t", collections: "*", delegate: false }),
            [&always[..], &reserved].concat()
        );
        let delegate = Grant::Caller { subject: "s", tenant: "t", collections: "*", delegate: true };
        assert_eq!(names(delegate), always);
    }
}
