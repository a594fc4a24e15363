// Stretches of documents, read once.

import { call, documentPath } from "./api.js";
import { cut, points } from "./text.js";

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

/** What is known of a document. */
export function about(documentId, collection) {
  return remembered(`${collection}\n${documentId}`, () => call("GET", documentPath(documentId, { collection })));
}

/** {text, start, end, whole}: the text from start to end as far as the document reaches, in code points. */
export async function stretch(documentId, collection, start, end) {
  const known = await about(documentId, collection);
  const from = Math.max(0, start);
  const to = Math.min(known.characters, end);
  const query = { collection, start: from, end: to };
  const read = () => call("GET", documentPath(documentId, query));
  const found = await remembered(`${collection}\n${documentId}\n${from}\n${to}`, read);
  return { text: found.text, start: from, end: to, whole: known.characters };
}

/** The text of a stretch in three: before a span of its document, the span, behind it. */
export function parted(found, span) {
  const text = points(found.text);
  const [from, to] = [span.start - found.start, span.end - found.start];
  return [cut(text, 0, from), cut(text, from, to), cut(text, to)];
}
