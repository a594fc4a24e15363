// The view where questions are asked: the turns of a thread and the box below them.

import { call, stream } from "./api.js";
import { problemBox, Turn } from "./answer.js";
import { announce, el, fill } from "./dom.js";
import { Focus } from "./focus.js";
import { say } from "./words.js";

const RELATED = 3;

export class AskView {
  constructor(reader) {
    this.reader = reader;
    this.focus = new Focus();
    this.turns = el("div");
    this.talk = el("div", { class: "talk", tabindex: "0", "aria-label": say("answer"), role: "region" });
    this.welcome = el("div", { class: "welcome" }, el("h1", {}, say("welcome")), el("p", { class: "soft" }, say("welcome_note")));
    this.box = el("textarea", {
      id: "question",
      rows: "2",
      "aria-label": say("question"),
      placeholder: say("placeholder"),
      maxlength: "32768",
      onkeydown: (event) => this.#onKey(event),
    });
    this.send = el("button", { type: "submit", class: "main send" }, say("send"));
    this.stop = el("button", { type: "button", class: "send", hidden: true, onclick: () => this.aborting?.abort() }, say("stop"));
    this.form = el(
      "form",
      { class: "asking", onsubmit: (event) => this.#onSubmit(event) },
      this.box,
      el("div", { class: "row" }, this.focus.element, this.send, this.stop),
    );
  }

  /** Shows a thread's turns, or the welcome of a new one. */
  async show(main, threadId) {
    if (threadId !== this.threadId && !this.aborting) await this.#load(threadId);
    fill(this.talk, this.turns.children.length ? null : this.welcome, this.turns);
    fill(main, this.talk, this.form);
    await this.focus.load();
    if (matchMedia("(hover: hover)").matches) this.box.focus();
  }

  async ask(question) {
    if (this.aborting || !question.trim()) return;
    this.aborting = new AbortController();
    this.#busy(true);
    this.welcome.remove();
    const turn = new Turn(question, this.reader, (next) => this.ask(next));
    this.turns.append(turn.element);
    turn.waiting();
    turn.element.scrollIntoView({ block: "start", behavior: "smooth" });
    announce(say("writing"));
    try {
      await this.#answer(turn, question);
    } catch (problem) {
      if (problem.name === "AbortError") turn.stopped(say("stopped"));
      else turn.failed(problem);
    } finally {
      this.aborting = null;
      this.#busy(false);
    }
  }

  async #answer(turn, question) {
    const thread = this.threadId ? { thread_id: this.threadId } : { start_thread: true };
    const body = { query: question, stream: true, related_questions: RELATED, ...thread, ...this.focus.values() };
    for await (const event of stream("v1/query", body, this.aborting.signal)) {
      if (event.name === "error") throw Object.assign(new Error(event.data.error.message), event.data.error);
      turn.take(event);
      if (event.name === "done" && event.data.thread_id) this.#entered(event.data.thread_id);
    }
  }

  /** The address names the thread from now on, so that a reload shows it again. */
  #entered(threadId) {
    this.threadId = threadId;
    history.replaceState(null, "", `#/threads/${encodeURIComponent(threadId)}`);
  }

  async #load(threadId) {
    this.threadId = threadId;
    fill(this.turns);
    if (!threadId) return;
    try {
      const thread = await call("GET", `v1/threads/${encodeURIComponent(threadId)}`);
      for (const kept of thread.turns) {
        const turn = new Turn(kept.question, this.reader, (next) => this.ask(next));
        turn.restore(kept);
        this.turns.append(turn.element);
      }
    } catch (problem) {
      this.threadId = undefined;
      this.turns.append(problemBox(problem));
    }
  }

  #onKey(event) {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    this.form.requestSubmit();
  }

  #onSubmit(event) {
    event.preventDefault();
    const question = this.box.value;
    if (!question.trim() || this.aborting) return;
    this.box.value = "";
    this.ask(question);
  }

  #busy(on) {
    this.send.hidden = on;
    this.stop.hidden = !on;
  }
}
