//! The Proxy-Wasm 0.2.1 boundary. All unsafe code of the policies lives in this crate.
//!
//! A policy implements [`Policy`] and names itself once with [`policy!`]; the calls it may make
//! on the host are in [`host`]. <https://github.com/proxy-wasm/spec/tree/main/abi-versions/v0.2.1>

#![deny(unsafe_op_in_unsafe_fn)]

pub mod host;
pub mod memory;
mod plugin;

pub use plugin::{Action, Plugin, Policy};
