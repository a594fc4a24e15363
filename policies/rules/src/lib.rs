//! The pure part of the policies: bytes in, a decision out. No host, no clock, no unsafe code.
//!
//! A panic here would kill every stream of a VM, so code paths that can panic are not written:
//! slices are read with `get`, patterns and iterators, sizes and depths have limits, loops end.

#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]
#![deny(clippy::unreachable, clippy::todo, clippy::unimplemented)]

pub mod cidr;
pub mod collection;
pub mod config;
pub mod credential;
pub mod decision;
pub mod headers;
pub mod hex;
pub mod json;
pub mod pattern;
pub mod reason;
pub mod sha256;
pub mod target;
