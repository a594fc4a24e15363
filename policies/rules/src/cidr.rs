//! Address blocks and the client's address. IPv4-mapped IPv6 (`::ffff:a.b.c.d`) is IPv4.

use std::net::{Ipv4Addr, Ipv6Addr};

/// A block of addresses of one family, as its first address and the bits that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    V4 { network: u32, mask: u32 },
    V6 { network: u128, mask: u128 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    V4(u32),
    V6(u128),
}

impl Block {
    /// `10.0.0.0/8` or `fd00::/8`; bits beyond the prefix must be zero.
    pub fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = text.split_once('/')?;
        let prefix = length(prefix)?;
        match bare(address)? {
            Address::V4(network) if address.contains(':') => Self::v4(network, prefix.checked_sub(96)?),
            Address::V4(network) => Self::v4(network, prefix),
            Address::V6(network) => Self::v6(network, prefix),
        }
    }

    pub fn contains(&self, address: Address) -> bool {
        match (*self, address) {
            (Block::V4 { network, mask }, Address::V4(address)) => address & mask == network,
            (Block::V6 { network, mask }, Address::V6(address)) => address & mask == network,
            _ => false,
        }
    }

    fn v4(network: u32, prefix: u32) -> Option<Self> {
        let mask = u32::MAX.checked_shl(32u32.checked_sub(prefix)?).unwrap_or(0);
        (network & !mask == 0).then_some(Block::V4 { network, mask })
    }

    fn v6(network: u128, prefix: u32) -> Option<Self> {
        let mask = u128::MAX.checked_shl(128u32.checked_sub(prefix)?).unwrap_or(0);
        (network & !mask == 0).then_some(Block::V6 { network, mask })
    }
}

impl Address {
    /// The host's form: `127.0.0.1:5000` or `[::1]:5000`. Anything else, a socket path say, is none.
    pub fn of_peer(peer: &[u8]) -> Option<Self> {
        let (address, port) = std::str::from_utf8(peer).ok()?.rsplit_once(':')?;
        port.parse::<u16>().ok()?;
        match address.strip_prefix('[') {
            Some(rest) => {
                let inner = rest.strip_suffix(']')?;
                let unscoped = inner.split_once('%').map_or(inner, |(address, _zone)| address);
                v6(unscoped)
            }
            None => address.parse::<Ipv4Addr>().ok().map(|address| Address::V4(address.into())),
        }
    }
}

fn bare(text: &str) -> Option<Address> {
    match text.parse::<Ipv4Addr>() {
        Ok(address) => Some(Address::V4(address.into())),
        Err(_) => v6(text),
    }
}

fn v6(text: &str) -> Option<Address> {
    let address = u128::from(text.parse::<Ipv6Addr>().ok()?);
    match address >> 32 {
        0xffff => Some(Address::V4(address as u32)),
        _ => Some(Address::V6(address)),
    }
}

/// A prefix length in plain decimal: no sign, no leading zero.
fn length(text: &str) -> Option<u32> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    plain.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inside(block: &str, peer: &str) -> bool {
        let block = Block::parse(block).expect("a block");
        Address::of_peer(peer.as_bytes()).into_iter().any(|address| block.contains(address))
    }

    #[test]
    fn blocks_hold_their_addresses() {
        assert!(inside("127.0.0.0/8", "127.9.9.9:1"));
        assert!(!inside("127.0.0.0/8", "128.0.0.1:1"));
        assert!(inside("10.1.2.3/32", "10.1.2.3:65535"));
        assert!(!inside("10.1.2.3/32", "10.1.2.2:1"));
        assert!(inside("0.0.0.0/0", "255.255.255.255:1"));
        assert!(inside("::1/128", "[::1]:443"));
        assert!(!inside("::1/128", "[::2]:443"));
        assert!(inside("fd00::/8", "[fdff::1]:1"));
        assert!(inside("::/0", "[2001:db8::1]:1"));
        assert!(inside("fe80::/10", "[fe80::1%eth0]:1"));
    }

    #[test]
    fn a_mapped_address_is_ipv4() {
        assert!(inside("127.0.0.0/8", "[::ffff:127.0.0.1]:1"));
        assert!(inside("127.0.0.0/8", "[::ffff:7f00:1]:1"));
        assert!(inside("::ffff:127.0.0.0/104", "127.0.0.1:1"));
        assert!(inside("::ffff:0:0/96", "8.8.8.8:1"));
        assert!(!inside("::/0", "[::ffff:127.0.0.1]:1"));
        assert!(!inside("::/0", "127.0.0.1:1"));
        assert!(!inside("0.0.0.0/0", "[::1]:1"));
    }

    #[test]
    fn refuses_bad_blocks() {
        let bad = [
            "",
            "/",
            "10.0.0.0",
            "10.0.0.0/",
            "10.0.0.0/33",
            "10.0.0.1/8",
            "10.0.0.0/-1",
            "10.0.0.0/+8",
            "10.0.0.0/08",
            "10.0.0/8",
            "10.0.0.0.0/8",
            "010.0.0.0/8",
            "::/129",
            "::1/64",
            "fe80::1%eth0/128",
            "::ffff:10.0.0.0/64",
            "a/8",
            "10.0.0.0/8/8",
            " 10.0.0.0/8",
            "10.0.0.0/99999999999",
            "[::1]/128",
        ];
        for text in bad {
            assert_eq!(Block::parse(text), None, "{text}");
        }
    }

    #[test]
    fn refuses_bad_peers() {
        let bad = [
            "",
            ":",
            "127.0.0.1",
            "::1",
            "[::1]",
            "[::1:80",
            "127.0.0.1:",
            "127.0.0.1:99999",
            "127.0.0.1:x",
            "/run/peer.sock",
            "@abstract",
            "localhost:80",
            "[127.0.0.1]:80",
            "::1:80",
            "[]:1",
            "1.2.3.4:-1",
        ];
        for text in bad {
            assert_eq!(Address::of_peer(text.as_bytes()), None, "{text}");
        }
        assert_eq!(Address::of_peer(b"\xff:1"), None);
    }
}
