// The page: its views by the address behind "#", its language and theme, and the keys of the keyboard.

import { call } from "./api.js";
import { AskView } from "./ask.js";
import { DocumentsView } from "./documents.js";
import { askForKey, keyFromAddress } from "./key.js";
import { Reader } from "./reader.js";
import { showThreads } from "./threads.js";
import { language, say, speak, WORDS } from "./words.js";

const THEMES = ["auto", "light", "dark"];
const main = document.getElementById("main");
const reader = new Reader(document.getElementById("reader"));
let views;

function begin() {
  views = { ask: new AskView(reader), documents: new DocumentsView(reader) };
  for (const one of document.querySelectorAll("[data-text]")) one.textContent = say(one.dataset.text);
  for (const one of document.querySelectorAll("[data-label]")) one.setAttribute("aria-label", say(one.dataset.label));
  document.getElementById("language").textContent = language() === "en" ? WORDS.zh.name : WORDS.en.name;
  document.getElementById("language").setAttribute("aria-label", say("language"));
  showTheme();
  route();
}

async function route() {
  const [, view = "", id] = location.hash.split("/").map(decodeURIComponent);
  const name = view === "documents" ? "documents" : view === "threads" && !id ? "threads" : "ask";
  for (const tab of document.querySelectorAll(".tabs a")) {
    if (tab.dataset.view === name) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
  main.classList.toggle("talking", name === "ask");
  if (name === "documents") await views.documents.show(main);
  else if (name === "threads") await showThreads(main);
  else await views.ask.show(main, id);
}

function setting(name, otherwise) {
  return localStorage.getItem(`citemesh-${name}`) ?? otherwise;
}

function keep(name, value) {
  localStorage.setItem(`citemesh-${name}`, value);
}

function showTheme() {
  const theme = setting("theme", "auto");
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  const button = document.getElementById("theme");
  button.textContent = { auto: "◐", light: "☀", dark: "☾" }[theme];
  button.setAttribute("aria-label", say(`theme_${theme}`));
  button.title = say(`theme_${theme}`);
}

document.getElementById("theme").addEventListener("click", () => {
  keep("theme", THEMES[(THEMES.indexOf(setting("theme", "auto")) + 1) % THEMES.length]);
  showTheme();
});

document.getElementById("language").addEventListener("click", () => {
  speak(language() === "en" ? "zh" : "en");
  keep("language", language());
  begin();
});

document.getElementById("key").addEventListener("click", () => askForKey(route));

addEventListener("hashchange", route);
addEventListener("keydown", (event) => {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? "");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey) return;
  const box = document.getElementById("question");
  if (!box) return;
  event.preventDefault();
  box.focus();
});

keyFromAddress();
speak(setting("language", navigator.language.startsWith("zh") ? "zh" : "en"));
begin();
call("GET", "v1/collections").catch((problem) => problem.status === 401 && askForKey(begin));
