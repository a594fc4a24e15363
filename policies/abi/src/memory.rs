//! Buffers that the host allocates in the policy's memory and the policy then owns.

use std::alloc::{alloc, Layout};
use std::ptr::null_mut;

/// Largest buffer the host may ask for, bytes: a full configuration fits, an endless one does not.
pub const MAX_BUFFER: usize = 1 << 20;

/// Gives the host `size` bytes, or null when that is nothing, too much, or not to be had.
pub fn allocate(size: usize) -> *mut u8 {
    if size == 0 || size > MAX_BUFFER {
        return null_mut();
    }
    match Layout::array::<u8>(size) {
        // SAFETY: the layout is of non-zero size.
        Ok(layout) => unsafe { alloc(layout) },
        Err(_) => null_mut(),
    }
}

/// Takes ownership of a buffer the host filled.
///
/// # Safety
/// `data` is null, or came from [`allocate`] with exactly this `size`, is filled, and is owned by nobody.
pub unsafe fn adopt(data: *mut u8, size: usize) -> Vec<u8> {
    if data.is_null() || size == 0 {
        return Vec::new();
    }
    // SAFETY: by the contract above; `allocate` uses the global allocator with the layout of [u8; size].
    unsafe { Vec::from_raw_parts(data, size, size) }
}
