#!/usr/bin/env bash
# Installs the Debian packages that the tests use, where they are missing and this is a Debian with root.
set -euo pipefail

packages=(rustc cargo libstd-rust-dev-wasm32 lld chromium)

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null || [ "$(id -u)" -ne 0 ]; then
  echo "not installed: ${missing[*]} (needs Debian and root); the tests that need them are skipped" >&2
  exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
