/** Metadata values as typed text: numbers, booleans, texts, lists of texts. */

/** Parse a number, boolean or text; quotes make a text of anything. */
export function parseScalar(text) {
  if (/^".*"$/s.test(text)) return text.slice(1, -1);
  if (text === "true" || text === "false") return text === "true";
  return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
}

/** Parse a scalar or a list. */
export function parseValue(text) {
  return listed(text) ?? parseScalar(text);
}

/** Format a value as it would be typed. */
export function formatValue(value) {
  if (typeof value !== "string") return JSON.stringify(value);
  return parseValue(value) === value ? value : `"${value}"`;
}

function listed(text) {
  try {
    const value = JSON.parse(text);
    return Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
