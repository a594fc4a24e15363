// Text counted in code points, as the API counts its spans.

export function points(text) {
  return Array.from(text);
}

export function cut(pointsOfText, start, end) {
  return pointsOfText.slice(start, end).join("");
}
