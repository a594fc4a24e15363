//! A small strict JSON reader (RFC 8259) with limits on depth, fields and values.

use std::fmt;

/// Objects and lists inside one another.
pub const MAX_DEPTH: usize = 8;
/// Fields of one object; ours have eight at most.
pub const MAX_FIELDS: usize = 32;
/// Values of any kind in one document.
pub const MAX_VALUES: usize = 200_000;

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    /// As written.
    Number(String),
    Text(String),
    List(Vec<Value>),
    Object(Vec<(String, Value)>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    pub byte: usize,
    pub what: &'static str,
}

impl fmt::Display for Malformed {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "byte {}: {}", self.byte, self.what)
    }
}

type Read<T> = Result<T, Malformed>;

pub fn parse(bytes: &[u8]) -> Read<Value> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return Err(Malformed { byte: error.valid_up_to(), what: "not UTF-8" }),
    };
    let mut reader = Reader { text, at: 0, values: 0 };
    let value = reader.value(0)?;
    reader.space();
    match reader.peek() {
        None => Ok(value),
        Some(_) => Err(reader.fault("something follows the document")),
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    values: usize,
}

impl<'t> Reader<'t> {
    fn fault(&self, what: &'static str) -> Malformed {
        Malformed { byte: self.at, what }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.at += 1;
        }
        found
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Read<Value> {
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(self.fault("too many values"));
        }
        self.space();
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.list(depth),
            Some(b'"') => Ok(Value::Text(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Read<Value> {
        let words = [("true", Value::Bool(true)), ("false", Value::Bool(false)), ("null", Value::Null)];
        let rest = self.text.get(self.at..).unwrap_or("");
        for (word, value) in words {
            if rest.starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.fault("a value was expected"))
    }

    fn open(&mut self, depth: usize) -> Read<()> {
        if depth >= MAX_DEPTH {
            return Err(self.fault("nested too deep"));
        }
        self.at += 1;
        self.space();
        Ok(())
    }

    /// After one item: true at `end`, false when a comma says that another follows.
    fn closed(&mut self, end: u8) -> Read<bool> {
        self.space();
        if self.take(end) {
            return Ok(true);
        }
        if self.take(b',') {
            return Ok(false);
        }
        Err(self.fault("a comma or the end was expected"))
    }

    fn list(&mut self, depth: usize) -> Read<Value> {
        self.open(depth)?;
        let mut items = Vec::new();
        if self.take(b']') {
            return Ok(Value::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.closed(b']')? {
                return Ok(Value::List(items));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Read<Value> {
        self.open(depth)?;
        let mut fields = Vec::new();
        if self.take(b'}') {
            return Ok(Value::Object(fields));
        }
        loop {
            let name = self.name(&fields)?;
            fields.push((name, self.value(depth + 1)?));
            if self.closed(b'}')? {
                return Ok(Value::Object(fields));
            }
        }
    }

    fn name(&mut self, fields: &[(String, Value)]) -> Read<String> {
        if fields.len() >= MAX_FIELDS {
            return Err(self.fault("too many fields"));
        }
        self.space();
        let name = self.string()?;
        if fields.iter().any(|(other, _)| *other == name) {
            return Err(self.fault("the field is there twice"));
        }
        self.space();
        if self.take(b':') {
            Ok(name)
        } else {
            Err(self.fault("a colon was expected"))
        }
    }

    fn number(&mut self) -> Read<Value> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            let _ = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        Ok(Value::Number(self.text.get(start..self.at).unwrap_or("").to_owned()))
    }

    fn digits(&mut self) -> Read<()> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start {
            return Err(self.fault("a digit was expected"));
        }
        Ok(())
    }

    fn string(&mut self) -> Read<String> {
        if !self.take(b'"') {
            return Err(self.fault("a string was expected"));
        }
        let mut text = String::new();
        loop {
            text.push_str(self.plain());
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => text.push(self.escape()?),
                Some(_) => return Err(self.fault("a control character in a string")),
                None => return Err(self.fault("the string has no end")),
            }
        }
    }

    /// The run up to a quote, a backslash or a control character.
    fn plain(&mut self) -> &'t str {
        let text: &'t str = self.text;
        let rest = text.get(self.at..).unwrap_or("");
        let length = rest.bytes().position(|byte| byte < 0x20 || byte == b'"' || byte == b'\\');
        let run = rest.get(..length.unwrap_or(rest.len())).unwrap_or("");
        self.at += run.len();
        run
    }

    fn escape(&mut self) -> Read<char> {
        self.at += 1;
        let letter = self.peek();
        self.at += 1;
        match letter {
            Some(b'"') => Ok('"'),
            Some(b'\\') => Ok('\\'),
            Some(b'/') => Ok('/'),
            Some(b'b') => Ok('\u{8}'),
            Some(b'f') => Ok('\u{c}'),
            Some(b'n') => Ok('\n'),
            Some(b'r') => Ok('\r'),
            Some(b't') => Ok('\t'),
            Some(b'u') => self.unicode(),
            _ => Err(self.fault("an unknown escape")),
        }
    }

    fn unicode(&mut self) -> Read<char> {
        let first = self.unit()?;
        let code = match first {
            0xd800..=0xdbff => {
                let second = if self.take(b'\\') && self.take(b'u') { self.unit()? } else { 0 };
                match second {
                    0xdc00..=0xdfff => 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00),
                    _ => return Err(self.fault("half a surrogate pair")),
                }
            }
            _ => first,
        };
        char::from_u32(code).ok_or_else(|| self.fault("half a surrogate pair"))
    }

    fn unit(&mut self) -> Read<u32> {
        let digits = self.text.get(self.at..self.at + 4).unwrap_or("");
        if digits.len() != 4 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(self.fault("four hex digits were expected"));
        }
        self.at += 4;
        u32::from_str_radix(digits, 16).map_err(|_| self.fault("four hex digits were expected"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> Value {
        Value::Text(value.to_owned())
    }

    #[test]
    fn reads_every_kind_of_value() {
        let parsed = parse(br#" {"a": [null, true, false, -1.5e+3, 0, "x"], "": {}} "#);
        let list = vec![
            Value::Null,
            Value::Bool(true),
            Value::Bool(false),
            Value::Number("-1.5e+3".to_owned()),
            Value::Number("0".to_owned()),
            text("x"),
        ];
        let fields = vec![("a".to_owned(), Value::List(list)), (String::new(), Value::Object(vec![]))];
        assert_eq!(parsed, Ok(Value::Object(fields)));
    }

    #[test]
    fn reads_escapes_and_other_scripts() {
        let parsed = parse("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u4e2d\\uD83D\\uDE00 中文 😀\"".as_bytes());
        assert_eq!(parsed, Ok(text("\"\\/\u{8}\u{c}\n\r\t中😀 中文 😀")));
    }

    #[test]
    fn refuses_what_is_not_json() {
        let bad = [
            "",
            " ",
            "{",
            "[",
            "\"",
            "{]",
            "[1,]",
            "{\"a\":1,}",
            "{\"a\"}",
            "{a:1}",
            "01",
            "1.",
            ".5",
            "+1",
            "1e",
            "-",
            "tru",
            "nul",
            "[1 2]",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\u12g4\"",
            "\"\\ud800\"",
            "\"\\udc00\"",
            "\"\n\"",
            "1 2",
            "\"\\ud800\\u0041\"",
            "{\"a\":1,\"a\":2}",
            "\"\\",
            "NaN",
            "'a'",
            "\"\\u+123\"",
            "\"\\u中\"",
        ];
        for document in bad {
            assert!(parse(document.as_bytes()).is_err(), "{document}");
        }
        assert_eq!(parse(b"\"\xff\""), Err(Malformed { byte: 1, what: "not UTF-8" }));
    }

    #[test]
    fn has_limits() {
        let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(nested(MAX_DEPTH).as_bytes()).is_ok());
        assert!(parse(nested(MAX_DEPTH + 1).as_bytes()).is_err());
        assert!(parse(nested(500_000).as_bytes()).is_err());
        let fields: Vec<String> = (0..=MAX_FIELDS).map(|n| format!("\"{n}\":0")).collect();
        assert!(parse(format!("{{{}}}", fields.join(",")).as_bytes()).is_err());
        assert!(parse(format!("[{}0]", "0,".repeat(MAX_VALUES)).as_bytes()).is_err());
    }

    #[test]
    fn never_panics_on_a_cut_or_changed_document() {
        let document = br#"{"a":["\ud83d\ude00\n",-0.5e-7,true,null],"b":{"c":"\u4e2d"}}"#;
        for at in 0..document.len() {
            let _ = parse(&document[..at]);
            for byte in 0..=255u8 {
                let mut changed = document.to_vec();
                changed[at] = byte;
                let _ = parse(&changed);
            }
        }
    }
}
