// Where to look and how to answer, in fields that may all be left alone.

import { collectionNames } from "./api.js";
import { el, fill } from "./dom.js";
import { say } from "./words.js";

const KINDS = ["markdown", "text", "html", "pdf", "docx", "epub", "csv", "jsonl", "code"];
const LANGUAGES = ["en", "zh", "de", "fr", "es", "ja", "ko", "ar"];

export class Focus {
  constructor() {
    this.collection = el("select", {});
    this.kind = select(["", say("any")], ...KINDS.map((one) => [one, one]));
    this.mode = select(["", say("auto")], ["generated", say("mode_generated")], ["extractive", say("mode_extractive")]);
    this.length = select(...["standard", "short", "detailed"].map((one) => [one === "standard" ? "" : one, say(`length_${one}`)]));
    this.language = select(["", say("own_language")], ...LANGUAGES.map((one) => [one, languageName(one)]));
    this.domains = el("input", { placeholder: "example.org -ads.example", autocomplete: "off" });
    this.after = el("input", { type: "date" });
    this.before = el("input", { type: "date" });
    const fields = [
      ["collection", this.collection],
      ["source_kind", this.kind],
      ["mode", this.mode],
      ["length", this.length],
      ["answer_language", this.language],
      ["domains", this.domains],
      ["published_after", this.after],
      ["published_before", this.before],
    ].map(([label, field]) => el("label", {}, say(label), field));
    this.element = el(
      "details",
      { class: "focus" },
      el("summary", {}, say("focus")),
      el("div", { class: "fields" }, ...fields),
    );
  }

  /** Fills the list of collections; leaves what was chosen. */
  async load() {
    const chosen = this.collection.value || "default";
    let names = [chosen];
    try {
      names = await collectionNames();
    } catch {
      // A key that may not list collections can still ask.
    }
    fill(this.collection, ...[...new Set([...names, chosen])].map((one) => el("option", { value: one }, one)));
    this.collection.value = chosen;
  }

  /** The fields of a question that were set. */
  values() {
    const filter = {
      domains: this.domains.value.split(/[\s,]+/).filter(Boolean),
      published_after: this.after.value && `${this.after.value}T00:00:00Z`,
      published_before: this.before.value && `${this.before.value}T00:00:00Z`,
    };
    return set({
      collection: this.collection.value,
      source_preference: this.kind.value,
      mode: this.mode.value,
      length: this.length.value,
      answer_language: this.language.value,
      filter: set(filter),
    });
  }
}

function set(values) {
  const empty = (value) => !value || (typeof value === "object" && !Object.keys(value).length);
  return Object.fromEntries(Object.entries(values).filter(([, value]) => !empty(value)));
}

function select(...options) {
  return el("select", {}, ...options.map(([value, label]) => el("option", { value }, label)));
}

function languageName(code) {
  return new Intl.DisplayNames([code], { type: "language" }).of(code);
}
