//! Which calls a key may make: `*`, `/pkg.Service/*`, `/pkg.Service/Method`, `GET /v1/*`, `POST /v1/query`.

use crate::target::{is_plain, Target};

pub const MAX_PATTERN: usize = 256;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    Any,
    Grpc(Path),
    Http(String, Path),
}

/// A path, or all paths below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Path {
    Exact(String),
    /// Ends with `/`.
    Below(String),
}

impl Pattern {
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > MAX_PATTERN {
            return None;
        }
        if text == "*" {
            return Some(Pattern::Any);
        }
        match text.split_once(' ') {
            None => grpc_path(text).map(Pattern::Grpc),
            Some((verb, path)) if is_verb(verb) => Some(Pattern::Http(verb.to_owned(), Path::parse(path)?)),
            Some(_) => None,
        }
    }

    pub fn matches(&self, target: &Target) -> bool {
        match self {
            Pattern::Any => true,
            Pattern::Grpc(path) => target.grpc && target.verb == "POST" && path.matches(target.path),
            Pattern::Http(verb, path) => !target.grpc && target.verb == verb && path.matches(target.path),
        }
    }
}

impl Path {
    fn parse(text: &str) -> Option<Self> {
        let path = match text.strip_suffix('*') {
            Some(parent) if parent.ends_with('/') => Path::Below(parent.to_owned()),
            Some(_) => return None,
            None => Path::Exact(text.to_owned()),
        };
        let (Path::Exact(plain) | Path::Below(plain)) = &path;
        (is_plain(plain) && !plain.contains(&['*', '?'][..])).then(|| path.clone())
    }

    fn matches(&self, path: &str) -> bool {
        match self {
            Path::Exact(whole) => path == whole,
            Path::Below(parent) => path.starts_with(parent.as_str()),
        }
    }
}

/// `/package.Service/Method` or `/package.Service/*`.
fn grpc_path(text: &str) -> Option<Path> {
    let (service, method) = text.strip_prefix('/')?.split_once('/')?;
    let plain = is_name(service, true) && (method == "*" || is_name(method, false));
    plain.then(|| Path::parse(text)).flatten()
}

fn is_name(text: &str, dots: bool) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || (dots && byte == b'.'))
}

fn is_verb(text: &str) -> bool {
    (1..=16).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, grpc: bool, verb: &str, path: &str) -> bool {
        Pattern::parse(pattern).expect("a pattern").matches(&Target { grpc, verb, path })
    }

    #[test]
    fn grpc_patterns() {
        assert!(matches("/p.v1.S/M", true, "POST", "/p.v1.S/M"));
        assert!(!matches("/p.v1.S/M", true, "POST", "/p.v1.S/MM"));
        assert!(!matches("/p.v1.S/M", false, "POST", "/p.v1.S/M"));
        assert!(!matches("/p.v1.S/M", true, "GET", "/p.v1.S/M"));
        assert!(matches("/p.v1.S/*", true, "POST", "/p.v1.S/M"));
        assert!(!matches("/p.v1.S/*", true, "POST", "/p.v1.SS/M"));
        assert!(!matches("/p.v1.S/*", true, "POST", "/p.v1.S"));
    }

    #[test]
    fn http_patterns() {
        assert!(matches("GET /v1/*", false, "GET", "/v1/models/a"));
        assert!(!matches("GET /v1/*", false, "POST", "/v1/models"));
        assert!(!matches("GET /v1/*", false, "GET", "/v1"));
        assert!(!matches("GET /v1/*", false, "GET", "/v10/models"));
        assert!(!matches("POST /v1/*", true, "POST", "/v1/query"));
        assert!(matches("POST /v1/query", false, "POST", "/v1/query"));
        assert!(!matches("POST /v1/query", false, "POST", "/v1/query/"));
        assert!(matches("GET /*", false, "GET", "/"));
        assert!(matches("*", true, "POST", "/p.S/M"));
        assert!(matches("*", false, "GET", "/"));
    }

    #[test]
    fn refuses_bad_patterns() {
        let bad = [
            "",
            "/",
            "/*",
            "/S",
            "/S/",
            "/S/M/N",
            "/S/M*",
            "/S*/M",
            "/*/M",
            "//M",
            "/S/*/M",
            "S/M",
            "**",
            "GET",
            "GET ",
            "GET v1",
            "get /v1",
            "GET  /v1",
            "GET /v1*",
            "GET /*/a",
            "GET /a/../b",
            "GET //a",
            "GET /a?b",
            "GET /a b",
            "GET /v1/%2e",
            "* /v1",
            "/中/M",
            "G3T /v1",
            "GETGETGETGETGETGET /v1",
            " *",
            "* ",
        ];
        for text in bad {
            assert_eq!(Pattern::parse(text), None, "{text}");
        }
        assert_eq!(Pattern::parse(&format!("GET /{}", "a".repeat(MAX_PATTERN))), None);
    }
}
