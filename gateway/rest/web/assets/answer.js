// One turn: a question, how it was looked for, its sources, and its answer with markers behind each sentence.

import { announce, el, fill } from "./dom.js";
import { hideCard, showCard } from "./card.js";
import { cut, points } from "./text.js";
import { say } from "./words.js";

export class Turn {
  /** reader opens a citation's place; again asks a related question. */
  constructor(question, reader, again) {
    this.reader = reader;
    this.again = again;
    this.points = [];
    this.shown = 0;
    this.sources = new Map();
    this.citations = [];
    this.steps = el("ol", { class: "steps" });
    this.sourceList = el("ul", { class: "sources", "aria-label": say("sources"), hidden: true });
    this.tail = el("span");
    this.text = el("div", { class: "answer" }, this.tail);
    this.below = el("div");
    this.element = el(
      "article",
      { class: "turn" },
      el("h2", {}, question),
      this.steps,
      this.sourceList,
      this.text,
      this.below,
    );
  }

  /** Takes an event of the answer's stream, in its order. */
  take({ name, data }) {
    const handlers = {
      plan: () => this.#plan(data),
      search: () => this.#step(say("found", { query: data.query, count: data.found })),
      sources: () => this.#showSources(data.sources),
      delta: () => this.#write(data.text),
      citation: () => this.#cite(data),
      follow_ups: () => this.#related(data.questions),
      done: () => this.#end(data),
    };
    handlers[name]?.();
  }

  /** Shows a turn that was kept. */
  restore(turn) {
    this.#showSources(turn.sources);
    this.#write(turn.answer);
    turn.sentences.forEach((one) => this.#cite(one));
    this.#settle();
  }

  waiting() {
    this.text.classList.add("writing");
  }

  stopped(message) {
    this.#settle();
    if (message) this.below.append(el("p", { class: "notice" }, message));
  }

  failed(problem) {
    this.#settle();
    this.below.append(problemBox(problem));
  }

  #plan(data) {
    if (data.question !== this.element.querySelector("h2").textContent.trim())
      this.#step(say("planned", { question: data.question }));
    if (data.hops.length > 1) data.hops.forEach((query) => this.#step(say("searching", { query })));
  }

  #step(text) {
    this.steps.append(el("li", {}, text));
  }

  #showSources(sources) {
    sources.forEach((one) => this.sources.set(one.number, one));
    this.sourceList.hidden = sources.length === 0;
    fill(this.sourceList, ...[...this.sources.values()].map((one) => this.#sourceCard(one)));
  }

  #sourceCard(one) {
    const where = [one.page && say("page", { page: one.page }), one.headings.at(-1), hostOf(one.url)];
    return el(
      "li",
      { "data-number": one.number },
      el(
        "button",
        { type: "button", onclick: () => this.reader.open(one), title: one.title },
        el("span", { class: "name" }, `${one.number}. ${one.title || one.document_id}`),
        el("span", { class: "where" }, where.filter(Boolean).join(" · ")),
      ),
    );
  }

  #write(text) {
    this.points.push(...points(text));
    this.tail.textContent = cut(this.points, this.shown);
  }

  /** The sentence leaves the tail for a place of its own, its markers right behind its last character. */
  #cite(event) {
    const { end } = event.sentence;
    if (end <= this.shown) return;
    const start = Math.max(event.sentence.start, this.shown);
    const text = cut(this.points, start, end);
    const sentence = el("span", { class: event.supported ? "" : "unsupported" }, text.trimEnd());
    if (!event.supported) sentence.title = say("unsupported");
    const space = text.slice(text.trimEnd().length);
    const before = cut(this.points, this.shown, start);
    this.tail.before(before, sentence, ...this.#markers(event.citations, sentence), space);
    this.shown = end;
    this.tail.textContent = cut(this.points, this.shown);
    this.citations.push(...event.citations);
  }

  #markers(citations, sentence) {
    const best = new Map(citations.toReversed().map((one) => [one.number, one]));
    return [...best.values()].sort((a, b) => a.number - b.number).map((one) => this.#marker(one, sentence));
  }

  #marker(citation, sentence) {
    const title = this.sources.get(citation.number)?.title || citation.document_id;
    const lit = (on) => () => {
      sentence.classList.toggle("lit", on);
      if (on) showCard(marker, citation, title);
      else hideCard();
    };
    const marker = el(
      "button",
      {
        type: "button",
        class: "cite",
        "aria-label": say("source", { number: citation.number, title }),
        "aria-describedby": "card",
        onmouseenter: lit(true),
        onmouseleave: lit(false),
        onfocus: lit(true),
        onblur: lit(false),
        onclick: () => {
          hideCard();
          this.reader.open(citation, title, this.sources.get(citation.number)?.url);
        },
      },
      String(citation.number),
    );
    return marker;
  }

  #related(questions) {
    if (!questions.length) return;
    const items = questions.map((one) =>
      el("li", {}, el("button", { type: "button", onclick: () => this.again(one) }, one)),
    );
    this.below.append(el("h3", {}, say("related")), el("ul", { class: "related" }, ...items));
  }

  #end(done) {
    this.#settle();
    this.threadId = done.thread_id;
    const cited = new Set(done.cited);
    this.#setAside([...this.sourceList.children].filter((item) => !cited.has(Number(item.dataset.number))));
    if (done.notice) this.below.prepend(el("p", { class: "notice" }, done.notice));
    this.below.append(this.#after(done));
    announce(say("done"));
  }

  /** What nothing cites is there for those who ask for it. */
  #setAside(items) {
    if (!items.length) return;
    items.forEach((item) => item.classList.add("uncited"));
    const list = this.sourceList;
    const open = el("button", { type: "button", "aria-expanded": "false" }, say("uncited", { count: items.length }));
    open.onclick = () => open.setAttribute("aria-expanded", String(list.classList.toggle("all")));
    list.append(el("li", { class: "rest" }, open));
  }

  #after(done) {
    const total = Object.values(done.timings_ms).reduce((sum, one) => sum + one, 0);
    const told = [done.model, done.cached ? say("from_cache") : "", say("took", { seconds: (total / 1000).toFixed(1) })];
    const copy = el("button", { type: "button", class: "quiet", onclick: () => this.#copy(copy) }, say("copy"));
    return el("p", { class: "row after soft" }, copy, told.filter(Boolean).join(" · "));
  }

  async #copy(button) {
    const listed = [...this.sources.values()].map((one) => `[${one.number}] ${one.title} ${one.url}`.trim());
    await navigator.clipboard.writeText(`${this.#woven()}\n\n${listed.join("\n")}`);
    button.textContent = say("copied");
  }

  #woven() {
    const parts = [...this.text.childNodes].map((node) =>
      node.classList?.contains("cite") ? `[${node.textContent}]` : node.textContent,
    );
    return parts.join("").trim();
  }

  #settle() {
    this.text.classList.remove("writing");
  }
}

export function problemBox(problem) {
  return el(
    "div",
    { class: "problem", role: "alert" },
    el("p", {}, problem.message),
    problem.remedy ? el("p", {}, problem.remedy) : null,
  );
}

function hostOf(address) {
  try {
    return new URL(address).hostname;
  } catch {
    return address.split("/").at(-1);
  }
}
