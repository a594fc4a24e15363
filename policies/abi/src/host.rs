//! Safe forms of the calls a policy may make on its host.

use crate::memory;
use std::ptr::null_mut;

const OK: u32 = 0;
const PLUGIN_CONFIGURATION: u32 = 7;
const REQUEST_HEADERS: u32 = 0;
const COUNTER: u32 = 0;

#[link(wasm_import_module = "env")]
extern "C" {
    fn proxy_log(level: u32, text: *const u8, size: usize) -> u32;
    fn proxy_get_property(path: *const u8, size: usize, value: *mut *mut u8, value_size: *mut usize) -> u32;
    fn proxy_get_buffer_bytes(
        buffer: u32,
        start: usize,
        max_size: usize,
        value: *mut *mut u8,
        value_size: *mut usize,
    ) -> u32;
    fn proxy_get_header_map_pairs(map: u32, value: *mut *mut u8, value_size: *mut usize) -> u32;
    fn proxy_add_header_map_value(
        map: u32,
        name: *const u8,
        name_size: usize,
        value: *const u8,
        value_size: usize,
    ) -> u32;
    fn proxy_replace_header_map_value(
        map: u32,
        name: *const u8,
        name_size: usize,
        value: *const u8,
        value_size: usize,
    ) -> u32;
    fn proxy_remove_header_map_value(map: u32, name: *const u8, name_size: usize) -> u32;
    fn proxy_send_local_response(
        status: u32,
        details: *const u8,
        details_size: usize,
        body: *const u8,
        body_size: usize,
        headers: *const u8,
        headers_size: usize,
        grpc_status: u32,
    ) -> u32;
    fn proxy_define_metric(kind: u32, name: *const u8, size: usize, id: *mut u32) -> u32;
    fn proxy_increment_metric(id: u32, delta: i64) -> u32;
}

/// The host's `proxy_status_t` when it is not OK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed(pub u32);

pub type Outcome<T> = Result<T, Failed>;

#[derive(Clone, Copy)]
pub enum Level {
    Info = 2,
    Warn = 3,
    Error = 4,
}

/// Writes to the host's log. A log that fails has nowhere to say so.
pub fn log(level: Level, text: &str) {
    // SAFETY: the host reads `text` during the call only.
    let _ = unsafe { proxy_log(level as u32, text.as_ptr(), text.len()) };
}

/// The value of a property such as `["source", "address"]`, as the host serialises it.
pub fn property(path: &[&str]) -> Outcome<Vec<u8>> {
    let path = path.join("\0");
    // SAFETY: the host reads `path` during the call and writes the two results.
    received(|data, size| unsafe { proxy_get_property(path.as_ptr(), path.len(), data, size) })
}

/// The plugin's configuration, at most `max_size` bytes; for use while configuring.
pub fn configuration(max_size: usize) -> Outcome<Vec<u8>> {
    // SAFETY: the host writes the two results.
    received(|data, size| unsafe { proxy_get_buffer_bytes(PLUGIN_CONFIGURATION, 0, max_size, data, size) })
}

/// All request headers in the ABI's serialised form, `rules::headers` reads it.
pub fn request_headers() -> Outcome<Vec<u8>> {
    // SAFETY: the host writes the two results.
    received(|data, size| unsafe { proxy_get_header_map_pairs(REQUEST_HEADERS, data, size) })
}

/// Adds one value beside those the header may have.
pub fn add_request_header(name: &[u8], value: &[u8]) -> Outcome<()> {
    // SAFETY: the host reads both slices during the call only.
    checked(unsafe {
        proxy_add_header_map_value(REQUEST_HEADERS, name.as_ptr(), name.len(), value.as_ptr(), value.len())
    })
}

/// Makes this the header's value.
pub fn replace_request_header(name: &[u8], value: &[u8]) -> Outcome<()> {
    // SAFETY: the host reads both slices during the call only.
    checked(unsafe {
        proxy_replace_header_map_value(
            REQUEST_HEADERS,
            name.as_ptr(),
            name.len(),
            value.as_ptr(),
            value.len(),
        )
    })
}

/// Removes every value of the header; one that is not there is no error.
pub fn remove_request_header(name: &[u8]) -> Outcome<()> {
    // SAFETY: the host reads `name` during the call only.
    checked(unsafe { proxy_remove_header_map_value(REQUEST_HEADERS, name.as_ptr(), name.len()) })
}

/// An answer of the policy's own, instead of the upstream's.
pub struct LocalResponse<'a> {
    /// HTTP status; a gRPC caller gets 200 and `grpc_status` as trailers.
    pub http_status: u32,
    pub grpc_status: u32,
    /// Shown in access logs (`RESPONSE_CODE_DETAILS`), not to the caller.
    pub details: &'a str,
    /// HTTP body, or `grpc-message` for a gRPC caller.
    pub body: &'a str,
    pub headers: &'a [(&'a str, &'a str)],
}

pub fn respond(response: &LocalResponse) -> Outcome<()> {
    let headers = serialised(response.headers);
    // SAFETY: the host reads the slices during the call only.
    checked(unsafe {
        proxy_send_local_response(
            response.http_status,
            response.details.as_ptr(),
            response.details.len(),
            response.body.as_ptr(),
            response.body.len(),
            headers.as_ptr(),
            headers.len(),
            response.grpc_status,
        )
    })
}

/// A counter of the host; its name is shared by every VM of the process.
#[derive(Clone, Copy)]
pub struct Counter(Option<u32>);

impl Counter {
    /// A counter the host refuses to define counts nothing: metrics never decide a call.
    pub fn define(name: &str) -> Self {
        let mut id = 0;
        // SAFETY: the host reads `name` and writes `id` during the call only.
        let status = unsafe { proxy_define_metric(COUNTER, name.as_ptr(), name.len(), &mut id) };
        Counter((status == OK).then_some(id))
    }

    pub fn increment(self) {
        if let Some(id) = self.0 {
            // SAFETY: no memory is passed.
            let _ = unsafe { proxy_increment_metric(id, 1) };
        }
    }
}

fn checked(status: u32) -> Outcome<()> {
    if status == OK {
        Ok(())
    } else {
        Err(Failed(status))
    }
}

fn received(call: impl FnOnce(*mut *mut u8, *mut usize) -> u32) -> Outcome<Vec<u8>> {
    let (mut data, mut size) = (null_mut(), 0);
    checked(call(&mut data, &mut size))?;
    // SAFETY: a host that says OK filled a buffer that it took from `memory::allocate`.
    Ok(unsafe { memory::adopt(data, size) })
}

/// The ABI's form of a map: count, sizes, then every name and value followed by a zero byte.
fn serialised(headers: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = (headers.len() as u32).to_le_bytes().to_vec();
    for (name, value) in headers {
        bytes.extend_from_slice(&(name.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&(value.len() as u32).to_le_bytes());
    }
    for text in headers.iter().flat_map(|(name, value)| [name, value]) {
        bytes.extend_from_slice(text.as_bytes());
        bytes.push(0);
    }
    bytes
}
