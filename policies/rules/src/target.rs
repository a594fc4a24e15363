//! What a request asks for: a gRPC method or an HTTP verb and path.

use crate::headers::{Headers, Single};
use crate::reason::Reason;

/// The path with its query, bytes.
pub const MAX_PATH: usize = 8 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target<'a> {
    /// By content type `application/grpc…`, as the routes tell the two apart.
    pub grpc: bool,
    pub verb: &'a str,
    /// Without the query.
    pub path: &'a str,
}

impl<'a> Target<'a> {
    pub fn read(headers: &Headers<'a>) -> Result<Self, Reason> {
        let verb = text(headers.single(":method")).ok_or(Reason::Method)?;
        let whole = text(headers.single(":path")).ok_or(Reason::Path)?;
        let path = whole.split_once('?').map_or(whole, |(path, _query)| path);
        if whole.len() > MAX_PATH || !is_plain(path) {
            return Err(Reason::Path);
        }
        Ok(Target { grpc: is_grpc(headers)?, verb, path })
    }
}

/// Whether the sidecar answers this caller in gRPC (it looks at the exact content type).
pub fn speaks_grpc(headers: &Headers) -> bool {
    match headers.single("content-type") {
        Single::One(b"application/grpc") => true,
        Single::One(value) => value.starts_with(b"application/grpc+"),
        _ => false,
    }
}

fn is_grpc(headers: &Headers) -> Result<bool, Reason> {
    match headers.single("content-type") {
        Single::Absent => Ok(false),
        Single::One(value) => Ok(value.starts_with(b"application/grpc")),
        Single::Repeated => Err(Reason::Headers),
    }
}

fn text<'a>(value: Single<'a>) -> Option<&'a str> {
    match value {
        Single::One(value) => std::str::from_utf8(value).ok(),
        _ => None,
    }
}

/// A path that means the same to every reader: rooted, printable ASCII, whole escapes, no empty, `.`
/// or `..` segment even behind an escape or a `;`, no escaped separator. Others are refused, not repaired.
pub fn is_plain(path: &str) -> bool {
    let segments = match path.strip_prefix('/') {
        Some(segments) => segments,
        None => return false,
    };
    let printable = path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\' && byte != b'#');
    printable && escapes_are_plain(path) && segments_are_plain(segments)
}

fn segments_are_plain(segments: &str) -> bool {
    let mut rest = segments.split('/').peekable();
    while let Some(segment) = rest.next() {
        let name = segment.split(';').next().unwrap_or("");
        let last = rest.peek().is_none();
        if name == "." || name == ".." || (name.is_empty() && !(last && segment.is_empty())) {
            return false;
        }
    }
    true
}

/// Two hex digits after each `%`, that stand for none of `.`, `/`, `\`, `%`, `;` and no control character.
fn escapes_are_plain(path: &str) -> bool {
    path.split('%').skip(1).all(|after| {
        let digits = after.get(..2).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => byte >= 0x20 && byte != 0x7f && !b"./\\%;".contains(&byte),
            None => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<'a>(pairs: &[(&'a str, &'a str)]) -> Result<Target<'a>, Reason> {
        let pairs = pairs.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
        Target::read(&Headers::new(pairs))
    }

    #[test]
    fn tells_grpc_from_http() {
        for (kind, grpc) in [
            ("application/grpc", true),
            ("application/grpc+proto", true),
            ("application/grpc-web", true),
            ("application/json", false),
            ("Application/grpc", false),
        ] {
            let target = read(&[(":method", "POST"), (":path", "/p.S/M?x=1"), ("content-type", kind)]);
            assert_eq!(target, Ok(Target { grpc, verb: "POST", path: "/p.S/M" }), "{kind}");
        }
    }

    #[test]
    fn needs_one_verb_and_one_path() {
        assert_eq!(read(&[(":path", "/a")]), Err(Reason::Method));
        assert_eq!(read(&[(":method", "GET")]), Err(Reason::Path));
        assert_eq!(read(&[(":method", "GET"), (":path", "/a"), (":path", "/b")]), Err(Reason::Path));
        let kinds = [
            (":method", "GET"),
            (":path", "/a"),
            ("content-type", "a"),
            ("content-type", "application/grpc"),
        ];
        assert_eq!(read(&kinds), Err(Reason::Headers));
        let long = format!("/{}", "a".repeat(MAX_PATH));
        assert_eq!(read(&[(":method", "GET"), (":path", &long)]), Err(Reason::Path));
    }

    #[test]
    fn plain_paths_pass() {
        for path in [
            "/",
            "/v1",
            "/v1/",
            "/v1/query",
            "/v1/a.b/..c/...",
            "/v1/%E4%B8%AD",
            "/v1/a%20b",
            "/p.S/M",
            "/a;v=1",
        ] {
            assert!(is_plain(path), "{path}");
        }
    }

    #[test]
    fn tricks_do_not() {
        for path in [
            "",
            "v1",
            "*",
            "//",
            "//v1",
            "/v1//query",
            "/v1/./a",
            "/v1/../admin",
            "/..",
            "/.",
            "/v1/..;/a",
            "/v1/;/a",
            "/;",
            "/v1/%2e%2e/a",
            "/v1/%2E./a",
            "/v1%2fquery",
            "/v1/%5c",
            "/v1\\a",
            "/v1/%252e",
            "/v1/%00",
            "/v1/%",
            "/v1/%2",
            "/v1/%zz",
            "/v1/%+1",
            "/v1/a b",
            "/v1/\t",
            "/v1/中",
            "/v1#a",
            "/v1/%7f",
            "/v1/..%3b/a",
            "http://x/v1",
        ] {
            assert!(!is_plain(path), "{path}");
        }
    }
}
