//! Why a call is refused, and how that is told.

/// The order is the order of the counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    Headers,
    AddressUnknown,
    Address,
    Path,
    MissingKey,
    MalformedKey,
    ConflictingKeys,
    UnknownKey,
    WrongKey,
    Method,
    Delegation,
}

pub const REASONS: [Reason; 11] = [
    Reason::Headers,
    Reason::AddressUnknown,
    Reason::Address,
    Reason::Path,
    Reason::MissingKey,
    Reason::MalformedKey,
    Reason::ConflictingKeys,
    Reason::UnknownKey,
    Reason::WrongKey,
    Reason::Method,
    Reason::Delegation,
];

impl Reason {
    /// In counters and access logs; never shown to the caller.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Headers => "headers",
            Reason::AddressUnknown => "address_unknown",
            Reason::Address => "address",
            Reason::Path => "path",
            Reason::MissingKey => "missing_key",
            Reason::MalformedKey => "malformed_key",
            Reason::ConflictingKeys => "conflicting_keys",
            Reason::UnknownKey => "unknown_key",
            Reason::WrongKey => "wrong_key",
            Reason::Method => "method",
            Reason::Delegation => "delegation",
        }
    }

    /// Who is calling is not known (401, UNAUTHENTICATED), as against known and not allowed.
    pub fn is_unauthenticated(self) -> bool {
        matches!(
            self,
            Reason::MissingKey
                | Reason::MalformedKey
                | Reason::ConflictingKeys
                | Reason::UnknownKey
                | Reason::WrongKey
        )
    }

    pub fn http_status(self) -> u32 {
        if self.is_unauthenticated() {
            401
        } else {
            403
        }
    }

    /// `grpc.Code`: UNAUTHENTICATED 16, PERMISSION_DENIED 7.
    pub fn grpc_status(self) -> u32 {
        if self.is_unauthenticated() {
            16
        } else {
            7
        }
    }

    pub fn code(self) -> &'static str {
        if self.is_unauthenticated() {
            "unauthenticated"
        } else {
            "permission_denied"
        }
    }

    /// For the caller. A wrong secret and an unknown key id read the same.
    pub fn message(self) -> &'static str {
        match self {
            Reason::Headers => "the request headers are too many, too large or malformed",
            Reason::AddressUnknown | Reason::Address => "calls from this address are not allowed",
            Reason::Path => "the path is malformed: no empty, dot or escaped segments",
            Reason::MissingKey => "an API key is needed: authorization: Bearer cm_... or x-api-key: cm_...",
            Reason::MalformedKey => "the API key is malformed: cm_<8 hex digits>_<43 characters> is expected",
            Reason::ConflictingKeys => "several API keys were sent: send one",
            Reason::UnknownKey | Reason::WrongKey => "the API key is not valid",
            Reason::Method => "this API key may not make this call",
            Reason::Delegation => {
                "x-citemesh-subject, -tenant and -collections are sent together, once, and well formed"
            }
        }
    }

    /// The HTTP body. Codes and messages hold nothing that JSON would escape.
    pub fn json(self) -> String {
        format!("{{\"error\": {{\"code\": \"{}\", \"message\": \"{}\"}}}}", self.code(), self.message())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn the_list_is_in_the_order_of_the_counters() {
        for (at, reason) in REASONS.iter().enumerate() {
            assert_eq!(*reason as usize, at);
        }
        assert_eq!(Reason::Delegation as usize + 1, REASONS.len());
    }

    #[test]
    fn bodies_are_json_and_names_are_metric_names() {
        for reason in REASONS {
            assert!(json::parse(reason.json().as_bytes()).is_ok());
            assert!(reason.name().bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'));
        }
    }

    #[test]
    fn a_caller_cannot_tell_an_unknown_key_from_a_wrong_one() {
        assert_eq!(Reason::UnknownKey.json(), Reason::WrongKey.json());
        assert_eq!(Reason::UnknownKey.grpc_status(), Reason::WrongKey.grpc_status());
    }
}
