// The documents of a collection: listed, opened, taken in, deleted.

import { call, collectionNames, documentPath } from "./api.js";
import { problemBox } from "./answer.js";
import { announce, el, fill } from "./dom.js";
import { upload } from "./uploads.js";
import { say } from "./words.js";

export class DocumentsView {
  constructor(reader) {
    this.reader = reader;
    this.collection = el("select", { onchange: () => this.#reload() });
    this.list = el("ul", { class: "list" });
    this.more = el("button", { type: "button", hidden: true, onclick: () => this.#load() }, say("more"));
    this.files = el("input", { type: "file", multiple: true, class: "unseen", id: "files", onchange: () => this.#take(this.files.files) });
    this.uploads = el("ul", { class: "uploads", "aria-live": "polite" });
    this.drop = el(
      "div",
      {
        class: "drop",
        ondragover: (event) => this.#over(event, true),
        ondragleave: (event) => this.#over(event, false),
        ondrop: (event) => this.#dropped(event),
      },
      say("drop"),
      " ",
      el("button", { type: "button", onclick: () => this.files.click() }, say("choose")),
      el("p", { class: "soft" }, say("formats")),
      el("label", { for: "files", class: "unseen" }, say("choose")),
      this.files,
      this.uploads,
    );
  }

  async show(main) {
    const picker = el("label", { class: "row" }, say("collection"), this.collection);
    fill(main, el("h1", {}, say("documents")), picker, this.drop, this.list, this.more);
    try {
      const chosen = this.collection.value || "default";
      const names = await collectionNames();
      fill(this.collection, ...names.map((one) => el("option", { value: one }, one)));
      if (names.includes(chosen)) this.collection.value = chosen;
      await this.#reload();
    } catch (problem) {
      fill(this.list, el("li", {}, problemBox(problem)));
    }
  }

  async #reload() {
    this.token = "";
    fill(this.list);
    await this.#load();
  }

  async #load() {
    const query = { collection: this.collection.value, page_size: 100, page_token: this.token };
    const page = await call("GET", `v1/documents?${new URLSearchParams(query)}`);
    this.list.append(...page.documents.map((one) => this.#item(one)));
    this.token = page.next_page_token;
    this.more.hidden = !this.token;
    if (!this.list.children.length) this.list.append(el("li", { class: "soft" }, say("no_documents")));
  }

  #item(one) {
    const told = [one.source_type, say("chunks", { count: one.chunks }), one.pages && say("pages", { count: one.pages }), one.language];
    const line = el(
      "li",
      {},
      el(
        "div",
        { class: "grow" },
        el("button", { type: "button", class: "open", onclick: () => this.reader.open(one) }, one.title || one.document_id),
        el("div", { class: "soft" }, told.filter(Boolean).join(" · ")),
      ),
      el("button", { type: "button", class: "quiet danger", onclick: () => this.#remove(one, line) }, say("remove")),
    );
    return line;
  }

  async #remove(one, line) {
    if (!confirm(say("remove_document", { title: one.title || one.document_id }))) return;
    await call("DELETE", documentPath(one.document_id, { collection: one.collection }));
    line.remove();
    announce(say("removed"));
  }

  async #take(files) {
    await upload(files, this.collection.value || "default", this.uploads);
    this.files.value = "";
    await this.#reload();
  }

  #over(event, on) {
    event.preventDefault();
    this.drop.classList.toggle("over", on);
  }

  #dropped(event) {
    this.#over(event, false);
    this.#take(event.dataTransfer.files);
  }
}
