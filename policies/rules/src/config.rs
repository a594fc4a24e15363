//! The identity policy's configuration: `{"version": 1, "keys": […], "allow": […], "public": […]}`.
//!
//! Every field but a key's `collections` is needed, none other is known, and the first fault refuses the whole.

use crate::cidr::{Address, Block};
use crate::collection::{self, MAX_COLLECTIONS};
use crate::credential::is_id;
use crate::hex;
use crate::json::{self, Value};
use crate::pattern::Pattern;
use std::fmt;

pub const MAX_BYTES: usize = 1 << 20;
pub const MAX_KEYS: usize = 10_000;
pub const MAX_BLOCKS: usize = 1_024;
pub const MAX_PATTERNS: usize = 64;
/// A subject's or tenant's length, bytes.
pub const MAX_NAME: usize = 128;

#[derive(Debug)]
pub struct Config {
    /// Sorted by id.
    keys: Vec<Key>,
    allow: Vec<Block>,
    public: Vec<Pattern>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    pub id: String,
    pub salt: [u8; 16],
    /// SHA-256 over the salt and the whole key text.
    pub digest: [u8; 32],
    pub subject: String,
    pub tenant: String,
    pub methods: Vec<Pattern>,
    /// May speak for the caller it serves.
    pub delegate: bool,
    /// What it may reach, as the header says it.
    pub collections: String,
}

/// Where and what is wrong; holds no value of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub field: String,
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "{}: {}", self.field, self.what)
    }
}

type Read<T> = Result<T, Fault>;

fn fault<T>(field: &str, what: impl Into<String>) -> Read<T> {
    Err(Fault { field: field.to_owned(), what: what.into() })
}

impl Config {
    pub fn parse(bytes: &[u8]) -> Read<Self> {
        if bytes.len() > MAX_BYTES {
            return fault("configuration", "larger than 1 MiB");
        }
        let document = json::parse(bytes).or_else(|bad| fault("configuration", bad.to_string()))?;
        let root = Fields::of(&document, "configuration", &["version", "keys", "allow", "public"])?;
        if *root.get("version")? != Value::Number("1".to_owned()) {
            return fault("version", "only version 1 is understood");
        }
        let keys = sorted(list(root.get("keys")?, "keys", MAX_KEYS, key)?)?;
        let allow = list(root.get("allow")?, "allow", MAX_BLOCKS, block)?;
        if allow.is_empty() {
            return fault("allow", "empty: nobody could call");
        }
        let public = list(root.get("public")?, "public", MAX_PATTERNS, pattern)?;
        Ok(Config { keys, allow, public })
    }

    pub fn key(&self, id: &str) -> Option<&Key> {
        let at = self.keys.binary_search_by(|key| key.id.as_str().cmp(id)).ok()?;
        self.keys.get(at)
    }

    pub fn allows(&self, address: Address) -> bool {
        self.allow.iter().any(|block| block.contains(address))
    }

    pub fn public(&self) -> &[Pattern] {
        &self.public
    }
}

fn sorted(mut keys: Vec<Key>) -> Read<Vec<Key>> {
    keys.sort_unstable_by(|one, other| one.id.cmp(&other.id));
    let twice = keys.windows(2).any(|pair| matches!(pair, [one, other] if one.id == other.id));
    if twice {
        return fault("keys", "the same id twice");
    }
    Ok(keys)
}

/// An object's fields, all of them known.
struct Fields<'v> {
    path: &'v str,
    fields: &'v [(String, Value)],
}

impl<'v> Fields<'v> {
    fn of(value: &'v Value, path: &'v str, known: &[&str]) -> Read<Self> {
        let fields = match value {
            Value::Object(fields) => fields,
            _ => return fault(path, "an object is expected"),
        };
        match fields.iter().any(|(name, _)| !known.contains(&name.as_str())) {
            true => fault(path, "an unknown field"),
            false => Ok(Fields { path, fields }),
        }
    }

    fn get(&self, name: &str) -> Read<&'v Value> {
        match self.optional(name) {
            Some(value) => Ok(value),
            None => fault(&self.field(name), "missing"),
        }
    }

    fn optional(&self, name: &str) -> Option<&'v Value> {
        self.fields.iter().find(|(other, _)| other == name).map(|(_, value)| value)
    }

    fn field(&self, name: &str) -> String {
        format!("{}.{name}", self.path)
    }

    fn text(&self, name: &str) -> Read<&'v str> {
        match self.get(name)? {
            Value::Text(text) => Ok(text),
            _ => fault(&self.field(name), "a string is expected"),
        }
    }

    fn hex<const N: usize>(&self, name: &str) -> Read<[u8; N]> {
        match hex::decode(self.text(name)?) {
            Some(bytes) => Ok(bytes),
            None => fault(&self.field(name), format!("{} lowercase hex digits are expected", N * 2)),
        }
    }

    fn name(&self, name: &str) -> Read<String> {
        let text = self.text(name)?;
        match is_name(text.as_bytes()) {
            true => Ok(text.to_owned()),
            false => fault(&self.field(name), NAME),
        }
    }
}

const NAME: &str = "1 to 128 visible ASCII characters without comma, quote or backslash are expected";

/// What may stand in a subject or tenant header.
pub fn is_name(text: &[u8]) -> bool {
    let plain = |byte: &u8| byte.is_ascii_graphic() && !b",\"\\".contains(byte);
    (1..=MAX_NAME).contains(&text.len()) && text.iter().all(plain)
}

fn list<T>(value: &Value, path: &str, most: usize, read: fn(&Value, &str) -> Read<T>) -> Read<Vec<T>> {
    let items = match value {
        Value::List(items) if items.len() <= most => items,
        Value::List(_) => return fault(path, format!("more than {most}")),
        _ => return fault(path, "a list is expected"),
    };
    items.iter().enumerate().map(|(at, item)| read(item, &format!("{path}[{at}]"))).collect()
}

fn key(value: &Value, path: &str) -> Read<Key> {
    let known = ["id", "salt", "sha256", "subject", "tenant", "methods", "delegate", "collections"];
    let fields = Fields::of(value, path, &known)?;
    let id = fields.text("id")?;
    if !is_id(id) {
        return fault(&fields.field("id"), "8 lowercase hex digits are expected");
    }
    let methods = list(fields.get("methods")?, &fields.field("methods"), MAX_PATTERNS, pattern)?;
    if methods.is_empty() {
        return fault(&fields.field("methods"), "empty: the key could call nothing");
    }
    let delegate = match fields.get("delegate")? {
        Value::Bool(delegate) => *delegate,
        _ => return fault(&fields.field("delegate"), "true or false is expected"),
    };
    Ok(Key {
        id: id.to_owned(),
        salt: fields.hex("salt")?,
        digest: fields.hex("sha256")?,
        subject: fields.name("subject")?,
        tenant: fields.name("tenant")?,
        methods,
        delegate,
        collections: collections(&fields, delegate)?,
    })
}

/// All of them where nothing is said. A delegating key carries its callers' and has none of its own.
fn collections(fields: &Fields, delegate: bool) -> Read<String> {
    let path = fields.field("collections");
    let patterns = match fields.optional("collections") {
        Some(value) => list(value, &path, MAX_COLLECTIONS, reach)?,
        None => vec!["*".to_owned()],
    };
    if patterns.is_empty() {
        return fault(&path, "empty: the key could reach no collection");
    }
    if delegate && patterns != ["*"] {
        return fault(&path, "a delegating key reaches what its callers may: [\"*\"] is expected");
    }
    Ok(patterns.join(","))
}

fn reach(value: &Value, path: &str) -> Read<String> {
    match value {
        Value::Text(text) if collection::is_pattern(text.as_bytes()) => Ok(text.to_owned()),
        _ => fault(path, "none of *, name, prefix*"),
    }
}

fn block(value: &Value, path: &str) -> Read<Block> {
    match value {
        Value::Text(text) => {
            Block::parse(text).map_or_else(|| fault(path, "no address block such as 10.0.0.0/8"), Ok)
        }
        _ => fault(path, "a string is expected"),
    }
}

fn pattern(value: &Value, path: &str) -> Read<Pattern> {
    let what = "none of *, /pkg.Service/*, /pkg.Service/Method, VERB /path, VERB /path/*";
    match value {
        Value::Text(text) => Pattern::parse(text).map_or_else(|| fault(path, what), Ok),
        _ => fault(path, "a string is expected"),
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub const KEY: &str = concat!(
        r#"{"id": "0123abcd", "salt": "000102030405060708090a0b0c0d0e0f", "#,
        r#""sha256": "00000000000000000000000000000000000000000000000000000000000000ff", "#,
        r#""subject": "user:ann", "tenant": "t1", "methods": ["*"], "delegate": false}"#
    );

    fn whole(keys: &str) -> String {
        format!(r#"{{"version": 1, "keys": [{keys}], "allow": ["127.0.0.0/8"], "public": ["GET /healthz"]}}"#)
    }

    fn field(text: &str) -> String {
        Config::parse(text.as_bytes()).expect_err(text).field
    }

    #[test]
    fn finds_keys_among_many() {
        let keys: Vec<String> =
            (0..500).rev().map(|n| KEY.replace("0123abcd", &format!("{n:08x}"))).collect();
        let config = Config::parse(whole(&keys.join(",")).as_bytes()).expect("a configuration");
        for n in 0..500 {
            let id = format!("{n:08x}");
            assert_eq!(config.key(&id).map(|key| key.id.clone()), Some(id));
        }
        assert_eq!(config.key("ffffffff"), None);
    }

    #[test]
    fn names_the_bad_field() {
        let bad_key = |from: &str, to: &str| field(&whole(&KEY.replace(from, to)));
        assert_eq!(bad_key("0123abcd", "0123ABCD"), "keys[0].id");
        assert_eq!(bad_key("0e0f", "0e0"), "keys[0].salt");
        assert_eq!(bad_key("00ff", "00zz"), "keys[0].sha256");
        assert_eq!(bad_key("user:ann", ""), "keys[0].subject");
        assert_eq!(bad_key("user:ann", "a, b"), "keys[0].subject");
        assert_eq!(bad_key("t1", "中"), "keys[0].tenant");
        assert_eq!(bad_key(r#"["*"]"#, "[]"), "keys[0].methods");
        assert_eq!(bad_key(r#"["*"]"#, r#"["*", "/a"]"#), "keys[0].methods[1]");
        assert_eq!(bad_key("false", "0"), "keys[0].delegate");
        assert_eq!(bad_key("delegate", "delegates"), "keys[0]");
        let reaching = |list: &str, delegate: &str| {
            let more = format!(r#""collections": {list}, "delegate": {delegate}"#);
            bad_key(r#""delegate": false"#, &more)
        };
        assert_eq!(reaching("[]", "false"), "keys[0].collections");
        assert_eq!(reaching("\"*\"", "false"), "keys[0].collections");
        assert_eq!(reaching(r#"["a", "B"]"#, "false"), "keys[0].collections[1]");
        assert_eq!(reaching(r#"["a"]"#, "true"), "keys[0].collections");
        assert_eq!(bad_key(r#", "delegate": false"#, ""), "keys[0].delegate");
    }

    #[test]
    fn names_the_bad_part() {
        let good = whole(KEY);
        for (from, to, part) in [
            ("1,", "2,", "version"),
            ("1,", "1.0,", "version"),
            ("1,", "\"1\",", "version"),
            (r#"["127.0.0.0/8"]"#, "[]", "allow"),
            ("127.0.0.0/8", "127.0.0.1/8", "allow[0]"),
            ("GET /healthz", "/healthz", "public[0]"),
            ("public", "publik", "configuration"),
            (r#", "public": ["GET /healthz"]"#, "", "configuration.public"),
        ] {
            assert_eq!(field(&good.replacen(from, to, 1)), part, "{from} -> {to}");
        }
        assert_eq!(field(&whole(&format!("{KEY}, {KEY}"))), "keys");
        for garbage in ["", "null", "[]", "{", "\u{0}", "中文"] {
            assert_eq!(field(garbage), "configuration");
        }
        assert_eq!(field(&" ".repeat(MAX_BYTES + 1)), "configuration");
    }
}
