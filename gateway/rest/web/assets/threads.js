// The caller's threads.

import { call } from "./api.js";
import { problemBox } from "./answer.js";
import { announce, el, fill } from "./dom.js";
import { language, say } from "./words.js";

export async function showThreads(main) {
  const list = el("ul", { class: "list" });
  const more = el("button", { type: "button", hidden: true }, say("more"));
  const fresh = el("a", { href: "#/" }, say("new_thread"));
  fill(main, el("h1", {}, say("threads")), el("p", {}, fresh), list, more);
  let token = "";
  const load = async () => {
    const page = await call("GET", `v1/threads?${new URLSearchParams({ page_size: 50, page_token: token })}`);
    list.append(...page.threads.map(item));
    token = page.next_page_token;
    more.hidden = !token;
    if (!list.children.length) list.replaceWith(el("p", { class: "soft" }, say("no_threads")));
  };
  more.addEventListener("click", load);
  try {
    await load();
  } catch (problem) {
    list.replaceWith(problemBox(problem));
  }
}

function item(thread) {
  const when = new Intl.DateTimeFormat(language(), { dateStyle: "medium", timeStyle: "short" });
  const line = el(
    "li",
    {},
    el(
      "div",
      { class: "grow" },
      el("a", { href: `#/threads/${encodeURIComponent(thread.thread_id)}` }, thread.title),
      el("div", { class: "soft" }, when.format(new Date(thread.updated_at))),
    ),
    el("button", { type: "button", class: "quiet danger", onclick: () => remove(thread, line) }, say("remove")),
  );
  return line;
}

async function remove(thread, line) {
  if (!confirm(say("remove_thread", { title: thread.title }))) return;
  await call("DELETE", `v1/threads/${encodeURIComponent(thread.thread_id)}`);
  line.remove();
  announce(say("removed"));
}
