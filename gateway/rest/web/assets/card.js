// The card beside a marker: the cited place in the words around it.

import { el, fill } from "./dom.js";
import { parted, stretch } from "./passages.js";
import { say } from "./words.js";

const AROUND = 180;
const DELAY_MS = 80;
let shownFor = null;

export function showCard(marker, citation, title) {
  shownFor = marker;
  const card = document.getElementById("card");
  const where = [citation.page && say("page", { page: citation.page }), ...citation.headings];
  const quote = el("p", {}, el("mark", {}, citation.quote));
  fill(card, el("strong", {}, title), el("span", { class: "soft" }, where.filter(Boolean).join(" › ")), quote);
  card.hidden = false;
  place(card, marker);
  setTimeout(() => shownFor === marker && inContext(card, marker, citation, quote), DELAY_MS);
}

export function hideCard() {
  shownFor = null;
  document.getElementById("card").hidden = true;
}

async function inContext(card, marker, citation, quote) {
  const { start, end } = citation.span;
  try {
    const found = await stretch(citation.document_id, citation.collection, start - AROUND, end + AROUND);
    if (shownFor !== marker) return;
    const [before, cited, behind] = parted(found, citation.span);
    const [opens, closes] = [found.start > 0 ? "… " : "", found.end < found.whole ? " …" : ""];
    fill(quote, opens + before, el("mark", {}, cited), behind + closes);
    place(card, marker);
  } catch {
    // The quote alone stays: the document may be gone by now.
  }
}

function place(card, marker) {
  const at = marker.getBoundingClientRect();
  const { width, height } = card.getBoundingClientRect();
  const below = at.bottom + height + 12 < innerHeight;
  card.style.left = `${Math.max(8, Math.min(at.left, innerWidth - width - 8))}px`;
  card.style.top = `${below ? at.bottom + 6 : Math.max(8, at.top - height - 6)}px`;
}
