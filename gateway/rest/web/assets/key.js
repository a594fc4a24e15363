// Asks for the key, and takes one from the address: it stands behind "#key=", which no server ever sees.

import { keepKey, key } from "./api.js";
import { el, fill } from "./dom.js";
import { say } from "./words.js";

export function keyFromAddress() {
  const found = /^#key=(cm_[\w-]+)$/.exec(location.hash);
  if (!found) return;
  keepKey(found[1], false);
  history.replaceState(null, "", "#/");
}

export function askForKey(then) {
  const dialog = document.getElementById("key-dialog");
  const field = el("input", { id: "key-text", type: "password", autocomplete: "off", spellcheck: "false", value: key() });
  const keep = el("input", { type: "checkbox", id: "key-keep" });
  const save = (event) => {
    event.preventDefault();
    keepKey(field.value.trim(), keep.checked);
    dialog.close();
    then();
  };
  fill(
    dialog,
    el(
      "form",
      { onsubmit: save },
      el("h2", { id: "key-title" }, say("key_title")),
      el("p", {}, say("key_note")),
      el("p", {}, el("label", { for: "key-text" }, say("key_field")), el("br"), field),
      el("p", {}, keep, " ", el("label", { for: "key-keep" }, say("key_keep"))),
      el(
        "p",
        { class: "row" },
        el("button", { type: "submit", class: "main" }, say("save")),
        el("button", { type: "button", onclick: () => dialog.close() }, say("cancel")),
      ),
    ),
  );
  if (!dialog.open) dialog.showModal();
}
