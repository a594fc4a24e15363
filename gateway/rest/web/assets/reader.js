// The document beside the answer, open at a place, that place marked.

import { announce, el, fill, isWeb } from "./dom.js";
import { problemBox } from "./answer.js";
import { about, parted, stretch } from "./passages.js";
import { say } from "./words.js";

const WINDOW = 12000;

export class Reader {
  constructor(panel) {
    this.panel = panel;
    this.opener = null;
    addEventListener("keydown", (event) => event.key === "Escape" && !this.panel.hidden && this.close());
  }

  /** Opens at a place: {document_id, collection, span, page, title, url}. */
  async open(place, title = place.title, url = place.url) {
    this.opener = document.activeElement;
    this.panel.hidden = false;
    this.panel.setAttribute("aria-label", title || place.document_id);
    const body = el("div", { class: "text", tabindex: "0" }, el("p", { class: "soft" }, say("loading")));
    fill(this.panel, this.#head(title || place.document_id, place.page, url), body);
    this.panel.focus();
    try {
      await this.#show(body, place);
    } catch (problem) {
      fill(body, problemBox(problem));
    }
  }

  close() {
    this.panel.hidden = true;
    this.opener?.focus?.();
  }

  #head(title, page, url) {
    const address = url && isWeb(url) ? url + (page ? `#page=${page}` : "") : "";
    return el(
      "header",
      {},
      el("h2", {}, title, page ? el("span", { class: "soft" }, ` · ${say("page", { page })}`) : null),
      address ? el("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, say("open_original")) : null,
      el("button", { type: "button", class: "quiet", onclick: () => this.close() }, say("close")),
    );
  }

  async #show(body, place) {
    const span = place.span ?? { start: 0, end: 0 };
    const known = await about(place.document_id, place.collection);
    const found = await stretch(place.document_id, place.collection, span.start - WINDOW / 2, span.end + WINDOW / 2);
    const [before, cited, behind] = parted(found, span);
    const mark = el("mark", {}, cited);
    const shown = el("pre", {}, before, mark, behind);
    fill(body, shown);
    this.#more(body, shown, place, found, known.characters);
    mark.scrollIntoView({ block: "center" });
    announce(say("source", { number: "", title: known.title }));
  }

  #more(body, shown, place, found, whole) {
    const read = (start, end) => stretch(place.document_id, place.collection, start, end);
    const edge = (label, reached, step, put) => {
      if (reached()) return;
      const button = el("button", { type: "button", onclick: async () => {
        put((await step()).text);
        if (reached()) button.remove();
      } }, say(label));
      put(button, true);
    };
    let [start, end] = [found.start, found.end];
    edge("more_before", () => start === 0, async () => {
      const more = await read(start - WINDOW, start);
      start = more.start;
      return more;
    }, (what, isButton) => (isButton ? body.prepend(what) : shown.prepend(what)));
    edge("more_after", () => end >= whole, async () => {
      const more = await read(end, end + WINDOW);
      end = more.end;
      return more;
    }, (what, isButton) => (isButton ? body.append(what) : shown.append(what)));
  }
}
