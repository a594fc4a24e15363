// Sends files and shows how far each is: bytes on the way first, then the states that the gateway tells.

import { EventParser, headers } from "./api.js";
import { el } from "./dom.js";
import { say } from "./words.js";

const AT_ONCE = 2;
const SHARE = { received: 0.4, parsed: 0.5, chunked: 0.6, embedded: 0.9, committed: 1, unchanged: 1, failed: 1 };

/** Sends the files, two at once; resolves when the last one ended. */
export async function upload(files, collection, list) {
  const waiting = [...files].map((file) => new Line(file, list));
  const work = async () => {
    for (let line = waiting.shift(); line; line = waiting.shift()) await line.send(collection);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

class Line {
  constructor(file, list) {
    this.file = file;
    this.state = el("span", { class: "soft" }, say("state_waiting"));
    this.progress = el("progress", { max: "1", value: "0", "aria-label": file.name });
    list.append(el("li", {}, el("strong", {}, file.name), " ", this.state, this.progress));
  }

  send(collection) {
    return new Promise((resolve) => {
      const request = new XMLHttpRequest();
      const parser = new EventParser();
      let read = 0;
      const take = () => {
        const text = request.responseText.slice(read);
        read += text.length;
        parser.feed(text).forEach((event) => this.#take(event));
      };
      request.open("POST", `v1/documents?${new URLSearchParams({ collection, stream: "true" })}`);
      request.setRequestHeader("accept", "text/event-stream");
      Object.entries(headers()).forEach(([name, value]) => request.setRequestHeader(name, value));
      request.upload.onprogress = (event) => this.#show(say("state_sending"), (SHARE.received * event.loaded) / event.total);
      request.onprogress = () => request.status < 300 && take();
      request.onload = () => {
        if (request.status < 300) take();
        else this.#refused(request);
        resolve();
      };
      request.onerror = () => {
        this.#fail(say("offline"));
        resolve();
      };
      const form = new FormData();
      form.append("file", this.file, this.file.name);
      request.send(form);
    });
  }

  #take({ name, data }) {
    if (name === "error") this.#fail(data.error.message);
    if (name !== "progress") return;
    if (data.state === "failed") return this.#fail(`${data.error.message}; ${data.error.remedy}`);
    const notices = data.notices.length ? ` — ${data.notices.join(" ")}` : "";
    this.#show(say(`state_${data.state}`, { chunks: data.chunks }) + notices, SHARE[data.state]);
  }

  #refused(request) {
    try {
      this.#fail(JSON.parse(request.responseText).error.message);
    } catch {
      this.#fail(`${request.status} ${request.statusText}`);
    }
  }

  #fail(message) {
    this.#show(`${say("state_failed")}: ${message}`, 1);
    this.state.className = "problem-text";
  }

  #show(text, share) {
    this.state.textContent = text;
    this.progress.value = share;
  }
}
