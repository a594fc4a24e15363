// Stretches of documents, read once.

import { call } from "./api.js";

const KEPT = 64;
const kept = new Map();

function remembered(name, read) {
  if (!kept.has(name)) {
    if (kept.size >= KEPT) kept.delete(kept.keys().next().value);
    const reading = read();
    reading.catch(() => kept.delete(name));
    kept.set(name, reading);
  }
  return kept.get(name);
}

function path(documentId, query) {
  const id = documentId.split("/").map(encodeURIComponent).join("/");
  return `v1/documents/${id}?${new URLSearchParams(query)}`;
}

/** What is known of a document. */
export function about(documentId, collection) {
  return remembered(`${collection}\n${documentId}`, () => call("GET", path(documentId, { collection })));
}

/** {text, start, end, whole}: the text from start to end as far as the document reaches, in code points. */
export async function stretch(documentId, collection, start, end) {
  const known = await about(documentId, collection);
  const from = Math.max(0, start);
  const to = Math.min(known.characters, end);
  const query = { collection, start: from, end: to };
  const read = () => call("GET", path(documentId, query));
  const found = await remembered(`${collection}\n${documentId}\n${from}\n${to}`, read);
  return { text: found.text, start: from, end: to, whole: known.characters };
}
