//! From the host's context numbers to a policy.

use crate::host::{self, Level, LocalResponse};
use crate::memory::MAX_BUFFER;
use std::collections::BTreeMap;

/// What the host does with the request next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Action {
    Continue = 0,
    /// Nothing goes on; a local response was sent.
    Pause = 1,
}

/// One configured policy. Every call must end within a bounded number of steps and never panic:
/// a trap kills all streams of the VM.
pub trait Policy: Sized {
    /// Reads the configuration; the error is logged and the host keeps what it had.
    fn configure(configuration: &[u8]) -> Result<Self, String>;
    fn on_request_headers(&self) -> Action;
}

/// The policies of one VM. Several configurations share a VM while a new one takes over, each as
/// its own root context; a stream belongs to the root it was created under.
pub struct Plugin<P> {
    roots: BTreeMap<u32, Option<P>>,
    streams: BTreeMap<u32, u32>,
}

impl<P: Policy> Plugin<P> {
    pub fn new() -> Self {
        Plugin { roots: BTreeMap::new(), streams: BTreeMap::new() }
    }

    /// `parent` 0 makes `context` a root.
    pub fn create(&mut self, context: u32, parent: u32) {
        if parent == 0 {
            self.roots.entry(context).or_insert(None);
        } else {
            self.streams.insert(context, parent);
        }
    }

    pub fn delete(&mut self, context: u32) {
        if self.streams.remove(&context).is_none() {
            self.roots.remove(&context);
        }
    }

    /// False keeps what the root had before.
    pub fn configure(&mut self, root: u32, size: usize) -> bool {
        match configured(size) {
            Ok(policy) => {
                self.roots.insert(root, Some(policy));
                true
            }
            Err(fault) => {
                host::log(Level::Error, &format!("configuration refused: {fault}"));
                false
            }
        }
    }

    pub fn on_request_headers(&self, context: u32) -> Action {
        match self.policy(context) {
            Some(policy) => policy.on_request_headers(),
            None => unavailable(),
        }
    }

    fn policy(&self, context: u32) -> Option<&P> {
        let root = self.streams.get(&context)?;
        self.roots.get(root)?.as_ref()
    }
}

impl<P: Policy> Default for Plugin<P> {
    fn default() -> Self {
        Self::new()
    }
}

fn configured<P: Policy>(size: usize) -> Result<P, String> {
    if size > MAX_BUFFER {
        return Err(format!("{size} bytes; at most {MAX_BUFFER} are read"));
    }
    let bytes = match host::configuration(size) {
        Ok(bytes) => bytes,
        Err(host::Failed(status)) => return Err(format!("the host did not hand it over (status {status})")),
    };
    P::configure(&bytes)
}

/// A call that no configured policy looks at is refused, never let through.
pub fn unavailable() -> Action {
    let _ = host::respond(&LocalResponse {
        http_status: 503,
        grpc_status: 14,
        details: "policy_unconfigured",
        body: "the policy is not configured",
        headers: &[],
    });
    Action::Pause
}

/// Exports `$policy` (a [`Policy`]) under the names the host calls.
#[macro_export]
macro_rules! policy {
    ($policy:ty) => {
        // `no_mangle` counts as unsafe code; nothing else here is.
        #[allow(unsafe_code)]
        mod exports {
            use super::*;
            use std::cell::RefCell;

            thread_local! {
                static PLUGIN: RefCell<$crate::Plugin<$policy>> = RefCell::new($crate::Plugin::new());
            }

            fn change<T>(edit: impl FnOnce(&mut $crate::Plugin<$policy>) -> T) -> Option<T> {
                let edited = PLUGIN
                    .try_with(|plugin| plugin.try_borrow_mut().ok().map(|mut plugin| edit(&mut plugin)));
                edited.ok().flatten()
            }

            #[no_mangle]
            pub extern "C" fn proxy_abi_version_0_2_1() {}

            #[no_mangle]
            pub extern "C" fn proxy_on_memory_allocate(size: usize) -> *mut u8 {
                $crate::memory::allocate(size)
            }

            #[no_mangle]
            pub extern "C" fn proxy_on_context_create(context: u32, parent: u32) {
                change(|plugin| plugin.create(context, parent));
            }

            #[no_mangle]
            pub extern "C" fn proxy_on_vm_start(_root: u32, _size: usize) -> u32 {
                1
            }

            #[no_mangle]
            pub extern "C" fn proxy_on_configure(root: u32, size: usize) -> u32 {
                u32::from(change(|plugin| plugin.configure(root, size)) == Some(true))
            }

            #[no_mangle]
            pub extern "C" fn proxy_on_request_headers(context: u32, _count: u32, _end: u32) -> u32 {
                let action = PLUGIN.try_with(|plugin| {
                    plugin.try_borrow().ok().map(|plugin| plugin.on_request_headers(context))
                });
                action.ok().flatten().unwrap_or($crate::Action::Pause) as u32
            }

            #[no_mangle]
            pub extern "C" fn proxy_on_done(_context: u32) -> u32 {
                1
            }

            #[no_mangle]
            pub extern "C" fn proxy_on_delete(context: u32) {
                change(|plugin| plugin.delete(context));
            }
        }
    };
}
