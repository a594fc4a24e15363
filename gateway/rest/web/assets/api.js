// Calls to the gateway's own API. Errors are Problems: what is wrong, and what to do about it.

import { say } from "./words.js";

const KEPT = "citemesh-key";

export class Problem extends Error {
  constructor(status, told) {
    super(told.message ?? String(status));
    this.status = status;
    this.code = told.code ?? "";
    this.remedy = told.remedy ?? "";
  }
}

export function key() {
  return sessionStorage.getItem(KEPT) ?? localStorage.getItem(KEPT) ?? "";
}

export function keepKey(text, onDevice) {
  sessionStorage.setItem(KEPT, text);
  if (onDevice) localStorage.setItem(KEPT, text);
  else localStorage.removeItem(KEPT);
}

/** Path of a document, whose id may hold anything; slashes stay. */
export function documentPath(documentId, query) {
  const id = documentId.split("/").map(encodeURIComponent).join("/");
  return `v1/documents/${id}?${new URLSearchParams(query)}`;
}

export async function collectionNames() {
  return (await call("GET", "v1/collections")).collections.map((one) => one.name);
}

export function headers() {
  return key() ? { authorization: `Bearer ${key()}` } : {};
}

/** An answer as JSON; null where it has no body. `body` is sent as JSON. */
export async function call(method, path, body, signal) {
  const response = await send(method, path, body, signal);
  return response.status === 204 ? null : response.json();
}

/** Events of a stream, each {name, data}, as they come. */
export async function* stream(path, body, signal) {
  const response = await send("POST", path, body, signal);
  const parser = new EventParser();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield* parser.feed(value);
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

async function send(method, path, body, signal) {
  const sent = { method, signal, headers: headers() };
  if (body !== undefined) {
    sent.body = JSON.stringify(body);
    sent.headers["content-type"] = "application/json";
  }
  let response;
  try {
    response = await fetch(path, sent);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, { message: say("offline"), remedy: say("offline_remedy") });
  }
  if (!response.ok) throw new Problem(response.status, await toldOf(response));
  return response;
}

async function toldOf(response) {
  try {
    return (await response.json()).error ?? {};
  } catch {
    return { message: `${response.status} ${response.statusText}` };
  }
}

/** Server-sent events from text in parts; a part may end anywhere. */
export class EventParser {
  #rest = "";

  feed(text) {
    const blocks = (this.#rest + text).split("\n\n");
    this.#rest = blocks.pop();
    return blocks.map(parsed).filter(Boolean);
  }
}

function parsed(block) {
  let name = "message";
  const data = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  return data.length ? { name, data: JSON.parse(data.join("\n")) } : null;
}
