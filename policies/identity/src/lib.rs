//! The identity policy: API keys, client addresses and allowed methods, decided in `rules::decision`.

#![deny(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use abi::host::{self, Counter, LocalResponse, Outcome};
use abi::{Action, Policy};
use rules::config::Config;
use rules::decision::{decide, removed, Grant, COLLECTIONS, SUBJECT, TENANT};
use rules::headers::Headers;
use rules::reason::{Reason, REASONS};
use rules::target::speaks_grpc;

abi::policy!(Identity);

struct Identity {
    config: Config,
    counters: Counters,
}

struct Counters {
    allowed: Counter,
    public: Counter,
    denied: [Counter; REASONS.len()],
}

impl Policy for Identity {
    fn configure(configuration: &[u8]) -> Result<Self, String> {
        let config = Config::parse(configuration).map_err(|fault| format!("identity: {fault}"))?;
        Ok(Identity { config, counters: Counters::define() })
    }

    fn on_request_headers(&self) -> Action {
        let serialised = host::request_headers().unwrap_or_default();
        match Headers::parse(&serialised) {
            Some(headers) => self.judge(&headers),
            None => self.refuse(Reason::Headers, false),
        }
    }
}

impl Identity {
    fn judge(&self, headers: &Headers) -> Action {
        let peer = host::property(&["source", "address"]).unwrap_or_default();
        let passed = decide(&self.config, &peer, headers).and_then(|grant| {
            // A header that can't be edited would let a forged one through.
            edit(&grant, headers).map_err(|_| Reason::Headers)?;
            Ok(grant)
        });
        match passed {
            Ok(grant) => self.pass(&grant),
            Err(reason) => self.refuse(reason, speaks_grpc(headers)),
        }
    }

    fn pass(&self, grant: &Grant) -> Action {
        match grant {
            Grant::Public => self.counters.public.increment(),
            Grant::Caller { .. } => self.counters.allowed.increment(),
        }
        Action::Continue
    }

    /// Pauses even if the answer could not be sent: a refused call never goes on.
    fn refuse(&self, reason: Reason, grpc: bool) -> Action {
        self.counters.count(reason);
        let details = format!("identity_{}", reason.name());
        let json = reason.json();
        let (body, headers) =
            if grpc { (reason.message(), &[][..]) } else { (json.as_str(), described(reason)) };
        let _ = host::respond(&LocalResponse {
            http_status: reason.http_status(),
            grpc_status: reason.grpc_status(),
            details: &details,
            body,
            headers,
        });
        Action::Pause
    }
}

impl Counters {
    fn define() -> Self {
        Counters {
            allowed: Counter::define("citemesh_identity_allowed"),
            public: Counter::define("citemesh_identity_public"),
            denied: REASONS
                .map(|reason| Counter::define(&format!("citemesh_identity_denied_{}", reason.name()))),
        }
    }

    fn count(&self, reason: Reason) {
        if let Some(counter) = self.denied.get(reason as usize) {
            counter.increment();
        }
    }
}

/// Response headers of an HTTP refusal (RFC 9110, section 11.6.1 for the challenge).
fn described(reason: Reason) -> &'static [(&'static str, &'static str)] {
    if reason.is_unauthenticated() {
        &[("content-type", "application/json"), ("www-authenticate", "Bearer")]
    } else {
        &[("content-type", "application/json")]
    }
}

fn edit(grant: &Grant, headers: &Headers) -> Outcome<()> {
    for name in removed(grant, headers) {
        host::remove_request_header(name)?;
    }
    if let Grant::Caller { subject, tenant, collections, .. } = grant {
        host::replace_request_header(SUBJECT.as_bytes(), subject.as_bytes())?;
        host::replace_request_header(TENANT.as_bytes(), tenant.as_bytes())?;
        host::replace_request_header(COLLECTIONS.as_bytes(), collections.as_bytes())?;
    }
    Ok(())
}
