// Makes elements. Text goes in as text alone, so that nothing of a document or an answer can become markup.

const URL_ATTRIBUTES = new Set(["href", "src"]);

/** An element with attributes, listeners (functions under "on…") and children (elements or texts). */
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else if (URL_ATTRIBUTES.has(name)) made.setAttribute(name, safeUrl(value));
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== undefined && child !== null && child !== false));
  return made;
}

/** An address that runs nothing: http, https, or one within this page; anything else is "#". */
export function safeUrl(address) {
  if (address.startsWith("#") || address.startsWith("assets/")) return address;
  return isWeb(address) ? address : "#";
}

export function isWeb(address) {
  try {
    return ["http:", "https:"].includes(new URL(address).protocol);
  } catch {
    return false;
  }
}

export function fill(element, ...children) {
  element.replaceChildren(...children.filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

/** Tells a reader of the screen what happened. */
export function announce(text) {
  document.getElementById("status").textContent = text;
}
